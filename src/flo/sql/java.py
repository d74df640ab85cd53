"""Objects of the JVM, by Py4J: packages, singletons of Scala, sequences.

`jvm.org.apache.spark.sql.types` asks Java at each dot whether that is a class, and Java looks for `org`, `org.apache`
and so on in all jars: some milliseconds. A package is taken by its whole name here, which asks nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Java: TypeAlias = Any
"""An object of the JVM. Py4J gives it no type."""
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


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
