"""Spark's own stream-stream join beside ours, where pyspark is installed."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

from benchmarks.columnar_programs import WEIGHTS, Workload

SCHEMA = f"k long, v long, {WEIGHTS} long"


class Spark:
    """A session on two cores, with the default state store."""

    def __init__(self, scratch: Path) -> None:
        from flo.spark.session import embedded

        self.scratch = scratch
        self.session: Any = embedded("join", cores=2, memory="6g")

    def beside(self, workload: Workload, expected: int, ours: float) -> tuple[str, str]:
        """Its rate and how many times as fast we are; nothing for programs that Spark has no operator for."""
        if workload.name != "join":
            return "", ""
        took, out = self._join(workload)
        assert out == expected, f"Spark gave {out} rows"
        return f"{workload.rows / took:,.0f}/s", f"{took / ours:.1f}"

    def _join(self, workload: Workload) -> tuple[float, int]:
        from pyspark.sql import functions

        def source(side: str) -> Any:
            folder = Path(workload.deltas[0][side]).parent
            return self.session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))

        right = source("b").withColumnsRenamed({"v": "v2", WEIGHTS: "w2"})
        joined = source("a").join(right, "k").selectExpr("k", "v + v2 as s", f"{WEIGHTS} * w2 as w")
        counted = joined.observe("out", functions.count(functions.lit(1)).alias("rows"))
        writing = counted.writeStream.format("noop").option("checkpointLocation", str(self.scratch / "spark"))
        started = time.perf_counter()
        query = writing.trigger(availableNow=True).start()
        query.awaitTermination()
        took = time.perf_counter() - started
        return took, sum(each["observedMetrics"]["out"]["rows"] for each in query.recentProgress)

    @staticmethod
    def installed() -> bool:
        return importlib.util.find_spec("pyspark") is not None
