"""Between tables and Python values: where an operator without a columnar form stands beside one that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import pyarrow as pa

from flo.columnar.keyed import KeyedRows, inner_of, keyed_rows_of
from flo.columnar.operator import columnar, in_tables, plain
from flo.columnar.rows import written
from flo.columnar.streams import Streams
from flo.core.collection import Collection
from flo.core.derivation import StreamTypes
from flo.core.forms import FormedValue
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Operator, Step, Values
from flo.core.persistent import Elements
from flo.core.stream_type import StreamType
from flo.values.keyed import Keyed, KeyedValue


@final
@dataclass(frozen=True)
class ToColumns(Operator):
    """Values as tables; in nested streams a table for each inner stream."""

    of: Collection | None = field(default=None, compare=False)

    name = "to_columns"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return (in_tables(inputs[0]),)

    def typed(self, inputs: StreamTypes) -> Self:
        return replace(self, of=plain(inputs[0]).collection)

    def with_origins(self, like: Self) -> Self:
        return like

    def steps(self, inputs: Values) -> Iterator[Step]:
        rest, sent = inputs[0].take()
        if inputs[0].size():
            assert self.of is not None
            yield Step("to-columns", (rest,), self, (tables_of(self.of, sent),))


def tables_of(of: Collection, value: Any) -> Any:
    """The value with tables where there can be."""
    if isinstance(value, Streams):
        return value.one_by_one()
    if isinstance(value, NestedValue):
        assert isinstance(of, Nested)
        inner = [stream.collection for stream in of.inner]
        return _each_inner(value, lambda values: tuple(map(tables_of, inner, values)))
    if isinstance(value, FormedValue) or columnar(StreamType(of, bounded=True)) is None:
        return value
    return written_keyed(of, value) if isinstance(of, Keyed) else written(of, value)  # type: ignore[arg-type]


def values_of(value: Any) -> Any:
    """The value without tables."""
    if isinstance(value, NestedValue):
        return _each_inner(value, lambda values: tuple(map(values_of, values)))
    return value.value() if isinstance(value, FormedValue) else value


def _each_inner(value: NestedValue, turned: Callable[[Values], Values]) -> NestedValue:
    newest = None if value.newest is None else turned(value.newest)
    return replace(value, older=Elements(map(turned, value.older)), newest=newest)


def written_keyed(of: Keyed[Any, Any], value: KeyedValue) -> KeyedRows:
    try:
        return keyed_rows_of(of, value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
        for inner in value.entries.to_dict().values():
            written(inner_of(of), inner)  # names the element
        raise


@final
@dataclass(frozen=True)
class ToValues(Operator):
    """Tables as values."""

    name = "to_values"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return (StreamType(plain(inputs[0]).collection, inputs[0].bounded),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        rest, sent = inputs[0].take()
        if inputs[0].size():
            yield Step("to-values", (rest,), self, (values_of(sent),))
