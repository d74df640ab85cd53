"""A trial: a program is edited between micro-batches, and is always what the last program gives on all rows.

The views and the sinks are compared with the program run from the start. What sinks get at a switch is the difference:
no row twice, and no row that they had.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

import flo
from flo.shards.checkpoint.change_folders import StoredChanges, has_changes
from flo.shards.checkpoint.commits import PROGRAM, committed_versions, read_commit
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.sinks.sinks import Changes
from flo.shards.sinks.upserts import Upsert
from tests.engines.engine import comparable
from tests.local.random_edits import (
    CHANGES,
    TABLE,
    VIEW,
    WIDTHS,
    Part,
    Program,
    Turn,
    build,
    draw_program,
    draw_turns,
    edit,
    widened,
)
from tests.spark.simulated import as_plain


class Runs(Protocol):
    """Starts programs on one engine, one after the other, on one checkpoint."""

    def __call__(
        self, flow: flo.Flow, sinks: dict[str, Any], trial: Trial, turn: Turn, check: Callable[[Any], None]
    ) -> None:
        """Starts a program, and gives it the rows of a turn. Calls `check` with the query: if it can, also before the
        rows come."""


@dataclass
class Trial:
    """A program that lives through some edits."""

    folder: Path
    seed: int
    given: dict[str, Any] = field(default_factory=dict)
    """All rows that the inputs have had."""
    program: Program = field(default_factory=Program)
    switches: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self._touched = dict[str, Counter[Any]]()

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def run(self, runs: Runs, turns: int) -> None:
        self.program = draw_program(self.rng)
        for number, turn in enumerate(draw_turns(self.seed, turns)):
            if number:
                self.program = edit(self.program, self.rng)
            self._turn(runs, turn)
        assert not list(Checkpoint(str(self.checkpoint)).problems())

    def _turn(self, runs: Runs, turn: Turn) -> None:
        if "w" in turn:
            turn = {**turn, "w": widened(turn["w"], self.program.width, self.rng)}
        before = max(committed_versions(str(self.checkpoint)), default=-1)
        sinks = {name: self._sink(part) for name, part in self.program.parts.items()}
        for name, part in self.program.parts.items():
            if part.to == CHANGES and before >= 0 and self.rng.random() < 0.1:
                shutil.rmtree(self.folder / str(part.place), ignore_errors=True)
                sinks[name] = sinks[name].reconcile()
        tables = {name: Table(self.folder, part) for name, part in self.program.parts.items() if part.to == TABLE}
        for table in tables.values():
            table.watch()

        def check(query: Any) -> None:
            self._check(query, tables, before)

        runs(build(self.program), sinks, self, turn, check)
        parts = {name: replace(part, takes_over=False) for name, part in self.program.parts.items()}
        self.program = replace(self.program, parts=parts)

    def take(self, rows: Turn) -> None:
        """Adds rows to those that the inputs have had."""
        for name, more in rows.items():
            if isinstance(more, dict):
                total = Counter(self.given.get(name, {}))
                for row, weight in more.items():
                    total[row] += weight
                self.given[name] = Counter({row: weight for row, weight in total.items() if weight})
            else:
                self.given[name] = [*self.given.get(name, []), *more]

    def start(self, start: Callable[[int | None], Any]) -> Any:
        """Starts with some number of shards; with as many as before if a state cannot be cut."""
        try:
            return start(self.rng.choice([1, 3, None] if self.checkpoint.exists() else [1, 3]))
        except flo.CheckpointError as error:
            if "cannot be cut into other shards" not in str(error):
                raise
            return start(None)

    def rows_of(self, flow: flo.Flow) -> dict[str, Any]:
        """All rows that the inputs of a program have had."""
        rows = {stream.name: self.given.get(stream.name, []) for stream in flow._scope.inputs}
        if "w" in rows:
            kind = WIDTHS[self.program.width]
            rows["w"] = [kind(*row, *[None] * (len(kind._fields) - len(row))) for row in rows["w"]]
        return rows

    def _sink(self, part: Part) -> Any:
        if part.to == VIEW:
            return None
        place = self.folder / str(part.place)
        sink: Any = (
            Changes(str(place))
            if part.to == CHANGES
            else Upsert("sqlite", f"t{part.place}", {"uri": str(self.folder / "sinks.db")})
        )
        return sink.reconcile() if part.takes_over else sink

    def _check(self, query: Any, tables: dict[str, Table], before: int) -> None:
        if not committed_versions(str(self.checkpoint)):  # no row has come yet
            return
        expected, types = self._expected()
        versions = [each for each in committed_versions(str(self.checkpoint)) if each > before]
        switched = [each for each in versions if read_commit(str(self.checkpoint), each).get(PROGRAM) == each]
        assert len(switched) <= 1
        self.switches += len(switched)
        for name, part in self.program.parts.items():
            where = f"the output {name}, {part}, seed {self.seed}"
            if part.to == VIEW:
                assert comparable(query.view(name).value()) == comparable(as_plain(types[name], expected[name])), where
            elif part.to == CHANGES:
                place = self.folder / str(part.place)
                assert total_of(changes_between(place, -1, None)) == total_of([expected[name]]), where
                for version in switched:
                    changes = changes_between(place, version - 1, version)
                    rows = [row for table in changes for row in weighted_rows(table)]
                    assert all(weight for _, weight in rows), where
                    assert len({row for row, _ in rows}) == len(rows), f"rows come twice to {where}"
            else:
                tables[name].expect(expected[name], is_switch=bool(switched) and len(versions) == 1, where=where)

    def _expected(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The outputs of the program run from the start, and their types."""
        flow = build(self.program)
        here = flow.on(flo.here)
        loop = here.loop(negative="allow")
        loop.push(**self.rows_of(flow))
        loop.run()
        return dict(loop.result()), dict(zip(flow._outputs, here._dag.output_types, strict=False))


