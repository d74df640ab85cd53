"""Every verb on extreme values, on Spark: one query for each kind of column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engines.extremes import KINDS, Kind, comparable, program, verbs_for
from tests.spark.harness import streamed

SAMPLE = ("int", "zoned time")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind.name in SAMPLE else pytest.mark.thorough, id=kind.name) for kind in KINDS],
)
def test_spark_agrees_with_values(spark: Any, kind: Kind, tmp_path: Path) -> None:
    streams = program(kind, list(verbs_for(kind)))
    expected = streams.flow.run(**streams.data)
    query = streamed(spark, streams.flow, streams.data, tmp_path, parts=2)
    for name, value in expected.items():
        assert comparable(None, query.view(name).value()) == comparable(None, value), name
