"""Upserts on Spark: those that databases take in any process, and those to tables and topics of Spark."""

from __future__ import annotations

from flo.shards.sinks.upserts import KINDS, Upsert
from flo.spark.driver.upsert_tables import DeltaTable, IcebergTable
from flo.spark.driver.upsert_topics import KafkaTopic

__all__ = ["Upsert"]

KINDS.update({each.kind: each for each in (DeltaTable, IcebergTable, KafkaTopic)})
