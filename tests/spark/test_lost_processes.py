"""Errors of a query whose Java process or worker has died: they say so, and that a restart continues."""

from __future__ import annotations

import socket
import sys
import threading
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

import flo
from flo.core.errors import EngineError
from flo.spark.driver.python_errors import SparkErrors, SparkLost, WorkerLost, is_java_lost, python_error
from flo.spark.driver.query import Query
from flo.spark.driver.spark_changes import View
from flo.spark.on_spark import OnSpark


def call_of_java_that_has_ended() -> Exception:
    """The error of a real call: nothing listens on that port any more."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm.System.exit(0)
    except Exception as error:
        return error
    raise AssertionError("nothing listens there")


def test_a_call_of_java_that_has_ended() -> None:
    for error in (call_of_java_that_has_ended(), Py4JNetworkError("Answer from Java side is empty")):
        translated = python_error(error)
        assert isinstance(translated, SparkLost)
        assert "the Java process of Spark has ended" in str(translated)
        assert "continues from its checkpoint" in str(translated)


def test_an_error_of_the_program_is_not_taken_for_one_of_spark() -> None:
    """A row may be a line of Spark's logs."""
    error = flo.FunctionError("raised", facts=(("given", "'ERROR Python worker exited unexpectedly'"),))
    with pytest.raises(flo.FunctionError) as caught, SparkErrors():
        raise error
    assert caught.value is error


def test_a_connection_that_a_sink_has_lost_is_not_java() -> None:
    def raised() -> Exception:
        try:
            socket.create_connection(("127.0.0.1", 1), timeout=1)
        except Exception as error:
            return error
        raise AssertionError("nothing listens there")

    error = raised()
    assert not is_java_lost(error)
    assert python_error(error) is error


@pytest.mark.parametrize(
    "text",
    [
        "java.io.EOFException: Python worker exited unexpectedly (crashed)\n\tat a.b(C)",
        "java.io.IOException: Stream closed\n\tat java.base/java.lang.ProcessBuilder$NullOutputStream.write(P.java:1)",
    ],
)
def test_a_worker_has_died(text: str) -> None:
    died = python_error(Py4JError(f"An error occurred\n{text}"))
    assert isinstance(died, WorkerLost)
    assert "a restart continues" in str(died)


def test_an_error_of_java_has_no_stack_trace() -> None:
    other = python_error(Py4JError("An error occurred\njava.lang.IllegalStateException: no\n\tat a.b(C.scala:1)"))
    assert isinstance(other, EngineError)
    assert "IllegalStateException: no" in str(other)
    assert "C.scala" not in str(other)


class Gone:
    """Spark's handle of a query after Java has ended."""

    def __getattr__(self, name: str) -> Any:
        raise call_of_java_that_has_ended()


def lost_query() -> Query:
    query = Query.__new__(Query)
    query.name, query._progress = "sums", deque()
    query._query, query._failure, query._lost = Gone(), None, None
    query._over, query._ending = threading.Event(), threading.Lock()
    query._lease = SimpleNamespace(expect_held=lambda: None, release=lambda: None)
    query._watch = SimpleNamespace(end=lambda: None, close=lambda: None)
    query._giving = SimpleNamespace(retrying=SimpleNamespace(stop=lambda: None))
    return query


@pytest.mark.parametrize("call", [lambda query: query.process_all_available(), lambda query: query.wait()])
def test_a_query_says_that_java_has_ended(call: Any) -> None:
    query = lost_query()
    query._wait_for_end()
    with pytest.raises(SparkLost, match="continues from its checkpoint"):
        call(query)


def sums() -> flo.Flow:
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("numbers", flo.ZSet[int]).map(lambda x: x + 1))
    return flow


@pytest.mark.parametrize(
    "call",
    [
        lambda spark, folder: OnSpark(sums(), spark).explain(),
        lambda spark, folder: committed_view(folder).frame(spark),
    ],
)
def test_a_call_after_java_has_ended(call: Any, tmp_path: Path) -> None:
    with pytest.raises(SparkLost, match="continues from its checkpoint") as caught:
        call(lost_session(), tmp_path)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__


def lost_session() -> Any:
    session, context = SparkSession.__new__(SparkSession), SparkContext.__new__(SparkContext)
    session._jsparkSession, session._sc = Gone(), context  # type: ignore[attr-defined]
    context._jsc, context.master, context.pythonExec = Gone(), "local", sys.executable  # type: ignore[attr-defined]
    return session


def committed_view(folder: Path) -> View:
    with sums().on(flo.here).start(checkpoint=folder) as query:
        query.push(numbers=[1])
    return View.of(str(folder), "sums")


def test_other_methods_after_java_has_ended() -> None:
    query = lost_query()
    assert not query.active
    assert isinstance(query.exception, SparkLost)
    assert "failed" in repr(query)
    query.stop()
    query.stop()
