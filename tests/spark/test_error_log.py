"""PySpark's log of rejected queries has those of the user, and none that Flo has given to Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

import flo
import flo.spark
from flo.sql.error_log import LOGGERS
from flo.sql.statements import read_statements

pytestmark = pytest.mark.slow


class Sale(NamedTuple):
    shop: str
    price: int


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The messages that PySpark logs."""
    messages: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    keep = Keep()
    for name in LOGGERS:
        PySparkLogger.getLogger(name).addHandler(keep)
    yield messages
    for name in LOGGERS:
        logging.getLogger(name).removeHandler(keep)


def test_errors_of_own_queries_are_not_logged(spark: Any, tmp_path: Path, logged: list[str]) -> None:
    sales = spark.createDataFrame([("a", 1)], "shop string, price long")
    flow = flo.Flow("sales")
    stream = flow.input("sales", flo.ZSet[Sale])
    for text in ("SELEC shop FROM sales", "SELECT shp FROM sales", "SELECT sum(shop, price) FROM sales"):
        with pytest.raises(flo.FloError, match="Spark rejects the query"):
            flow.sql(text, sales=stream)
        with pytest.raises(flo.FloError, match="Spark rejects the query"):
            flo.spark.views(spark, {"v": text}, {"sales": sales})
    (tmp_path / "views.sql").write_text("CREATE VEW v AS SELECT 1;")
    with pytest.raises(flo.FloError, match="cannot parse the statement"):
        read_statements(spark, str(tmp_path / "views.sql"))
    with pytest.raises(flo.TypeMismatch, match="does not say in which file a row is"):
        flo.spark.rows_of_files(sales)
    with pytest.raises(flo.FloError, match="cannot be parsed"):
        flo.spark.changes_of_debezium(sales, "shop strin g")
    assert logged == []


def test_errors_of_the_users_queries_are_logged(spark: Any, logged: list[str]) -> None:
    for call in (
        lambda: spark.sql("SELECT missing FROM VALUES (1) AS t(a)"),
        lambda: spark.range(1).select("missing"),
    ):
        with pytest.raises(PySparkException):
            call()
    assert len(logged) == 2
    assert all("missing" in message for message in logged)
