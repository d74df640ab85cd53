"""`per_key` on tables: the body runs for all keys at once, every operator with the key's columns added to its own.

The rows of all keys are one table, and its `keys` say which keys are new, and whose streams have ended:

    rows              keys                 body: sum            keys of the output
    key  n            key  ended           key  sum             key  ended
    a    3            a    no              (a is open)          a    no
    b    5            b    no              b    5               b    no
                      b    yes                                  b    yes

Invariant: every key has what the body would give for its rows alone, and a key that was seen exists in every output.

`per_key` of a graph is the graph of `per_key` of its operators, so the body stands in the program as it is, on keyed
streams. Before it, `KeysTables` says which keys are new. An operator of the body becomes `FormOfEveryKey`: its form on
tables, with the columns of the key as its groups. One without such a form runs on values, in a `per_key` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import take_rows
from flo.core.collection import Collection, End
from flo.core.errors import Origin
from flo.core.graph import Graph, Node, nodes, parallel, sequence
from flo.core.nest import Nest
from flo.core.operator import Delta, Deltas, Operator, Step, Values
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.structural import Wire, identity
from flo.tables.faults import cut, expect_row_fault, raise_on_values
from flo.tables.groups import Groups
from flo.tables.keyed import (
    ENDED,
    KeyedRows,
    announce_keys,
    expect_keyed,
    has_key_columns,
    key_layout,
    key_names,
    key_schema,
    keys_in,
)
from flo.tables.operator import (
    Grouping,
    OnTables,
    Op,
    add_deltas,
    register_in,
    to_output_type,
    to_table_type,
    to_value_type,
)
from flo.tables.operators.keyed import OnKeyed, keyed_delta
from flo.tables.operators.lattices import LVars
from flo.tables.operators.weights import NOTHING, new_rows, select_rows, totals, weights_in, weights_of
from flo.tables.state.run import Run, run_of
from flo.tables.state.trace import Trace, with_weights
from flo.tables.streams import KeyedStreamColumns, KeyedStreams, keyed_form
from flo.tables.translate import CHOICES, FORMS, convert_streams, rebuild
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lvar import LVar
from flo.values.operators.keyed_streams import inner_types
from flo.values.operators.nested_streams import Flatten
from flo.values.operators.per_key import PerKey
from flo.values.partitioned import partitioned_as
from flo.values.weighted import ZSet


@final
@dataclass(frozen=True)
class KeysTables(OnKeyed[PerKey]):
    """The inputs of `per_key`, and which keys are new: on all of them, whichever it was that brought the key."""

    seen: Trace = field(default=NOTHING)
    """The keys so far."""
    over: tuple[bool, ...] = ()
    """Which inputs have ended, where not all have."""
    clocks: int = field(default=0, compare=False, kw_only=True)
    """How many inputs of `per_key`, the last ones, are clocks. They pass beside it."""

    name = "keys_tables"
    rule = "per-key"

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        count = self.like.arity[0] - self.clocks
        return count, count

    def typed(self, inputs: StreamTypes) -> Self:
        of = tuple(to_value_type(stream).collection for stream in inputs)
        return replace(self, inputs=of, outputs=of)

    def with_origins(self, like: Self) -> Self:
        kept = {name: getattr(like, name) for name in ("like", "inputs", "outputs", "keys", "clocks")}
        return replace(self, **kept)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return inputs

    @property
    def by_row(self) -> bool:
        return False

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        names = key_names(values[0].of)
        if values[0].of.cancels:  # keys that are there by their rows alone
            return self, tuple(keyed_delta(value.of, value.table, value.keys) for value in values)
        every = pa.concat_tables([table.select(list(names)) for value in values for table in (value.table, value.keys)])
        new = new_rows(self.seen, with_weights(every, np.ones(every.num_rows, np.int64)), names)
        keys = announce_keys(new.table.select(list(names)))
        outputs = []
        for index, value in enumerate(values):
            ended = [announce_keys(keys.select(list(names)), ended=True)] if self._is_over(index) else []
            said = [keys, *ended, value.keys.filter(value.keys[ENDED])]
            outputs.append(keyed_delta(value.of, value.table, pa.concat_tables(said)))
        return replace(self, seen=self.seen.extend(new)), tuple(outputs)

    def _is_over(self, index: int) -> bool:
        return bool(self.over) and self.over[index]

    def steps(self, inputs: Values) -> Iterator[Step]:
        values: Any = inputs
        over = tuple(value.fixed() for value in values)
        if any(value.has_content() for value in values) or all(over):
            if any(value.size() for value in values):
                yield from self._forward(values)
        elif over != (self.over or (False,) * len(over)) and not values[0].of.cancels:
            table = self.seen.table()
            deltas = [
                keyed_delta(value.of, None, announce_keys(table.select(list(key_names(value.of))), ended=True))
                if now and not self._is_over(index) and table is not None
                else None
                for index, (value, now) in enumerate(zip(values, over, strict=True))
            ]
            rests = tuple(value.passed() if value.fixed() else value for value in values)
            yield Step(f"{self.rule}-end", rests, replace(self, over=over), tuple(deltas))

    def _forward(self, values: tuple[KeyedRows, ...]) -> Iterator[Step]:
        """The step that passes rows and announced keys on, or the ends."""
        if any(value.has_content() for value in values):
            yield self.consume_step(values)
        else:
            ends = tuple(self.ended(index) for index in range(len(values)))
            yield Step(f"{self.rule}-terminated", tuple(value.passed() for value in values), self, ends)


@dataclass(frozen=True)
class OfEveryKey(OnKeyed[Op]):
    """An operator of the body, for all keys: `like` is what runs for each."""

    def type(self, inputs: StreamTypes) -> StreamTypes:
        forms = tuple(keyed_form(keyed_as(inputs, out.collection)) for out in self.like.type(inner(inputs)))
        assert None not in forms, f"`{self.like.name}` gives elements without columns"
        bounded = (out.bounded for out in self.like.type(inner(inputs)))
        return tuple(map(StreamType, forms, bounded))  # type: ignore[arg-type]

    def typed(self, inputs: StreamTypes) -> Self:
        return replace(
            self,
            like=self.like.typed(inner(inputs)),
            inputs=tuple(to_value_type(stream).collection for stream in inputs),
            outputs=tuple(to_value_type(stream).collection for stream in self.type(inputs)),
            keys=key_names(to_value_type(inputs[0]).collection),
        )


def keyed_as(inputs: StreamTypes, inner: Collection) -> Keyed[Any, Any]:
    """The keyed collection that a body gives for these inputs, if it gives this collection for each key."""
    return partitioned_as(expect_keyed(to_value_type(inputs[0]).collection), inner)


def inner(inputs: StreamTypes) -> StreamTypes:
    """The types under each key. A clock is the same under all."""
    return tuple(
        stream
        if isinstance(stream.collection, LVar)
        else StreamType(expect_keyed(to_value_type(stream).collection).inner, stream.bounded)
        for stream in inputs
    )


@dataclass(frozen=True)
class WithForm(OfEveryKey[Op]):
    """Runs the form that the operator has without keys."""

    form: Any

    def typed(self, inputs: StreamTypes) -> Self:
        typed = super().typed(inputs)
        tables: Any = tuple(map(to_output_type, inner(inputs)))
        return replace(typed, form=replace(self.form.typed(tables), keys=typed.keys))

    def with_origins(self, like: Self) -> Self:
        return replace(super().with_origins(like), form=self.form.with_origins(like.form))

    @property
    def by_row(self) -> bool:
        return bool(self.form.by_row)


F = TypeVar("F", bound=OnTables[Any])


class Closed(NamedTuple, Generic[F]):
    """The result of closing keys."""

    operator: F
    form: Any
    """The operator of the body."""
    announced: pa.Table
    """The keys that are new, and those that have ended now."""
    last: Deltas
    """The last outputs of the keys that have ended."""


@final
@dataclass(frozen=True)
class FormOfEveryKey(WithForm[Operator]):
    """Runs an operator for all keys at once, with the columns of the key as its groups.

    The stream of a key ends when all of its inputs have.
    """

    ends: Trace = field(default=NOTHING)
    """Where there are several inputs: for each key, how many of its inputs have ended."""
    open: Trace = field(default=NOTHING)
    """Where the operator emits something at the end of a stream: the keys whose streams have not ended."""

    name = "form_of_every_key"

    def take_in(self, *values: Any) -> tuple[Operator, Deltas]:
        form = self.form
        deltas: Deltas = (None,) * len(self.outputs)
        if isinstance(values[0], KeyedStreams):
            if values[0].streams.count:
                deltas = (form.all_of(replace(values[0].streams, owners=values[0].owners)),)
        elif any(value.table.num_rows for value in values):
            form, deltas = self.form.consume(*(value.table for value in values))
        after, said = self, values[0].keys
        if len(values) > 1:
            after, said = self._announce_ended_by_all(values)
        if type(form).has_ended is not OnTables.has_ended:
            said = self._announce_ended_by_itself(form, values[0].table, said)
        if type(form).close is not OnTables.close:
            after, form, said, last = after._close(form, said)
            deltas = tuple(map(add_deltas, deltas, last))
        outputs = [self._delta(index, delta, said) for index, delta in enumerate(deltas)]
        return replace(after, form=form), tuple(outputs)

    def consume_step(self, values: tuple[Any, ...]) -> Step:
        (value, *_) = values
        if not isinstance(value, KeyedStreams):
            return super().consume_step(values)
        try:
            return Step(self.rule, (value.drained(),), *self.take_in(value))
        except Exception as error:
            expect_row_fault(self, error)
            raise_on_values(self.like, value.streams, lambda start, stop: self.take_in(cut(value, start, stop)))
            raise

    def side_ended(self, index: int) -> Self | None:
        form = self.form.side_ended(index)
        return None if form is None else replace(self, form=form)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        if End.OPEN in ends:
            return None
        table = self.open.table()
        outputs = [self.ended(index) for index in range(len(self.outputs))]
        if table is not None and table.num_rows:
            keys = run_of(table.select(list(self.keys)), self.keys)
            _, last = self.form.close(keys)
            deltas = [self._delta(index, delta, announce_keys(keys.table)) for index, delta in enumerate(last)]
            outputs = [delta.fix() for delta in deltas]  # type: ignore[union-attr]
        return replace(self.reset(), form=self.form.reset()), tuple(outputs)

    def _announce_ended_by_all(self, values: tuple[KeyedRows, ...]) -> tuple[Self, pa.Table]:
        """Announces the keys that are new, and those that have ended in all inputs. All inputs announce the same new
        keys, so those of the first are taken."""
        first = values[0].keys
        new = first.filter(pc.invert(first[ENDED]))
        gone = pa.concat_tables([value.keys.filter(value.keys[ENDED]).select(list(self.keys)) for value in values])
        if not gone.num_rows:
            return self, new
        delta = totals(with_weights(gone, np.ones(gone.num_rows, np.int64)), self.keys)
        done = np.flatnonzero(weights_in(self.ends, delta) + weights_of(delta) == len(values))
        ended = announce_keys(take_rows(delta.table.select(list(self.keys)), done), ended=True)
        return replace(self, ends=self.ends.extend(delta)), pa.concat_tables([new, ended])

    def _announce_ended_by_itself(self, form: OnTables[Operator], table: pa.Table, said: pa.Table) -> pa.Table:
        """Announces the keys that the operator itself has ended with these rows, as `take` does. Of ends that arrive,
        those that it has announced before are dropped."""
        known, parts = Groups.of(said.filter(said[ENDED]), self.keys).keys, [said.filter(pc.invert(said[ENDED]))]
        parts.append(announce_keys(select_rows(known, np.flatnonzero(~form.has_ended(known))).table, ended=True))
        if table.num_rows:
            keys = Groups.of(table.select(list(self.keys)), self.keys).keys
            now = form.has_ended(keys) & ~self.form.has_ended(keys)
            parts.append(announce_keys(select_rows(keys, np.flatnonzero(now)).table, ended=True))
        return pa.concat_tables(parts)

    def _close(self, form: OnTables[Operator], said: pa.Table) -> Closed[Self]:
        """Closes the keys that have ended, each once. `said` announces keys."""
        new = said.filter(pc.invert(said[ENDED])).select(list(self.keys))
        opened = self.open.extend(run_of(with_weights(new, np.ones(new.num_rows, np.int64)), self.keys))
        gone = Groups.of(said.filter(said[ENDED]), self.keys).keys
        gone = select_rows(gone, np.flatnonzero(weights_in(opened, gone)))
        if not gone.rows:
            return Closed(replace(self, open=opened), form, announce_keys(new), (None,) * len(self.outputs))
        after, last = form.close(gone)
        left = opened.extend(Run(gone.columns, gone.keys, with_weights(gone.table, -np.ones(gone.rows, np.int64))))
        said = pa.concat_tables([announce_keys(new), announce_keys(gone.table.select(list(self.keys)), ended=True)])
        return Closed(replace(self, open=left), after, said, last)

    def _delta(self, index: int, delta: Any, said: pa.Table) -> Delta:
        return output_of(self.outputs[index], delta, said)


def output_of(of: Any, delta: Any, said: pa.Table) -> Delta:
    """Returns the delta of an output for all keys. `said` announces keys: which are new, and which have ended."""
    if isinstance(of.inner, LVar):
        return _lvars(of, delta, said)
    if has_key_columns(of):
        return keyed_delta(of, None if delta is None else delta.table, said)
    nothing = KeyedStreamColumns(of).bottom()
    if delta is not None:
        owners = delta.owners.cast(nothing.owners.schema)  # keys of a state may be null, as far as it knows
        nothing = replace(nothing, streams=replace(delta, owners=None), owners=owners)
    output = replace(nothing, keys=said)
    return output if output.has_content() else None


def _lvars(of: Keyed[Any, Any], delta: LVars | None, said: pa.Table) -> KeyedValue:
    """LVars by key, which are Python values."""
    layout = key_layout(of)
    entries: dict[Any, Any] = dict.fromkeys(layout.to_elements(keys_in(of, said)), of.inner.bottom())
    if delta is not None:
        entries.update(zip(layout.to_elements(keys_in(of, delta.owners)), delta.values, strict=True))
    for key in layout.to_elements(keys_in(of, said.filter(said[ENDED]))):
        entries[key] = entries[key].fix()
    return KeyedValue.of(entries)


@register_in(FORMS, PerKey)
def per_key(like: PerKey, inputs: StreamTypes) -> Graph | None:
    """Translates a `per_key` whose operators have forms. The other operators run on values, in a `per_key` each."""
    if not all(has_key_columns(stream.collection) for stream in inputs):
        return None
    schemas = {str(key_schema(stream.collection)) for stream in inputs}
    types = inner_types(like, inputs)
    if len(schemas) > 1 or len({stream.bounded for stream in types}) > 1:
        return None
    tables: Any = tuple(map(to_table_type, inputs))
    body = for_every_key(like.graph, tables, isinstance(types[0].collection, ZSet))  # type: ignore[arg-type]
    if body is None:
        return None
    inside = [node.operator for node in nodes(body[0])]
    helps = any(isinstance(each, OfEveryKey) for each in inside) or not any(isinstance(each, PerKey) for each in inside)
    return sequence(Node(None, KeysTables(like)), body[0]) if helps else None


@register_in(CHOICES, PerKey)
def per_key_by_clocks(like: PerKey, inputs: StreamTypes) -> tuple[StreamTypes, Graph] | None:
    """Translates a `per_key` whose body follows clocks, which are its last inputs."""
    clocks = sum(isinstance(stream.collection, LVar) for stream in inputs)
    keyed, last = inputs[: len(inputs) - clocks], inputs[len(inputs) - clocks :]
    tables: Any = (*map(to_table_type, keyed), *last)
    if not clocks or None in tables or any(isinstance(stream.collection, LVar) for stream in keyed):
        return None
    types = tuple(map(to_value_type, inputs))
    is_plain = all(has_key_columns(stream.collection) for stream in types[: len(keyed)])
    if not is_plain or len({str(key_schema(stream.collection)) for stream in types[: len(keyed)]}) > 1:
        return None
    weighted = isinstance(inner_types(like, types)[0].collection, ZSet)
    body = None if weighted else for_every_key(like.graph, tables, weighted)  # type: ignore[arg-type]
    if body is None:
        return None
    before = parallel(Node(None, KeysTables(like, clocks=clocks)), Node(None, identity(clocks)))
    return tables, sequence(before, body[0])


CLOCKED: dict[type[Operator], Callable[[Any, StreamTypes], Operator | None]] = {}
"""For operators that follow a clock: a function that makes the form for all keys, if there is one."""


def for_every_key(graph: Graph, inputs: StreamTypes, weighted: bool) -> tuple[Graph, StreamTypes] | None:
    """The graph that does for all keys what this one does for one, and what it gives; None if there is none."""

    def visit(node: Node, inputs: StreamTypes) -> tuple[Graph, StreamTypes] | None:
        if isinstance(node.operator, Wire):
            return Node(None, node.operator, node.origin), node.operator.type(inputs)
        return _translate_operator(node.operator, inputs, weighted, node.origin) if inputs else None

    return rebuild(graph, inputs, visit)


def _translate_operator(
    operator: Operator, inputs: StreamTypes, weighted: bool, origin: Origin | None
) -> tuple[Graph, StreamTypes] | None:
    """The node that does for all keys what this operator does for one, and its outputs; None if there is none.

    Keys of z-sets exist as long as the body keeps anything of them. A body of z-sets alone need not know which do.
    """
    outputs = operator.judge(inner(inputs)).outputs
    if any(isinstance(stream.collection, LVar) for stream in inputs):
        return _translate_by_clock(operator, inputs, origin)
    if weighted and not all(isinstance(output.collection, ZSet) for output in outputs):
        return None
    wanted = tuple(map(to_table_type, inputs))
    have_forms = None not in wanted and all(keyed_form(keyed_as(inputs, out.collection)) for out in outputs)
    form = _form(operator, inner(inputs)) if have_forms else None
    if form is None and len({isinstance(each.collection, ZSet) for each in inner(inputs)}) > 1:
        return None  # keys of z-sets can disappear, those of others cannot: no `per_key` reads both
    if form is None:
        form, wanted = PerKey(Node(None, operator, origin)), tuple(map(to_value_type, inputs))
    given = form.judge(wanted).outputs  # type: ignore[arg-type]
    if any(one.bounded != other.bounded for one, other in zip(given, outputs, strict=True)):
        return None
    conversion, node = convert_streams(inputs, wanted), Node(None, form, origin)  # type: ignore[arg-type]
    return (node if conversion is None else sequence(conversion, node)), given


def _translate_by_clock(
    operator: Operator, inputs: StreamTypes, origin: Origin | None
) -> tuple[Graph, StreamTypes] | None:
    """The node that does for all keys what an operator that reads a clock does for one. Where that has no form, it runs
    on values, in a `per_key`."""
    wanted: Any = tuple(to_table_type(each) or each for each in inputs)
    form = CLOCKED[type(operator)](operator, inner(inputs)) if type(operator) in CLOCKED else None
    if form is None:
        form, wanted = PerKey(Node(None, operator, origin)), tuple(map(to_value_type, inputs))
    conversion, node = convert_streams(inputs, wanted), Node(None, form, origin)
    return (node if conversion is None else sequence(conversion, node)), form.judge(wanted).outputs


def _form(operator: Operator, inputs: StreamTypes) -> Operator | None:
    """The form for all keys of an operator that groups by key columns; None if it has none."""
    form: Any = None
    if isinstance(operator, (Nest, Flatten)):  # of whole streams
        form = CHOICES[type(operator)](operator, tuple(map(to_output_type, inputs)))  # type: ignore[arg-type]
        form = form and form[1]
    elif type(operator) in FORMS:
        form = FORMS[type(operator)](operator, inputs)
    any_streams = isinstance(form, OnTables) and form.grouping is Grouping.ANY
    return FormOfEveryKey(operator, form) if any_streams else None
