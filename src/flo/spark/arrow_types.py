"""Arrow's types for those of Spark. Times with a zone are in UTC, whatever the zone of the session is."""

from __future__ import annotations

from inspect import signature

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

IN_UTC = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
"""The argument for times in UTC. Spark 4.1 has none: there they always are."""


def arrow_schema(schema: StructType) -> pa.Schema:
    return to_arrow_schema(schema, **IN_UTC)  # type: ignore[arg-type]


def arrow_type(kind: DataType) -> pa.DataType:
    return arrow_schema(StructType().add("value", kind)).field(0).type
