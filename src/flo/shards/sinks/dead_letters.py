"""Diverted rows in the tables and topics of `Upsert`.

    id                                row             reason           file                 number
    3c9be1d0a7f24e0f8a51b6c2d94e7f10  {"shop": "a"}   `price` is null  sales, partition 0   7

A diverted row has no key, so it gets one: the hash of the checkpoint, the output, the version and the row. A version
that comes again with the same rows replaces them by themselves. If it diverts other rows, because a function was
corrected, those of the first attempt stay.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from flo.shards.sinks.keyed_output import KeyedOutput, Upserting, identity_of
from flo.shards.sinks.output_changes import OutputChanges
from flo.shards.sinks.sinks import Sink
from flo.shards.tasks.output_files import remove_parts, write_part
from flo.tables.checkpoint.folders import Writes
from flo.tables.io.diverted import SCHEMA

ID = "id"
COLUMNS = pa.schema([pa.field(ID, pa.string(), nullable=False), *SCHEMA])


@dataclass
class DeadLetters(Sink):
    """Adds diverted rows to a table or a topic. At least once; a row that comes again has the same id."""

    to: Upserting
    rows: KeyedOutput
    user_label: str
    """The label of the sink that the user gave."""

    @classmethod
    def of(cls, to: Upserting, session: Any, output: str, user_label: str) -> DeadLetters:
        """The sink for the diverted rows `output`. Raises if they can never go there."""
        rows = KeyedOutput(output, COLUMNS, (ID,), declared=False)
        to.expect_fit(session, rows)
        to.spark = session
        return cls(to, rows, user_label)

    @property
    def label(self) -> str:
        return self.user_label

    def prepare(self, checkpoint: str, output: str) -> None:
        self.to.prepare(self.to.spark, self.rows, identity_of(checkpoint, output))

    def read_diverted(self) -> pa.Table | None:
        table = self.to.read(self.rows)
        return None if table is None else table.select(SCHEMA.names).cast(SCHEMA)

    def take(self, changes: OutputChanges) -> None:
        table = with_ids(changes.table(), f"{identity_of(changes.checkpoint, changes.output)} {changes.version}")
        with closing(Writes()) as writes:
            file = write_part(changes.folder, changes.output, changes.version, 0, table, writes)
            writes.finish()
        if file is not None:
            self.to.write(replace(changes, schema=COLUMNS, files=(file,), reconciles=True), self.rows)
            remove_parts(changes.folder, changes.output, changes.version + 1)


def with_ids(table: pa.Table, of: str) -> pa.Table:
    """The rows with their ids. Equal rows are counted, so that each has its own."""
    seen = Counter[str]()
    ids, texts = [], []
    for row in table.to_pylist():
        content = json.dumps([of, *row.values()])
        seen[content] += 1
        ids.append(hashlib.sha256(f"{content} {seen[content]}".encode()).hexdigest()[:32])
        texts.append(None if row["row"] is None else row["row"].replace("\0", "\\u0000"))  # PostgreSQL takes no NUL
    columns = {**{name: table[name] for name in SCHEMA.names}, ID: ids, "row": texts}
    return pa.table({name: columns[name] for name in COLUMNS.names}, schema=COLUMNS)
