"""What the tables of a database hold: the table `flo_versions`, with a row for each output and each table that it had.

    id                       version  digest  key_columns  target    row_count  unfit
    <id> sums                7        5e1f…   ["shop"]     sums      120        0
    <id> sums⏎old_sums       3        9c2a…   ["shop"]     old_sums  80         0      `sums` had this table before

Invariant: as long as a table has rows of an output, a row with this `target` says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from flo.shards.sinks.output_changes import Held

Cursor: TypeAlias = Any
"""A cursor of an ADBC driver, which has no types."""
VERSIONS = "flo_versions"
"""The table of versions."""
RECORD = {"digest": "string", "key_columns": "string", "target": "string", "row_count": "integer", "unfit": "integer"}
"""Its columns beside the id and the version, and their kinds."""
LEFT = "\n"
"""Between an output and the table that it had before."""


@dataclass(frozen=True)
class Record:
    """A row of the table of versions: what a table holds of an output."""

    held: Held | None = None
    target: str | None = None
    rows: int = 0
    unfit: int = 0
    """How many rows of the last version it could not hold."""

    @classmethod
    def read(cls, cursor: Cursor) -> Record:
        """The row that a cursor has; nothing is held if there is none."""
        names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        row = dict(zip(names, rows[0], strict=True)) if rows else {}
        if row.get("version", -1) < 0:
            return cls()
        key = row.get("key_columns")
        columns = None if key is None else tuple(json.loads(key))
        held = Held(row["version"], row.get("digest"), columns, row.get("row_count"))
        return cls(held, row.get("target"), row.get("row_count") or 0, row.get("unfit") or 0)

    @classmethod
    def lock(cls, cursor: Cursor, identity: str, target: str) -> Record:
        """The record of an output for a table, which no other transaction changes until this one ends. That of the
        table that the output had before is kept under another id."""
        own = sql_text(identity)
        cursor.execute(
            f"INSERT INTO {VERSIONS} (id, version) VALUES ({own}, -1)"
            f" ON CONFLICT (id) DO UPDATE SET version = {VERSIONS}.version RETURNING *"
        )
        record = cls.read(cursor)
        if record.target in (None, target):
            return record
        left, columns = sql_text(f"{identity}{LEFT}{record.target}"), ", ".join(["version", *RECORD])
        cursor.execute(f"DELETE FROM {VERSIONS} WHERE id = {left}")
        cursor.execute(
            f"INSERT INTO {VERSIONS} (id, {columns}) SELECT {left}, {columns} FROM {VERSIONS} WHERE id = {own}"
        )
        return cls()

    def write(self, cursor: Cursor, identity: str) -> None:
        """Replaces the record of an output, which is locked."""
        values = ", ".join(f"{name} = {value}" for name, value in self._values().items())
        cursor.execute(f"UPDATE {VERSIONS} SET {values} WHERE id = {sql_text(identity)}")

    def _values(self) -> dict[str, str]:
        """The columns in SQL."""
        assert self.held is not None
        texts = {"digest": self.held.digest, "key_columns": json.dumps(self.held.key), "target": self.target}
        numbers = {"version": self.held.version, "row_count": self.rows, "unfit": self.unfit}
        return {each: sql_text(str(text)) for each, text in texts.items()} | {
            n: str(each) for n, each in numbers.items()
        }


def sql_text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
