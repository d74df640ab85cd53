"""Objects of the JVM, by Py4J: packages, singletons of Scala, sequences, classes that Flo adds.

`jvm.org.apache.spark.sql.types` asks Java at each dot whether that is a class, and Java looks for `org`, `org.apache`
and so on in all jars: some milliseconds. A package is taken by its whole name here, which asks nothing.

A class that Flo adds is compiled by Janino, with which Spark compiles its plans, and given to the loader of Spark's own
classes, once in each JVM. Spark finds it there by its name.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Java: TypeAlias = Any
"""An object of the JVM. Py4J gives it no type."""
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_lock = threading.Lock()
"""Held while a class is looked for and added."""


def java_package(name: str) -> Java:
    """Return a package, whose attributes are its classes. It is not checked that there is one of that name."""
    from py4j.java_gateway import JavaPackage  # type: ignore[import-untyped]
    from pyspark import SparkContext

    jvm: Java = SparkContext._jvm
    return JavaPackage(name, jvm._gateway_client, jvm_id=jvm._id)


def scala_object(package: Java, name: str) -> Java:
    """Return a singleton of Scala: the object, or the companion of the class, of that name."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def is_instance(item: Java, kind: str) -> bool:
    return bool(java_package("py4j.reflection").TypeUtil.isInstanceOf(kind, item))


def items_of(scala: Java) -> list[Java]:
    """Return the items of a sequence of Scala."""
    return [scala.apply(place) for place in range(scala.size())]


def list_of(items: list[Java]) -> Java:
    """Return a list of Scala."""
    java_list = java_package("java.util").ArrayList()
    for item in items:
        java_list.add(item)
    return java_package("org.apache.spark.api.python").PythonUtils.toSeq(java_list).toList()


def has_class(spark: SparkSession, name: str, source: str) -> bool:
    """Whether Spark finds a class, which is added if it is not there yet."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    utils = java_package("org.apache.spark.util").Utils
    with _lock:
        try:
            if not utils.classIsLoadable(name):
                _add_class(spark, utils.getSparkClassLoader(), source)
            return bool(utils.classIsLoadable(name))
        except Py4JError:  # a JVM that was started without what Spark opens to itself
            return False


def _add_class(spark: SparkSession, loader: Java, source: str) -> None:
    compiler = java_package("org.codehaus.janino").SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    gateway: Any = spark.sparkContext._gateway
    given = gateway.new_array(java_package("java.lang").Object, 4)
    for name, code in dict(compiler.getBytecodes()).items():
        given[0], given[1], given[2], given[3] = name, code, 0, len(code)
        java_package("org.apache.commons.lang3.reflect").MethodUtils.invokeMethod(loader, True, "defineClass", given)
