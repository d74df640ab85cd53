"""What a delta costs as the state grows, and how much memory the state takes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from polars.testing import assert_frame_equal
from rich.table import Table

import flo
from benchmarks.columnar_programs import WEIGHTS, Row, content
from benchmarks.columnar_rates import seconds
from flo.tables.plan import plan
from flo.tables.state.trace import Trace

SMALL, LARGE, DELTA, DELTAS = 1_000_000, 10_000_000, 100_000, 9
GROUPS = 10_000
"""Of min, max, top-k and sessions: the same at both sizes, so that what grows is the group."""
COUNT, GAP, EMPTY, PART = 10, 1 << 20, 50, 1_000_000
Frames = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class Operator:
    """An operator whose state grows, and the same with Polars, of rows that are there once with their weights."""

    name: str
    build: Callable[[Any, Any], Any]
    at_once: Frames | None
    grouped: bool = False
    """Whether there are as many keys at every size; else there are as many as rows of state."""

    @property
    def joins(self) -> bool:
        """Whether the deltas meet the state instead of changing it."""
        return self.at_once is None

    def loop(self) -> Any:
        flow = flo.Flow("growth")
        rows = flow.input("rows", flo.ZSet[Row])
        other = flow.input("other", flo.ZSet[Row]) if self.joins else None
        flow.output("out", self.build(rows, other))
        return flow.on(flo.here).loop()


def _one(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(1).alias(WEIGHTS))


def _by_group(of: pl.Expr) -> Frames:
    return lambda rows: _one(rows.group_by("k").agg(of.alias("v")))


def _top(rows: pl.DataFrame) -> pl.DataFrame:
    each = rows.select(pl.col("k", "v").repeat_by(WEIGHTS)).explode("k", "v")
    return _one(each.sort("v", descending=True).group_by("k", maintain_order=True).head(COUNT))


def _sessions(rows: pl.DataFrame) -> pl.DataFrame:
    far = (pl.col("v") - pl.col("v").shift(1).over("k") >= GAP).fill_null(True)
    number = pl.col("number")
    bounds = pl.col("v").min().over(number).alias("window_start"), pl.col("v").max().over(number) + GAP
    each = rows.sort("k", "v").with_columns(far.cum_sum().alias("number"))
    return each.select("k", "v", bounds[0], bounds[1].alias("window_end"), WEIGHTS)


OPERATORS = [
    Operator("join", lambda rows, other: rows.join(other, "k", "k", {"k": "k", "v": "v", "w": "v_right"}), None),
    Operator(
        "grouped sum",
        lambda rows, _: rows.group_by("k").agg(v=flo.sum("v")),
        _by_group((pl.col("v") * pl.col(WEIGHTS)).sum()),
    ),
    Operator("min", lambda rows, _: rows.group_by("k").agg(v=flo.min("v")), _by_group(pl.col("v").min()), grouped=True),
    Operator("max", lambda rows, _: rows.group_by("k").agg(v=flo.max("v")), _by_group(pl.col("v").max()), grouped=True),
    Operator("distinct", lambda rows, _: rows.distinct(), _one),
    Operator(f"top {COUNT}", lambda rows, _: rows.top(COUNT, "v", "k"), _top, grouped=True),
    Operator("session", lambda rows, _: rows.session(GAP, "v", by="k"), _sessions, grouped=True),
]


class Grown:
    """A loop with a state of so many rows, and deltas into it."""

    def __init__(self, operator: Operator, size: int, delta: int, groups: int) -> None:
        self.operator, self.size = operator, size
        self.keys = groups if operator.grouped else size
        rng = np.random.default_rng(3)
        keys = rng.integers(0, groups, size) if operator.grouped else rng.permutation(size)
        self.state = pa.table({"k": keys, "v": rng.integers(0, 1 << 30, size), WEIGHTS: np.ones(size, np.int64)})
        self.deltas = [self._delta(rng, number, delta) for number in range(DELTAS + 1)]
        self.loop = operator.loop()
        self.pulled: list[pa.Table] = []
        for start in range(0, size, PART):
            self.loop.push(rows=self.state.slice(start, PART))
            self.loop.pull("out")
        self.first = self.take(0)  # makes what is made once for the search

    def _delta(self, rng: np.random.Generator, number: int, count: int) -> pa.Table:
        """New rows, and every fifth takes a row of the state back; each row of the state at most once."""
        back = 0 if self.operator.joins else min(count // 5, self.size // (2 * DELTAS))
        places = np.arange(number * back, (number + 1) * back) * (self.size // max(1, back * (DELTAS + 1)))
        new = count - back
        keys = rng.integers(0, self.keys, new)
        rows = pa.table({"k": keys, "v": rng.integers(0, 1 << 30, new), WEIGHTS: np.ones(new, np.int64)})
        gone = self.state.take(pa.array(places)).set_column(2, WEIGHTS, pa.array(np.full(back, -1)))
        return pa.concat_tables([rows, gone]).combine_chunks()

    def take(self, number: int) -> float:
        def move() -> pa.Table:
            self.loop.push(**{"other" if self.operator.joins else "rows": self.deltas[number]})
            return self.loop.pull("out")

        took, table = seconds(move)
        self.pulled.append(table)
        return took

    def nothing(self) -> float:
        """The time of an empty delta."""
        empty = self.deltas[0].slice(0, 0)

        def move() -> None:
            self.loop.push(rows=empty)
            assert self.loop.pull("out").num_rows == 0

        return statistics.median(seconds(move)[0] for _ in range(EMPTY))

    def check(self) -> None:
        """What the deltas gave is the difference between the results before them and after."""
        state, changes = (pl.from_arrow(t) for t in (self.state, pa.concat_tables(self.deltas)))
        found = pl.from_arrow(pa.concat_tables(self.pulled))
        assert isinstance(state, pl.DataFrame)
        assert isinstance(changes, pl.DataFrame)
        assert isinstance(found, pl.DataFrame)
        if self.operator.at_once is None:
            both = state.join(changes.rename({"v": "w"}), on="k")
            expected = both.select("k", "v", "w", WEIGHTS)
        else:
            before = self.operator.at_once(state).with_columns(-pl.col(WEIGHTS))
            expected = pl.concat([self.operator.at_once(content(pl.concat([state, changes]))), before])
        assert_frame_equal(content(found), content(expected), check_dtypes=False)

    def memory(self) -> tuple[int, int]:
        """The rows and the bytes of all traces after consolidation, with what a search needs."""
        whole = [trace.consolidate() for trace in self.traces()]
        return sum(trace.rows for trace in whole), sum(trace.bytes for trace in whole)

    def traces(self) -> Iterator[Trace]:
        for planned in plan(self.loop._loop.nodes):
            operator: Any = planned.node.operator
            values = (getattr(operator, field.name) for field in fields(operator))
            yield from (value for value in values if isinstance(value, Trace))


def growth(scale: float, only: str | None = None) -> tuple[Table, Table]:
    small, large, delta, groups = (max(100, int(size * scale)) for size in (SMALL, LARGE, DELTA, GROUPS))
    title = f"a delta of {delta:,} rows into a state of {small:,} and of {large:,}: median of {DELTAS}"
    costs = Table(title=title, title_justify="left")
    columns = ("operator", "small", "large", "ratio", "ratio of means", "the first, large", "empty, small", "large")
    for column in columns:
        costs.add_column(column, justify="left" if column == "operator" else "right")
    sizes = Table(title=f"memory after consolidation, {large:,} rows and the deltas", title_justify="left")
    for column in ("operator", "rows", "bytes a row", "/ rows as Arrow", "/ rows and weights as Arrow"):
        sizes.add_column(column, justify="left" if column == "operator" else "right")
    for operator in OPERATORS:
        if only in (None, operator.name):
            one, other = (Grown(operator, size, delta, groups) for size in (small, large))
            costs.add_row(operator.name, *_compared(one, other))
            one.check()
            other.check()
            sizes.add_row(operator.name, *_weighed(other))
    return costs, sizes


def _compared(small: Grown, large: Grown) -> Iterator[str]:
    took: list[list[float]] = [[], []]
    for number in range(1, DELTAS + 1):  # in turn, so that both see the same machine
        for grown, each in zip((small, large), took, strict=True):
            each.append(grown.take(number))
    medians = [statistics.median(each) for each in took]
    yield from (f"{median * 1e3:.1f} ms" for median in medians)
    yield f"{medians[1] / medians[0]:.2f}"
    yield f"{sum(took[1]) / sum(took[0]):.2f}"
    yield f"{large.first * 1e3:.1f} ms"
    yield from (f"{grown.nothing() * 1e6:.0f} µs" for grown in (small, large))


def _weighed(grown: Grown) -> Iterator[str]:
    rows, size = grown.memory()
    raw = grown.state.nbytes / grown.state.num_rows
    plain = grown.state.drop_columns([WEIGHTS]).nbytes / grown.state.num_rows
    yield from (f"{rows:,}", f"{size / rows:.1f}", f"{size / rows / plain:.2f}", f"{size / rows / raw:.2f}")
