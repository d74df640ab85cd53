"""Classes of Java that Flo adds to the JVM of Spark.

A class is compiled by Janino, with which Spark compiles its plans, and added to the loader of Spark's own classes, once
in each JVM. Spark finds it there by its name.
"""

from __future__ import annotations

import threading
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from flo.sql.java import Java, java_package

_lock = threading.Lock()
"""Held while a class is looked for and added."""


def has_class(spark: SparkSession, name: str, source: str) -> bool:
    """Whether Spark finds a class, which is added if it is not there yet."""
    utils = java_package("org.apache.spark.util").Utils
    with _lock:
        try:
            if not utils.classIsLoadable(name):
                _add(spark, utils.getSparkClassLoader(), source)
            return bool(utils.classIsLoadable(name))
        except Py4JError:  # a JVM that was started without what Spark opens to itself
            return False


def _add(spark: SparkSession, loader: Java, source: str) -> None:
    compiler = java_package("org.codehaus.janino").SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    gateway: Any = spark.sparkContext._gateway
    given = gateway.new_array(java_package("java.lang").Object, 4)
    for name, code in dict(compiler.getBytecodes()).items():
        given[0], given[1], given[2], given[3] = name, code, 0, len(code)
        java_package("org.apache.commons.lang3.reflect").MethodUtils.invokeMethod(loader, True, "defineClass", given)
