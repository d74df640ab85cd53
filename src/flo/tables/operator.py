"""Operators on tables. Each stands for an operator on values, and has its type, its parameters and its rule names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

import pyarrow as pa

from flo.columns.indices import Numbers
from flo.columns.layout import Layout
from flo.core.collection import Collection, End, Form
from flo.core.nested import Nested
from flo.core.operator import Delta, Deltas, Operator, Step, Values
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.faults import consume_rows, rows_in, show_row
from flo.tables.functions import runs_on_columns
from flo.tables.groups import ONE
from flo.tables.keyed import KeyedColumns, has_key_columns
from flo.tables.state.consolidation import net_changes
from flo.tables.state.keys import keys_of
from flo.tables.state.run import Run
from flo.tables.streams import StreamColumns, has_columns
from flo.tables.values import Columns, Rows, layout_of, of_elements, plain_zeros
from flo.values.element_value import ElementCollection
from flo.values.lvar import LVar
from flo.values.operators.shapes import SIDES, pass_end
from flo.values.weighted import ZSet


def to_table_type(stream: StreamType) -> StreamType | None:
    """The type of the same stream as tables; None if its elements have no columns."""
    of = stream.collection
    if isinstance(of, Form):
        return stream
    if isinstance(of, ElementCollection) and Layout.of(of.element) is not None:
        return StreamType(Columns(of), stream.bounded)
    if has_key_columns(of):
        return StreamType(KeyedColumns(of), stream.bounded)
    return None


def to_value_type(stream: StreamType) -> StreamType:
    """The type of the same stream as values."""
    of = stream.collection
    if isinstance(of, Nested):
        return StreamType(Nested(*map(to_value_type, of.inner)), stream.bounded)
    return StreamType(of.base, stream.bounded) if isinstance(of, Form) else stream


def to_table_types(stream: StreamType) -> StreamType:
    """The type of the same stream with tables where there can be; in a nested one, for each inner stream."""
    stream = to_value_type(stream)
    if isinstance(stream.collection, Nested):
        return StreamType(Nested(*map(to_table_types, stream.collection.inner)), stream.bounded)
    return to_table_type(stream) or stream


def to_output_type(stream: StreamType) -> StreamType | None:
    """The type that an operator on tables gives a stream: its inner streams are complete, an LVar stays one value."""
    of = stream.collection
    if isinstance(of, LVar):
        return stream
    return StreamType(StreamColumns(of), stream.bounded) if has_columns(of) else to_table_type(stream)


T = TypeVar("T")


def register_in(registry: dict[Any, T], *kinds: Any) -> Callable[[T], T]:
    """Returns a decorator that enters a function or a class into a registry, under these kinds."""

    def register(entry: T) -> T:
        registry.update(dict.fromkeys(kinds, entry))
        return entry

    return register


def add_deltas(one: Any, other: Any) -> Delta:
    """Concatenates two deltas: rows, whose columns may have another order, or whole streams."""
    if one is None or other is None:
        return other if one is None else one  # type: ignore[no-any-return]
    if isinstance(one, Rows):
        other = replace(other, table=other.table.select(one.table.column_names))
    return one.concat(other)  # type: ignore[no-any-return]


def functions_in(holder: Any) -> Iterator[Any]:
    """The user's functions in an operator."""
    for part in (getattr(holder, each.name) for each in fields(holder)):
        if callable(part) and not isinstance(part, type):
            yield part


class Placement(Enum):
    """Where the rows of an operator must be, when they are spread over several places."""

    ANYWHERE = "anywhere"
    """Row by row: wherever they are."""
    BY_KEY = "by key"
    """Rows with equal keys in one place."""
    BY_WINDOW = "by window"
    """Rows of a window in one place, and the clock in all of them."""
    ONE_PLACE = "in one place"


class Grouping(Enum):
    """Which streams an operator can run on at once, distinguished by key columns (`OnTables.keys`)."""

    NONE = "one stream"
    """It does not look at key columns."""
    WHOLE = "whole streams"
    """Streams that end together, such as the inner streams of `nest`."""
    ANY = "any streams"
    """Streams that end one by one too, such as those of the keys of `per_key`."""


