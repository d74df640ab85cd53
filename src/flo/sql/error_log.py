"""Spark's log of rejected queries, without the queries that Flo itself gives to Spark.

PySpark writes each error of a query to the standard error as JSON, with both stack traces, before it raises the error.
Flo catches the errors of its own queries and raises errors of its own, so the JSON would only bury them.
"""

from __future__ import annotations

import logging
import sys

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""The loggers of PySpark that get an error of a query, of SQL and of a DataFrame."""
BETWEEN = ("flo.sql.error_log", "logging", "py4j", "pyspark")
"""Modules that stand between a call to Spark and this filter."""


class NotOurs(logging.Filter):
    """Lets an error through unless Flo has made the call that failed. A user's function that Flo calls is not Flo."""

    def filter(self, record: logging.LogRecord) -> bool:
        frame = sys._getframe()
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if not _is_in(module, BETWEEN):
                return not _is_in(module, ("flo", "pyspark_flo"))
            frame = frame.f_back  # type: ignore[assignment]
        return True


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return module in packages or module.startswith(tuple(f"{package}." for package in packages))


NOT_OURS = NotOurs()


def hide_own_errors() -> None:
    """Keep the errors of Flo's own queries out of PySpark's log. Nothing happens the second time."""
    from pyspark.logger import PySparkLogger

    for name in LOGGERS:
        PySparkLogger.getLogger(name).addFilter(NOT_OURS)
