"""Flo on Spark: the event loop of the paper, with shards. The only place that imports pyspark.

What users name is imported when they name it: tasks import this package too, and need nothing of the driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flo.sql.error_log import hide_own_errors

if TYPE_CHECKING:
    from flo.shards.sinks.output_changes import Held, OutputChanges
    from flo.shards.sinks.sinks import Changes, Memory, Sink
    from flo.spark.change_data import Upserts, changes_of_debezium, changes_of_delta, upserts_of_debezium
    from flo.spark.driver.sinks import SparkSink
    from flo.spark.driver.spark_changes import View
    from flo.spark.driver.upserts import Upsert
    from flo.spark.file_rows import rows_of_files
    from flo.spark.kafka_rows import rows_of_kafka
    from flo.spark.schema_registry import registered_schemas
    from flo.spark.sql_views import Views, views

_HOMES = {
    **dict.fromkeys(("Changes", "Memory", "Sink"), "flo.shards.sinks.sinks"),
    "SparkSink": "flo.spark.driver.sinks",
    **dict.fromkeys(("Held", "OutputChanges"), "flo.shards.sinks.output_changes"),
    "Upsert": "flo.spark.driver.upserts",
    "View": "flo.spark.driver.spark_changes",
    **dict.fromkeys(
        ("Upserts", "changes_of_debezium", "changes_of_delta", "upserts_of_debezium"), "flo.spark.change_data"
    ),
    "rows_of_files": "flo.spark.file_rows",
    "rows_of_kafka": "flo.spark.kafka_rows",
    "registered_schemas": "flo.spark.schema_registry",
    **dict.fromkeys(("Views", "views"), "flo.spark.sql_views"),
}
hide_own_errors()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


__all__ = [
    "Changes",
    "Held",
    "Memory",
    "OutputChanges",
    "Sink",
    "SparkSink",
    "Upsert",
    "Upserts",
    "View",
    "Views",
    "changes_of_debezium",
    "changes_of_delta",
    "registered_schemas",
    "rows_of_files",
    "rows_of_kafka",
    "upserts_of_debezium",
    "views",
]
