"""Flo on Spark: the event loop of the paper, with shards. The only place that imports pyspark."""

from __future__ import annotations

from flo.spark.driver.sinks import Changes, Memory, OutputChanges, Sink, SparkSink
from flo.spark.driver.views import View

__all__ = ["Changes", "Memory", "OutputChanges", "Sink", "SparkSink", "View"]
