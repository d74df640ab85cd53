"""Flo on Spark: the event loop of the paper, with shards. The only place that imports pyspark."""

from __future__ import annotations

from flo.spark.driver.sinks import Changes, Memory, Sink, SparkSink
from flo.spark.driver.views import View
from flo.spark.sql_views import Views, views

__all__ = ["Changes", "Memory", "Sink", "SparkSink", "View", "Views", "views"]
