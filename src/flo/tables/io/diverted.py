"""Rows that an input cannot take: errors that name the input, the file and the row; or diverted rows with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from flo.core.errors import ElementError, FloError, FunctionError, brief
from flo.tables.checkpoint.store import run_of_rows
from flo.tables.state.run import Run

OnError: TypeAlias = Literal["raise", "divert"]
SCHEMA = pa.schema([("row", pa.string()), ("reason", pa.string()), ("file", pa.string()), ("number", pa.int64())])
INSTEAD = (('on_error="divert"', "diverts such rows, with the reason, and continues"),)


@dataclass(frozen=True)
class Diverted:
    """A row that an input cannot take. `number` is its row number, from 1, in its file or in the data of the input."""

    row: Any
    reason: str
    file: str | None = None
    number: int | None = None

    def to_error(self, name: str, of: Any) -> ElementError:
        """The error for a row that does not fit."""
        what = "{input}" if self.number is None else f"row {self.number} of {{input}}"
        if self.number is None and self.file is not None:
            what = "a file of {input}"
        facts = [(label, text) for label, text in (("file", self.file), ("row", _text(self.row, 120))) if text]
        error = ElementError(
            f"{what} does not fit: {self.reason}" if self.number or self.row is not None else f"{what} {self.reason}",
            facts=(*facts, ("{input}", str(of))),
            instead=INSTEAD,
        )
        error.input_name = f"`{name}`"
        return error

    def add_origin(self, error: FloError, name: str) -> FloError:
        """Adds the origin of the row to an error that it has caused in a function."""
        numbered = name if self.number is None else f"{name}, row {self.number}"
        facts = (("row", _text(self.row, 120)), ("input", numbered), ("file", self.file))
        error.facts = (*error.facts, *((label, text) for label, text in facts if text))
        error.instead = error.instead or (INSTEAD if isinstance(error, FunctionError) else ())
        return error


@dataclass
class DivertedRows:
    """The rows that each input has diverted so far, and the number of rows it has taken."""

    rows: dict[str, list[Diverted]] = field(default_factory=dict)
    """Diverted since the last checkpoint."""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    """Diverted before the last checkpoint."""
    taken: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, row: Diverted) -> None:
        self.rows.setdefault(name, []).append(row)

    def add_all(self, other: DivertedRows) -> None:
        """Adds the rows and counts of another, since its last checkpoint."""
        for name, rows in other.rows.items():
            self.rows.setdefault(name, []).extend(rows)
        for name, count in other.taken.items():
            self.count(name, count)

    def count(self, name: str, rows: int) -> None:
        self.taken[name] = self.taken.get(name, 0) + rows

    def take_rows(self) -> dict[str, list[Diverted]]:
        """Returns the rows that were diverted since the last checkpoint, and keeps them no longer."""
        rows, self.rows = self.rows, {}
        return rows

    def table(self, name: str) -> pa.Table:
        return pa.concat_tables([*(run.table for run in self.runs.get(name, ())), _table(self.rows.get(name, []))])

    def to_runs(self) -> dict[str, list[Run]]:
        """Moves all rows into runs, and merges small runs. A checkpoint then writes only new ones."""
        for name, rows in self.rows.items():
            runs, table = self.runs.setdefault(name, []), _table(rows)
            while runs and runs[-1].rows <= 2 * table.num_rows:
                table = pa.concat_tables([runs.pop().table, table])
            runs.append(run_of_rows(table))
        self.rows = {}
        return self.runs

    def summary(self, names: Iterable[str]) -> list[str]:
        """A line for each input that has diverted rows."""
        counts = {name: self.table(name).num_rows for name in names}
        return [f"`{n}`: {c} rows diverted, {self.taken.get(n, 0)} taken" for n, c in counts.items() if c]


def leave_out_known(rows: pa.Table, known: Iterable[pa.Table]) -> pa.Table:
    """The diverted rows that the known ones do not have, each as often as it is there more often."""
    left = Counter(_identify(row) for each in known for row in each.to_pylist())
    is_new: list[bool] = []
    for row in map(_identify, rows.to_pylist()):
        left[row] -= 1
        is_new.append(left[row] < 0)
    return rows.filter(pa.array(is_new, pa.bool_()))


def _identify(row: dict[str, Any]) -> tuple[Any, ...]:
    """What two diverted rows must have in common to be the same. Without a file, the number is that in a push."""
    return row["row"], row["reason"], row["file"], None if row["file"] is None else row["number"]


def _table(rows: list[Diverted]) -> pa.Table:
    columns = (
        [_text(each.row) for each in rows],
        [each.reason for each in rows],
        [each.file for each in rows],
        [each.number for each in rows],
    )
    return pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)


def _text(row: Any, most: int = 2000) -> str | None:
    return row if row is None or isinstance(row, str) else brief(row, most)
