"""The sink that replaces and deletes rows by their keys, wherever they are kept.

    Upsert("postgresql", "public.sums", {"uri": …}, key="shop")

    Upsert ─ what a sink is: versions, errors, keys ─> Upserting, by `kind`: PostgreSQL, SQLite, DuckDB
                                                                             Delta, Iceberg, Kafka, on Spark

Invariant: the target has one row for each key of the output, at the version that it says it holds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from flo.core.errors import FloError, TypeMismatch, UnknownNameError, brief
from flo.pictures.secrets import hide_secrets
from flo.shards.sinks.databases import DuckDB, PostgreSQL, SQLite
from flo.shards.sinks.dead_letters import DeadLetters
from flo.shards.sinks.keyed_output import KeyedOutput, Upserting, identity_of
from flo.shards.sinks.output_changes import ColumnChanges, Held, OutputChanges, is_weighted
from flo.shards.sinks.sink_versions import expect_key
from flo.shards.sinks.sinks import Sink
from flo.shards.sinks.version_records import LEFT
from flo.shards.tasks.output_files import Output
from flo.tables.io.changes import add_weights

KINDS: dict[str, type[Upserting]] = {each.kind: each for each in (PostgreSQL, SQLite, DuckDB)}
"""The kinds of places, by their words. Spark adds its own."""
OF_SPARK = ("delta", "iceberg", "kafka")
OF_FILES = ("sqlite", "duckdb")
ADDRESSES = ("uri", "kafka.bootstrap.servers")
"""The options that say where a table or a topic is."""


@dataclass(repr=False)
class Upsert(Sink):
    """Keeps the rows of an output in a table or a topic: for each key that changed its row is replaced or deleted.

    - `kind`: `"delta"`, `"iceberg"`, `"postgresql"`, `"sqlite"`, `"duckdb"` or `"kafka"`.
    - `target`: the table, or the topic. For Delta a path is a table, too.
    - `options`: `{"uri": …}` for a database, Spark's options for Kafka.
    - `key`: the columns of the key, if it does not follow from the program. Then it is checked: two rows with the same
      key end the query. Kafka cannot check that.

    Exactly once, except for Kafka: there the messages of a micro-batch may come twice, which changes nothing for a key.
    """

    kind: str
    target: str
    options: dict[str, Any] = field(default_factory=dict)
    key: str | Sequence[str] | None = None
    rows: KeyedOutput | None = field(default=None, init=False)
    """The output that it was bound to."""

    about = ("flo.spark.Upsert(kind, target)", "rows replaced and deleted by their keys, in a table or a topic")
    keeps_weight = True
    corrects = True
    readable = True

    def __repr__(self) -> str:
        return self.label if self.key is None else f"{self.label[:-1]}, key={self.key!r})"

    def __post_init__(self) -> None:
        if self.kind in OF_SPARK and self.kind not in KINDS:
            raise FloError(
                f"Upsert to {self.kind} runs on Spark",
                instead=(("import flo.spark", "flow.on(spark) runs it there"),),
            ).at_users_line()
        if self.kind not in KINDS:
            known = list(dict.fromkeys([*KINDS, *OF_SPARK]))
            close = get_close_matches(str(self.kind).lower(), known, n=1)
            raise UnknownNameError(
                f"`kind` of Upsert must be one of {', '.join(known)}; got {brief(self.kind)}",
                instead=tuple((f'Upsert("{each}", …)', "the closest name") for each in close),
            ).at_users_line()
        if not isinstance(self.target, str):
            raise TypeMismatch(
                f"`target` of Upsert must be the name of a table or a topic; got {brief(self.target)}",
            ).at_users_line()
        self._to = KINDS[self.kind](self.target, dict(self.options))

    @property
    def label(self) -> str:
        return f'Upsert("{self.kind}", "{hide_secrets(self.target)}")'

    def bound(self, session: Any, output: Output, key: tuple[str, ...] | None) -> Upsert:
        rows = KeyedOutput.of(output, key, self.key)
        if rows.declared and not self._to.checks_declared:
            raise TypeMismatch(
                f"{self.label} cannot check the declared key of the output `{output.name}`: it does not read the topic",
                facts=(("declared", ", ".join(rows.key)), ("known", ", ".join(key or ()) or "no key")),
                instead=((".distinct(on=…)", "one row for each key"), (".group_by(…).agg(…)", "one for each group")),
            )
        self._to.expect_fit(session, rows)
        bound = replace(self)
        bound.rows, bound._to.spark, bound.reconciles = rows, session, self.reconciles
        return bound

    def for_diverted(self, session: Any, output: str) -> DeadLetters:
        """The sink for diverted rows, which are only added."""
        if self.key is not None or self.reconciles:
            what = "key" if self.key is not None else "reconcile"
            raise TypeMismatch(
                f"{self.label} of `{output}` takes no `{what}`: diverted rows are added, with an id",
                instead=((f"{self.label[:-1]}, options)", "for diverted rows"),),
            )
        return DeadLetters.of(replace(self)._to, session, output, self.label)

    def held(self, checkpoint: str, output: str) -> Held | None:
        rows = self._bound_rows()
        held = self._to.held(identity_of(checkpoint, output), rows)
        expect_key(output, self, held, rows.key)
        return held

    @property
    def place(self) -> object:
        addresses = [str(self.options.get(each, "")) for each in ADDRESSES]
        if self.kind in OF_FILES:  # a path may be written in several ways
            addresses = [os.path.realpath(each) for each in addresses]
        is_folder = self.kind == "delta" and "/" in self.target and "://" not in self.target
        return (self.kind, os.path.realpath(self.target) if is_folder else self.target, *addresses)

    def find_other_output(self, checkpoint: str, output: str) -> str | None:
        rows = self._bound_rows()
        other = self._to.find_other_output(identity_of(checkpoint, output), rows)
        if other is None:
            return None
        expect_key(output, self, self._to.held(other, rows), rows.key)
        return other.partition(" ")[2].partition(LEFT)[0]

    def evolve(self, columns: ColumnChanges) -> None:
        self.rows = replace(self._bound_rows(), changed=columns)

    def read_rows(self, output: Output) -> pa.Table | None:
        table = self._to.read(self._bound_rows())
        return table if table is None or not is_weighted(output) else add_weights(table)

    def prepare(self, checkpoint: str, output: str) -> None:
        self._to.prepare(self._to.spark, self._bound_rows(), identity_of(checkpoint, output))

    def take(self, changes: OutputChanges) -> None:
        self._to.write(changes, self._bound_rows())

    def _bound_rows(self) -> KeyedOutput:
        """The rows that it was bound to. Raises if it was not."""
        if self.rows is None:
            raise FloError(f"{self.label} takes rows of an output that it was bound to, by `start`")
        return self.rows