class Cut(Enum):
    """How a part of an operator's state is divided when the number of shards changes."""

    BY_KEY = "by key"
    """Sorted by the key that `placement` goes by."""
    BY_GROUP = "by group"
    """Sorted by the group and a value of it; the group is the key."""
    BY_ROW = "by row"
    """Sorted by row: the rows of another part, which is sorted by key."""
    BY_STREAM = "by stream"
    """All rows in the state have the key columns of a keyed stream."""
    BY_WINDOW = "by window"
    NONE = "dropped"
    """Copies of rows that other shards have."""
    SAME = "the same everywhere"
    """Holds no rows."""
    LATEST = "the latest of all"
    """A time that grows, as that of a clock. Shards that have received nothing have none yet."""


_CUT, _ROWS_OF, _HOLDS = "cut", "rows of", "holds"


def kept(nothing: T, cut: Cut, rows_of: str = "", holds: int | None = None) -> T:
    """A part of an operator's state: what it is at first, and how it is cut.

    `rows_of` names the part whose rows it holds in another order; `holds` is the place of the input whose rows it is a
    trace of, all of them, as long as both inputs are open."""
    return field(default=nothing, metadata={_CUT: cut, _ROWS_OF: rows_of, _HOLDS: holds})


@dataclass(frozen=True)
class StatePart:
    """A part of an operator's state, as its class declares it."""

    name: str
    cut: Cut | None
    """None: not declared."""
    rows_of: str = ""
    holds: int | None = None


Op = TypeVar("Op", bound=Operator, covariant=True)


