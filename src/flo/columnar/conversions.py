"""Between tables and Python values: where an operator without a columnar form stands beside one that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import pyarrow as pa

from flo.columnar.operator import columnar, plain
from flo.columnar.rows import Rows, layout_of, rows_of
from flo.columnar.streams import Streams
from flo.core.derivation import StreamTypes
from flo.core.errors import ElementError, brief
from flo.core.operator import Operator, Step, Values
from flo.core.stream_type import StreamType
from flo.values.element_value import ElementCollection


@final
@dataclass(frozen=True)
class ToColumns(Operator):
    """Values as tables."""

    of: ElementCollection[Any] | None = field(default=None, compare=False)

    name = "to_columns"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        found = columnar(inputs[0])
        assert found is not None, f"{inputs[0]} has no columns"
        return (found,)

    def typed(self, inputs: StreamTypes) -> Self:
        of = inputs[0].collection
        assert isinstance(of, ElementCollection)
        return replace(self, of=of)

    def with_origins(self, like: Self) -> Self:
        return like

    def steps(self, inputs: Values) -> Iterator[Step]:
        rest, sent = inputs[0].take()
        if inputs[0].size():
            assert self.of is not None
            yield Step("to-columns", (rest,), self, (written(self.of, sent),))


def shown_columns(of: ElementCollection[Any]) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in layout_of(of).schema)


def written(of: ElementCollection[Any], value: Any) -> Rows:
    """The rows of a value; an element that fits no column is named."""
    try:
        return rows_of(of, value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
        for element in value.elements_list():
            try:
                rows_of(of, of.value_class.of([element] if hasattr(value, "elements") else [(element, 1)]))
            except Exception as fault:
                raise ElementError(
                    f"an element of {{input}} does not fit its columns: {fault}",
                    facts=(
                        ("given", brief(element)),
                        ("columns", shown_columns(of)),
                    ),
                ) from error
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
            assert isinstance(sent, (Rows, Streams))
            yield Step("to-values", (rest,), self, (sent.value(),))
