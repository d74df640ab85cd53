"""`per_key` on tables: the body runs for all keys at once, every operator with the key's columns added to its own.

`per_key` of a graph is the graph of `per_key` of its operators, so the body stands in the program as it is, on keyed
streams. Before it, `KeysTables` says which keys are new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import taken
from flo.core.errors import Origin
from flo.core.graph import Graph, Node, Parallel, Sequential, nodes, sequence
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Wire
from flo.tables.keyed import ENDED, KeyedRows, has_key_columns, key_names, key_schema, noticed
from flo.tables.operator import Grouping, OnTables, Op, columnar, given, plain
from flo.tables.operators.keyed import OnKeyed, keyed_delta
from flo.tables.operators.per_key_inputs import KeysTables
from flo.tables.operators.weights import NOTHING, totals, weights_in, weights_of
from flo.tables.state.trace import Trace, weighing
from flo.tables.streams import keyed_form
from flo.tables.translate import FORMS, converting, form_of
from flo.values.keyed import Keyed
from flo.values.operators.keyed_streams import inner_types
from flo.values.operators.per_key import PerKey
from flo.values.weighted import ZSet

Make: TypeAlias = Callable[[Any, StreamTypes], Operator | None]
EVERY_KEY: dict[type[Operator], Make] = {}
"""What makes the form of an operator that runs for every key, where it has one of its own."""


def every_key(*kinds: type[Operator]) -> Callable[[Make], Make]:
    """Registers the form for every key of these operators."""

    def registered(make: Make) -> Make:
        EVERY_KEY.update(dict.fromkeys(kinds, make))
        return make

    return registered


@dataclass(frozen=True)
class OfEveryKey(OnKeyed[Op]):
    """An operator of the body, for all keys: `like` is what runs for each."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        found = tuple(keyed_form(Keyed(key_of(inputs), out.collection)) for out in self.like.type(inner(inputs)))
        assert None not in found, f"`{self.like.name}` gives elements without columns"
        bounded = (out.bounded for out in self.like.type(inner(inputs)))
        return tuple(map(StreamType, found, bounded))  # type: ignore[arg-type]

    def typed(self, inputs: StreamTypes) -> Self:
        return replace(
            self,
            like=self.like.typed(inner(inputs)),
            inputs=tuple(plain(stream).collection for stream in inputs),
            outputs=tuple(plain(stream).collection for stream in self.type(inputs)),
            keys=key_names(plain(inputs[0]).collection),
        )


def key_of(inputs: StreamTypes) -> Any:
    """The type of the keys."""
    return plain(inputs[0]).collection.key  # type: ignore[attr-defined]


def inner(inputs: StreamTypes) -> StreamTypes:
    """The types under each key."""
    return tuple(StreamType(plain(stream).collection.inner, stream.bounded) for stream in inputs)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class WithForm(OfEveryKey[Op]):
    """Goes by the form that the operator has without keys."""

    form: Any

    def typed(self, inputs: StreamTypes) -> Self:
        typed = super().typed(inputs)
        tables: Any = tuple(map(given, inner(inputs)))
        return replace(typed, form=replace(self.form.typed(tables), keys=typed.keys))

    def with_origins(self, like: Self) -> Self:
        return replace(super().with_origins(like), form=self.form.with_origins(like.form))


@final
@dataclass(frozen=True)
class FormOfEveryKey(WithForm[Operator]):
    """A form that heeds the columns of the key. A stream ends when its inputs have: `ends` counts them by key."""

    ends: Trace = field(default=NOTHING)

    name = "form_of_every_key"

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        form, found = self.form, (None,) * len(self.outputs)
        if any(value.table.num_rows for value in values):
            form, found = self.form.consume(*(value.table for value in values))
        after, keys = self._said(values)
        outputs = [
            keyed_delta(of, None if rows is None else rows.table, keys)
            for of, rows in zip(self.outputs, found, strict=True)
        ]
        return replace(after, form=form), tuple(outputs)

    def side_ended(self, place: int) -> Self | None:
        form = self.form.side_ended(place)
        return None if form is None else replace(self, form=form)

    def _said(self, values: tuple[KeyedRows, ...]) -> tuple[Self, pa.Table]:
        """What passes on of the keys: all inputs say which are there, so one is enough."""
        first, *others = values
        if not others:
            return self, first.keys
        new = first.keys.filter(pc.invert(first.keys[ENDED]))
        gone = pa.concat_tables([value.keys.filter(value.keys[ENDED]).select(list(self.keys)) for value in values])
        if not gone.num_rows:
            return self, new
        delta = totals(weighing(gone, np.ones(gone.num_rows, np.int64)), self.keys)
        done = np.flatnonzero(weights_in(self.ends, delta) + weights_of(delta) == len(values))
        ended = noticed(taken(delta.table.select(list(self.keys)), done), ended=True)
        return replace(self, ends=self.ends.extended(delta)), pa.concat_tables([new, ended])