def changes_between(place: Path, after: int, upto: int | None) -> list[pa.Table]:
    """The changes in a folder after a version. It is made with the first ones."""
    if not has_changes(str(place)):
        return []
    stored = StoredChanges(str(place))
    if upto is not None and upto not in stored.versions():
        return []
    after = after if after in stored.versions() else -1
    return [part.changes() for part in stored.parts(None, after, upto)[0]]


def weighted_rows(table: pa.Table) -> list[tuple[str, int]]:
    """The rows as text, with their weights."""
    rows = []
    for row in table.to_pylist():
        weight = row.pop("_weight", 1)
        rows.append((repr(sorted(row.items())), weight))
    return rows


def total_of(tables: list[pa.Table]) -> Counter[str]:
    """How often each row is there."""
    total = Counter[str]()
    for table in tables:
        for row, weight in weighted_rows(table):
            total[row] += weight
    return Counter({row: weight for row, weight in total.items() if weight})


@dataclass
class Table:
    """A table of SQLite with the key `s`. Triggers log which keys are written."""

    folder: Path
    part: Part

    def __post_init__(self) -> None:
        self.name, self.before = f"t{self.part.place}", dict[Any, str]()

    def watch(self) -> None:
        """Logs the keys that are written from now on."""
        with sqlite3.connect(self.folder / "sinks.db") as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (self.name,)).fetchall():
                return
            connection.execute("CREATE TABLE IF NOT EXISTS touched (target TEXT, s TEXT)")
            connection.execute("DELETE FROM touched WHERE target = ?", (self.name,))
            for act, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
                connection.execute(
                    f"CREATE TRIGGER IF NOT EXISTS {self.name}_{act} AFTER {act} ON {self.name}"
                    f" BEGIN INSERT INTO touched VALUES ('{self.name}', {row}.s); END"
                )
            self.before = self._rows(connection, typed=True)

    def expect(self, wanted: pa.Table, is_switch: bool, where: str) -> None:
        """The rows are those of an output, and a switch has written only those that differ, each once."""
        with sqlite3.connect(self.folder / "sinks.db") as connection:
            rows = self._rows(connection)
            assert rows == {row["s"]: f"{_text(row)} " for row in wanted.to_pylist()}, where
            if is_switch and self.before:
                rows = self._rows(connection, typed=True)
                log = connection.execute("SELECT s, count(*) FROM touched WHERE target = ? GROUP BY s", (self.name,))
                touched = dict(log.fetchall())
                other = {key for key in rows.keys() | self.before.keys() if rows.get(key) != self.before.get(key)}
                assert touched.keys() == other, where

    def _rows(self, connection: sqlite3.Connection, typed: bool = False) -> dict[Any, str]:
        """The rows by key, as text; with the types of their columns, if asked: one of another type is written anew."""
        types = {name: kind for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({self.name})").fetchall()}
        cursor = connection.execute(f"SELECT * FROM {self.name}")
        names = [each[0] for each in cursor.description]
        rows = [dict(zip(names, each, strict=True)) for each in cursor.fetchall()]
        return {
            row["s"]: f"{_text(row)} {[types[n] for n in names if row[n] is not None] if typed else ''}" for row in rows
        }


def _text(row: dict[str, Any]) -> str:
    """A row without what is null: a table keeps the columns that an output had before."""
    values = {name: value for name, value in row.items() if value is not None and name != "_weight"}
    return repr(sorted((name, int(each) if isinstance(each, Decimal) else each) for name, each in values.items()))


def run_here(flow: flo.Flow, sinks: dict[str, Any], trial: Trial, turn: Turn, check: Callable[[Any], None]) -> None:
    """In this process."""
    options: dict[str, Any] = {"checkpoint": trial.checkpoint, "changed": "fill", "fill": trial.rows_of(flow)}
    with trial.start(lambda shards: flow.on(flo.here).start(sinks, shards=shards, **options)) as query:
        check(query)
        inputs = {stream.name for stream in flow._scope.inputs}
        turn = {name: rows for name, rows in turn.items() if name in inputs}
        if turn:
            query.push(**turn)
            trial.take(turn)
            check(query)
