"""What goes wrong in a task is told as if it had gone wrong here."""

from __future__ import annotations

import os
import types
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import flo
from flo.core.errors import EngineError, FloError
from flo.spark.driver.python_errors import LONG, WorkerLost, error_for_spark, python_error
from tests.spark.sources import files

pytestmark = pytest.mark.every(test=2)

NOW = {"availableNow": True}


class Sale(NamedTuple):
    shop: str
    price: int


GOOD, BAD = pa.table({"shop": ["a"], "price": [2]}), pa.table({"shop": ["b", "c"], "price": [5, 0]})


def share(sale: Sale) -> int:
    return 10 // sale.price


def as_in_main(function: Any) -> Any:
    """The function as if it came from a script, which tasks cannot import."""
    found = types.FunctionType(function.__code__, function.__globals__, function.__name__)
    found.__module__, found.__qualname__, found.__annotations__ = "__main__", "share", function.__annotations__
    return found


def started(spark: Any, function: Any, tmp_path: Any, turns: list[pa.Table]) -> Any:
    flow = flo.Flow("shares")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("shares", sales.distinct().map(function))
    source = files(spark, turns, tmp_path / "sales")
    return flow.on(spark).start({"sales": source}, checkpoint=tmp_path / "checkpoint", trigger=NOW)


@pytest.mark.slow
@pytest.mark.parametrize("function", [share, as_in_main(share)])
def test_a_function_that_raises(spark, tmp_path, function):
    query = started(spark, function, tmp_path, [GOOD, BAD])
    with pytest.raises(flo.FunctionError) as caught:
        query.wait()
    said = str(caught.value)
    assert "`map`" in said
    assert "ZeroDivisionError" in said
    assert "test_errors.py" in said
    assert "return 10 // sale.price" in said or "map(function)" in said
    assert "price=0" in said
    assert "java" not in said.lower()
    assert query.exception is caught.value
    assert not query.active
    assert [each.version for each in query.progress] == [0]
    assert query.view("shares").value() == {5: 1}


def mended(sale: Sale) -> int:
    return 10 // sale.price if sale.price else 0


mended.__name__ = mended.__qualname__ = "share"


@pytest.mark.slow
def test_a_turn_that_failed_comes_again_with_mended_code(spark, tmp_path):
    """First the function raises, then a sink; nothing of either attempt is to be seen."""
    broken = True
    taken: list[tuple[int, int]] = []

    def sink(changes: pa.Table, version: int) -> None:
        if broken and version == 1:
            raise OSError("the table is locked")
        taken.append((version, changes.num_rows))

    def start(function: Any) -> Any:
        flow = flo.Flow("shares")
        sales = flow.input("sales", flo.ZSet[Sale])
        flow.output("shares", sales.map(function))
        flow.output("copied", sales)
        source = files(spark, [GOOD, BAD], tmp_path / "sales")
        outputs = {"copied": sink}
        return flow.on(spark).start({"sales": source}, checkpoint=tmp_path / "checkpoint", trigger=NOW, outputs=outputs)

    for function, error in (share, flo.FunctionError), (mended, Exception):
        query = start(function)
        with pytest.raises(error, match="ZeroDivision" if function is share else "the table is locked"):
            query.wait()
        assert query.view("shares").value() == {5: 1}
        assert query.view("shares").version == 0
        assert taken == [(0, 1)]
    broken = False
    query = start(mended)
    query.wait()
    assert [each.version for each in query.progress] == [1]
    assert query.view("shares").value() == {5: 1, 2: 1, 0: 1}
    assert taken == [(0, 1), (1, 2)]


@pytest.mark.slow
def test_waiting_stopping_and_going_on(spark, tmp_path):
    flow = flo.Flow("counts")
    flow.output("count", flow.input("sales", flo.ZSet[Sale]).group_by("shop").agg(sum=flo.sum("price")))

    def start(**options: Any) -> Any:
        source = files(spark, [GOOD, GOOD], tmp_path / "sales")
        return flow.on(spark).start({"sales": source}, checkpoint=tmp_path / "checkpoint", **options)

    query = start()
    query.process_all_available()
    assert query.active
    assert not query.wait(0.1)
    assert query.exception is None
    query.stop()
    assert query.wait(600)
    assert [each.taken for each in query.progress] == [{"sales": 1}, {"sales": 1}]
    assert query.view("count").value() == {("a", 4): 1}
    files(spark, [GOOD, GOOD, BAD], tmp_path / "sales")
    again = start(trigger=NOW)
    assert again.wait()
    assert [each.version for each in again.progress] == [2]
    assert again.view("count").value() == {("a", 4): 1, ("b", 5): 1, ("c", 0): 1}


SAID = """Job aborted: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/x/worker.py", line 1, in main
    process()
  File "/x/flo/spark/tasks.py", line 9, in _worked
    shard.load()
KeyError: 'runs'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:2)
"""


def test_an_error_of_ours_is_told_without_java():
    given = PySparkException(SAID)
    found = python_error(given)
    assert isinstance(found, EngineError)
    assert str(found).splitlines() == [
        "a task raised KeyError: 'runs'",
        '  File "/x/flo/spark/tasks.py", line 9, in _worked',
        '  File "/x/worker.py", line 1, in main',
    ]
    assert found.__cause__ is given
    other = PySparkException("the table is not there")
    assert python_error(other) is other


def dies(sale: Sale) -> int:
    os._exit(9)


def test_a_worker_that_dies(spark: Any, tmp_path: Any) -> None:
    query = started(spark, dies, tmp_path, [GOOD])
    with pytest.raises(WorkerLost, match="a Python worker of Spark has died"):
        query.wait()
    assert isinstance(query.exception, WorkerLost)
    assert "\tat org.apache.spark" not in str(query.exception)


def test_a_worker_that_dies_in_a_run(spark: Any) -> None:
    flow = flo.Flow("shares")
    flow.output("count", flow.input("sales", flo.Bag[Sale], bounded=True).map(dies))
    with pytest.raises(WorkerLost, match="shards=…"):
        flow.on(spark).run(sales=spark.createDataFrame([("a", 2)], "shop string, price long"))


def test_spark_is_told_briefly():
    """And in words by which it knows that a micro-batch was interrupted, and did not fail."""
    trace = "An error occurred while calling o1.collectToPython.\n: {}\n" + "\tat a.b.c(D.java:1)\n" * 1000
    stopped = error_for_spark(Exception(trace.format("java.lang.InterruptedException")))
    words = (
        "py4j.protocol.Py4JJavaError: An error occurred while calling the micro-batch: java.lang.InterruptedException"
    )
    assert str(stopped) == words
    failed = error_for_spark(Exception(trace.format("java.lang.IllegalStateException: no")))
    assert "IllegalStateException: no" in str(failed)
    assert len(str(failed)) == LONG
    short = FloError("no")
    assert error_for_spark(short) is short