@form_of(PerKey)
def per_key(like: PerKey, inputs: StreamTypes) -> Graph | None:
    """Where operators of the body have forms for every key. The others run on values, in a `per_key` of their own."""
    if not all(has_key_columns(stream.collection) for stream in inputs):
        return None
    schemas = {str(key_schema(stream.collection)) for stream in inputs}
    types = inner_types(like, inputs)
    if len(schemas) > 1 or len({stream.bounded for stream in types}) > 1:
        return None
    tables: Any = tuple(map(columnar, inputs))
    found = for_every_key(like.graph, tables, isinstance(types[0].collection, ZSet))  # type: ignore[arg-type]
    if found is None:
        return None
    inside = [node.operator for node in nodes(found[0])]
    helps = any(isinstance(each, OfEveryKey) for each in inside) or not any(isinstance(each, PerKey) for each in inside)
    return sequence(Node(None, KeysTables(like)), found[0]) if helps else None


def for_every_key(graph: Graph, inputs: StreamTypes, weighted: bool) -> tuple[Graph, StreamTypes] | None:
    """The graph that does for all keys what this one does for one, and what it gives; None if there is none."""
    match graph:
        case Sequential(left, right):
            first = for_every_key(left, inputs, weighted)
            second = first and for_every_key(right, first[1], weighted)
            return (Sequential(first[0], second[0]), second[1]) if first and second else None
        case Parallel(left, right):
            count = left.arity[0]
            first = for_every_key(left, inputs[:count], weighted)
            second = for_every_key(right, inputs[count:], weighted)
            return (Parallel(first[0], second[0]), first[1] + second[1]) if first and second else None
        case Node(_, Wire() as wire, origin):
            return Node(None, wire, origin), wire.type(inputs)
        case Node(_, operator, origin):
            return _one(operator, inputs, weighted, origin) if inputs else None


def _one(
    operator: Operator, inputs: StreamTypes, weighted: bool, origin: Origin | None
) -> tuple[Graph, StreamTypes] | None:
    """The same of one operator.

    Keys of z-sets are there as long as the body remembers anything of them, which only streams of z-sets need not ask.
    """
    outputs = operator.judge(inner(inputs)).outputs
    if weighted and not all(isinstance(output.collection, ZSet) for output in outputs):
        return None
    wanted = tuple(map(columnar, inputs))
    have_forms = None not in wanted and all(keyed_form(Keyed(key_of(inputs), out.collection)) for out in outputs)
    form = _form(operator, inner(inputs)) if have_forms else None
    if form is None:
        form, wanted = PerKey(Node(None, operator, origin)), tuple(map(plain, inputs))
    given = form.judge(wanted).outputs  # type: ignore[arg-type]
    if any(one.bounded != other.bounded for one, other in zip(given, outputs, strict=True)):
        return None
    conversion, node = converting(inputs, wanted), Node(None, form, origin)  # type: ignore[arg-type]
    return (node if conversion is None else sequence(conversion, node)), given


def _form(operator: Operator, inputs: StreamTypes) -> Operator | None:
    if type(operator) in EVERY_KEY:
        return EVERY_KEY[type(operator)](operator, inputs)
    make = FORMS.get(type(operator))
    form = make and make(operator, inputs)
    any_streams = isinstance(form, OnTables) and form.grouping is Grouping.ANY
    return FormOfEveryKey(operator, form) if any_streams else None
