"""Rows of an input as a task takes them: what does not fit, or what a function raises on, is refused or put aside."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.core.collection import Value
from flo.core.errors import ElementError, FloError, OrderError, brief
from flo.core.nested import Nested
from flo.spark.plan.stages import POSITION, Entry
from flo.spark.tasks.kept import file_of, read_part
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import numbers_in, read_sealed, write_sealed
from flo.tables.io.diverted import INSTEAD, SCHEMA, Aside, Diverted
from flo.tables.io.files import Piece
from flo.tables.io.fitting import Unfit, fitted
from flo.tables.streams import Streams, has_columns, inner_of, numbered
from flo.tables.values import Columns, Rows, layout_of, ordered

ASIDE = "diverted"
"""The folder of rows that were put aside, one for each input."""
PARTITION, OFFSET = "partition", "offset"
"""Columns of sources like Kafka."""
T = TypeVar("T")


@dataclass(frozen=True)
class InnerRows:
    """Some rows of the inner stream that a turn is, for an input that is a stream of streams."""

    table: pa.Table

    def size(self) -> int:
        return int(self.table.num_rows)


def one_stream(of: Nested[Any], pieces: list[InnerRows], in_order: Callable[[pa.Table], pa.Table]) -> Value:
    """All rows of a turn as one inner stream, which has ended."""
    table = pa.concat_tables([piece.table for piece in pieces])
    if POSITION in table.column_names:
        table = in_order(table).drop_columns([POSITION])
    return Streams(of, 1, (numbered(table, np.zeros(table.num_rows, np.int64)),)).value()


def rows_in(of: Any) -> Any:
    """The collection that the rows of an input are elements of; None if it takes no rows."""
    if isinstance(of, Nested):
        return inner_of(of)[0] if len(of.inner) == 1 and has_columns(of) else None
    return of.base if isinstance(of, Columns) else None


@dataclass
class Arriving(Generic[T]):
    """Takes rows in; `aside` is the checkpoint where rows are put that cannot be taken, None if they are refused."""

    name: str
    entry: Entry
    run: Callable[[Entry, Any], T]
    """What becomes of rows, which have their positions if they are in order."""
    position: str | None = None
    aside: str | None = None
    taken: int = 0
    files: list[tuple[str, int]] = field(default_factory=list)
    _odd: list[Diverted] = field(default_factory=list)

    @property
    def of(self) -> Any:
        """The collection that rows are elements of; of a stream of streams, that of the inner ones."""
        return rows_in(self.entry.type.collection)

    def take(self, table: pa.Table) -> Iterator[T]:
        """In pieces, if a row must be left out."""
        self.taken += table.num_rows
        self._expect_one_partition(table)
        if self.position and ordered(self.of):
            table = self._placed(table)
        try:
            rows, places, misfits = fitted(Piece(table), self.of)
        except Unfit as error:
            raise Diverted(None, f"does not fit: {error}").refused(self.name, self.of) from None
        for misfit in misfits:
            self._refuse(Diverted(table.slice(misfit.place, 1).to_pylist()[0], misfit.reason))
        if misfits:
            table = table.take(pa.array(places))
        yield from self._halves(rows, table)
        if self._odd:
            self.files.append((_written(str(self.aside), self.name, self._odd), len(self._odd)))
            self._odd = []

    def _expect_one_partition(self, table: pa.Table) -> None:
        """Offsets order the rows of one partition. The column is there if nobody has named another order."""
        if PARTITION in table.column_names and PARTITION not in layout_of(self.of).names:
            number = pc.max(table[PARTITION]).as_py()
            if number:
                raise OrderError(
                    f"the input `{self.name}` is a Sequence, and each partition of its source has its own order",
                    facts=((PARTITION, str(number)),),
                    instead=(
                        ("flo.Bag[…]", "a collection without order"),
                        (f'order={{"{self.name}": "timestamp"}}', "a column that orders the rows of all partitions"),
                    ),
                )

    def _placed(self, table: pa.Table) -> pa.Table:
        """The rows that have a place."""
        nowhere = pc.is_null(table[self.position], nan_is_null=True)
        for row in table.filter(nowhere).to_pylist():
            shown = "null" if row[self.position] is None else row[self.position]
            self._refuse(Diverted(row, f"`{self.position}` is {shown}, and it has to say the place of the row"))
        return table.filter(pc.invert(nowhere))

    def _halves(self, rows: Rows, table: pa.Table) -> Iterator[T]:
        """The rows, without those that a function raises on."""
        placed = rows.table
        if self.position and ordered(self.of):
            placed = placed.append_column(POSITION, table[self.position])
        inner = isinstance(self.entry.type.collection, Nested)
        try:
            yield self.run(self.entry, InnerRows(placed) if inner else replace(rows, table=placed))
        except FloError as error:
            count = table.num_rows
            if self.aside is None:
                raise
            if count == 1:
                reason = error.summary.replace("{input}", f"`{self.name}`")
                self._refuse(Diverted(table.to_pylist()[0], reason))
                return
            half = count // 2
            for start, size in ((0, half), (half, count - half)):
                yield from self._halves(replace(rows, table=rows.table.slice(start, size)), table.slice(start, size))

    def _refuse(self, row: Diverted) -> None:
        if self.aside is None:
            facts = (("row", brief(row.row, 120)),) if row.row is not None else ()
            error = ElementError(f"a row of {{input}} does not fit: {row.reason}", facts=facts, instead=INSTEAD)
            error.input_name = f"`{self.name}`"
            raise error
        self._odd.append(row)

    def said(self) -> dict[str, Any]:
        """What the driver is told."""
        return {"taken": {self.name: self.taken}, "aside": {self.name: self.files}}


def _written(where: str, name: str, rows: list[Diverted]) -> str:
    """A file that is named by its content: a task that comes again writes it again."""
    data = file_of(Aside({name: rows}).table(name))
    file = f"{ASIDE}/{name}/{_sum(data)}.arrow"
    folder(where).write(file, data)
    return file


def _sum(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def inputs(where: str) -> list[str]:
    """Those that have put rows aside."""
    return folder(where).folders(ASIDE)


def remember(where: str, name: str, version: int, files: list[str]) -> None:
    """These rows were put aside in a turn, and not those of an attempt that was broken off."""
    if files:
        write_sealed(folder(where), _manifest(name, version), {"files": files})
    else:
        folder(where).remove(_manifest(name, version))


def forget(where: str, name: str, before: int) -> None:
    """Removes what a sink has taken in turns that cannot come again."""
    turns = _turns(where, name)
    held = {file for version, files in turns.items() if version >= before for file in files}
    for version, files in turns.items():
        if version < before:
            folder(where).remove(_manifest(name, version))
            for file in set(files) - held:
                folder(where).remove(file)


def put_aside(where: str, name: str, newest: int) -> pa.Table:
    """All rows of an input that were put aside up to this version and that no sink has taken."""
    files = [file for version, files in _turns(where, name).items() if version <= newest for file in files]
    return pa.concat_tables([SCHEMA.empty_table(), *(_read(where, file) for file in files)])


def _read(where: str, file: str) -> pa.Table:
    """Rows that were put aside, if they are as they were written."""
    return read_part(where, file, lambda data: file.endswith(f"/{_sum(data)}.arrow"))


def _turns(where: str, name: str) -> dict[int, list[str]]:
    """The files of each turn, in order."""
    mine = folder(where)
    versions = numbers_in(mine, f"{ASIDE}/{name}")
    return {version: read_sealed(mine, _manifest(name, version), files=list)["files"] for version in versions}


def _manifest(name: str, version: int) -> str:
    return f"{ASIDE}/{name}/{version:08}.json"