@dataclass(frozen=True)
class OnTables(Operator, Generic[Op]):
    """Consumes all that has arrived in one step, for each of its groups.

    Rows are grouped by the columns `keys`: none in the program itself (all rows are one group), the user's key in
    `per_key`, the number of the inner stream in `nest`. The operator is the same in all three. They differ in the
    runner, and so in when a group ends:

    - in the program: `steps`. The one group is closed at the end of the input.
    - in `per_key`: `FormOfEveryKey`. A key is closed when its stream ends, or at the end of the input.
    - in `nest`, on inner streams that are complete: `run_form`. All of them are closed after their rows.

    The class declares what the operator can do, by the attributes below and by `kept` beside each part of its state.
    Those without a default must be declared: see `undeclared`.
    """

    makes_sound_steps = True

    placement: ClassVar[Placement]
    grouping: ClassVar[Grouping]
    keeps_positions: ClassVar[bool | None] = None
    """Asked only where rows may be anywhere: whether each gives at most one row, in the same order and with the same
    key columns. Then a sequence can be spread over shards, with the position of each row beside it."""
    stream_by_stream: ClassVar[bool] = False
    """Whether it takes the inner streams of a nested stream one by one: then they may be in several places."""
    cut: ClassVar[Cut | None] = None
    """How all of its state is cut, where all parts are cut alike."""
    rows_wait: ClassVar[bool] = False
    """Whether rows wait at an input until another one ends. They are cut by the whole row, which must be the key."""
    spreads_hot_keys: ClassVar[bool] = False
    """Whether it is linear in both inputs: the rows of a key on one side may be in any shard, if all shards have those
    of the other side. It takes rows that are copies with a column `COPY`, and keeps them apart."""
    cancels: ClassVar[bool] = False
    """Whether its results may cancel out though the rows that came do not. Then each delta of a z-set is consolidated
    when it is emitted: unconsolidated deltas would multiply from one join to the next."""

    like: Op
    """The same operator on values, as it stands in the program: it has the type and the parameters."""
    inputs: tuple[Collection, ...] = field(default=(), compare=False, kw_only=True)
    outputs: tuple[Collection, ...] = field(default=(), compare=False, kw_only=True)
    """What it reads and gives: `typed` fills them in."""
    keys: tuple[str, ...] = field(default=(), compare=False, kw_only=True)
    """The key columns: they tell groups apart, and pass to the results. None if all rows are one group."""

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return self.like.arity

    @cached_property
    def rule(self) -> str:
        """The name of the rule that consumes rows: that of the operator on values."""
        return getattr(self.like, "rule", self.like.name)

    @property
    def called(self) -> str:
        return self.like.called

    def type(self, inputs: StreamTypes) -> StreamTypes:
        outputs = self.like.type(tuple(map(to_value_type, inputs)))
        tables = tuple(stream for stream in map(to_output_type, outputs) if stream is not None)
        assert len(tables) == len(outputs), f"`{self.like.name}` gives elements without columns"
        return tables

    def typed(self, inputs: StreamTypes) -> Self:
        outputs = self.type(inputs)
        return replace(
            self,
            like=self.like.typed(tuple(map(to_value_type, inputs))),
            inputs=tuple(to_value_type(stream).collection for stream in inputs),
            outputs=tuple(to_value_type(stream).collection for stream in outputs),
        )

    @classmethod
    def parts(cls) -> tuple[StatePart, ...]:
        """The parts of its state, in their order in an expression, which has `like` before them."""
        return tuple(
            StatePart(
                each.name,
                each.metadata.get(_CUT, cls.cut),
                each.metadata.get(_ROWS_OF, ""),
                each.metadata.get(_HOLDS),
            )
            for each in fields(cls)
            if each.compare and each.name != "like"
        )

    def with_origins(self, like: Self) -> Self:
        """Adds origins, and restores the types, which a stored state does not have."""
        return replace(self, like=like.like, inputs=like.inputs, outputs=like.outputs, keys=like.keys)

    @classmethod
    def fits(cls, like: Any, inputs: StreamTypes) -> bool:
        """Whether it can run this operator on inputs of these types, which are those on values."""
        return True

    def consume(self, *tables: pa.Table) -> tuple[Operator, Deltas]:
        """The operator and its outputs after these rows, which have the columns `keys`: a table for each input.

        The rows that it gives have them too. Of whole streams (`Streams`) that it gives, `owners` has the keys.
        """
        raise NotImplementedError(self.name)

    def close(self, groups: Run) -> tuple[Operator, Deltas]:
        """The operator and its outputs when the streams of these groups have ended: what is due at their end, as a
        count or a batch that is not full.

        `groups` has the columns `keys`, and each group once; without key columns it is `ONE`. Groups without
        any row are included: a count gives 0 for them. The runner closes each group once.
        """
        return self, (None,) * len(self.outputs)

    def has_ended(self, groups: Run) -> Any:
        """Returns which of these groups the operator has ended before their input has, as `take(n)` does."""
        raise NotImplementedError(self.name)

    def consume_all(self, *tables: pa.Table) -> tuple[Operator, Deltas]:
        """The same as `consume` for rows of streams that are complete: no more will come."""
        return self.consume(*tables)

    def with_state(self, **parts: Any) -> Self:
        """The operator with other parts of its state. Cached properties, which follow from its parameters, are kept."""
        after = object.__new__(type(self))
        vars(after).update(vars(self), **parts)
        return after

    def reset(self) -> Self:
        """The operator in its initial state."""
        own = {each.name: each.default for each in fields(self) if each.default is not MISSING and each.compare}
        return replace(self, **own)

    def key_numbers(self, index: int, table: pa.Table) -> Numbers:
        """The numbers of the keys of rows on an input, where the placement is by key: those of its key columns."""
        columns = self.key_columns(index)
        assert columns, f"`{self.name}` computes keys, and says how"
        return keys_of([table[name] for name in columns]).numbers

    def key_columns(self, index: int) -> tuple[str, ...] | None:
        """The columns of an input that are the key, where it is made of nothing else."""
        return None

    @property
    def sums_early(self) -> bool:
        """Whether `sum_early` may be applied to its rows before they are shuffled, in as many parts as there are."""
        return False

    @property
    def reduces_appends(self) -> bool:
        """Whether `sum_early` can leave out rows that its results do not depend on while no row is retracted."""
        return False

    def sum_early(
        self, table: pa.Table, few: Callable[[int, int], bool], *, reduce: bool = False
    ) -> tuple[pa.Table, Numbers]:
        """These rows, or sums of them if there are `few`, and the key number of each. `few` is asked with the number of
        rows, and about how many sums there are. `consume` takes sums, from all parts, as well. `reduce` says that no
        row is ever retracted, and asks to leave out those that the results do not depend on."""
        raise NotImplementedError(self.name)

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """Returns the output columns that are these columns of the first input; None if it does not have them."""
        return None

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        """The operator and its outputs when only ends are left; None if another end must arrive first."""
        if End.OPEN in ends:
            return None
        _, last = self.close(ONE)
        return self.reset(), tuple(
            self.ended(index) if delta is None else delta.fix() for index, delta in enumerate(last)
        )

    def side_ended(self, index: int) -> Self | None:
        """The operator when this input has ended and the other has not, with what it still needs of the other; None if
        the end of one input makes no difference to it."""
        return None

    def at_ends(self, values: Sequence[Any]) -> Iterator[Step]:
        """The steps when only ends are left."""
        done = self.finish(*(value.end for value in values))
        if done is not None:
            yield Step(f"{self.rule}-terminated", tuple(value.passed() for value in values), *done)
            return
        for index, value in enumerate(values):
            after = self.side_ended(index) if value.end is End.ARRIVED else None
            if after is not None:
                nothing = (None,) * len(self.outputs)
                yield Step(f"{self.rule}{SIDES[index]}-ended", pass_end(values, index), after, nothing)

    @property
    def computes(self) -> bool:
        """Whether its results may have values that its inputs do not have."""
        return True

    @cached_property
    def output_layout(self) -> Layout:
        """The columns of the first output."""
        return layout_of(self.outputs[0])

    @property
    def by_row(self) -> bool:
        """Whether it calls Python for every row."""
        return not all(map(runs_on_columns, functions_in(self.like)))

    def emitted(self, table: pa.Table | None, index: int = 0) -> Delta:
        """An output delta; nothing if there are no rows."""
        of = self.outputs[index]
        if table is not None and self.cancels and isinstance(of, ZSet):
            table = net_changes(table)
        if table is None or not table.num_rows:
            return None
        return Rows(of_elements(of), plain_zeros(of, table) if self.computes else table)

    def ended(self, index: int = 0) -> Any:
        """The end of an output."""
        form = to_output_type(StreamType(self.outputs[index], bounded=True))
        assert form is not None
        return form.collection.bottom().fix()

    def steps(self, inputs: Values) -> Iterator[Step]:
        values: Any = inputs
        for value in values:
            if value.has_content():
                yield self.consume_step(values)
                return
        for value in values:
            if value.end is End.ARRIVED:
                yield from self.at_ends(values)
                return

    def advance(self, inputs: Values) -> Iterator[Step]:
        """Runs to the stuck state. It has no step when nothing is left of its inputs."""
        operator: Operator = self
        while (step := next(operator.steps(inputs), None)) is not None:
            yield step
            inputs, operator = step.inputs, step.operator
            for value in inputs:
                if value.size():
                    break
            else:
                return

    def take_in(self, *values: Any) -> tuple[Operator, Deltas]:
        """The operator and its outputs after the content of these values."""
        return self.consume(*[value.table for value in values])

    def consume_step(self, values: tuple[Any, ...]) -> Step:
        """The step that consumes everything. If a function raises on a row, the error shows the row."""
        rule = self.rule  # what follows from parameters is cached here before `with_state` copies it
        operator, outputs = consume_rows(self, values)
        return Step(rule, tuple([value.drained() for value in values]), operator, outputs)

    def unit(self, of: Collection, part: pa.Table) -> str:
        """The row as an error of a user's function shows it."""
        return show_row(rows_in(of), part)


def operators_on_tables() -> dict[str, type[OnTables[Operator]]]:
    """Every class of operators on tables that has been imported, by its name."""
    kinds: dict[str, type[OnTables[Operator]]] = {}
    waiting: list[type[OnTables[Operator]]] = [*OnTables.__subclasses__()]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if "name" in vars(kind):
            kinds[kind.name] = kind
    return kinds


REQUIRED = ("placement", "grouping")


def undeclared(kind: type[OnTables[Operator]]) -> list[str]:
    """The declarations that a class of operators on tables lacks. State in one place is not cut."""
    missing = [name for name in REQUIRED if not hasattr(kind, name)]
    if getattr(kind, "placement", Placement.ANYWHERE) is Placement.ANYWHERE and kind.keeps_positions is None:
        missing.append("keeps_positions")
    if getattr(kind, "placement", None) is Placement.ONE_PLACE:
        return missing
    return missing + [f"how `{part.name}` is cut" for part in kind.parts() if part.cut is None]
