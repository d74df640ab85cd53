"""`group_by(…).agg(…)`: groups of rows, and several aggregates of each in one operator.

Rows are first projected to the columns of the group and the arguments of the aggregates, each computed once. So the
operator, its state and a shuffle only see what is needed.

The groups of windows, `windows.group_by("user").agg(n=flo.count())`, are final: a window is complete when it closes.
Each comes once, in a bag, which never retracts, and nothing is kept of windows that have closed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from datetime import timedelta
from itertools import combinations, count
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Never, TypeAlias

from flo.api.aggregates import AGGREGATES, AggregateSpec, shown_argument
from flo.api.aligning import retype
from flo.api.arguments import expect_function, expect_zset
from flo.api.columns import TypedValue, bind_columns, expect_known_columns, expect_own_expression
from flo.api.ordering import OrderBy, bind_order
from flo.api.projections import (
    bind_rows,
    columns_of,
    element_of,
    expect_new_name,
    has_columns,
    is_column_function,
    named_columns,
)
from flo.api.scope import AnyBase, AnyStream, B
from flo.api.window_functions import WindowSpec
from flo.core.errors import FloError, HasVerbs, TypeMismatch, UnknownVerbError, brief
from flo.core.explained_calls import explain_methods
from flo.core.nested import Nested
from flo.core.structural import Source
from flo.core.type_names import type_name
from flo.core.untyped import TypeForm
from flo.program.on_time import END, START
from flo.values.event_time import TimeWindow
from flo.values.operators.elementwise import Map
from flo.values.operators.group_by import Aggregated, GroupBy
from flo.values.operators.zsets import Plus
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, ZSet
from flo.verify.functions.rejections import Obligation, expect
from flo.verify.laws import A_FUNCTION

if TYPE_CHECKING:
    from flo.api.stream import Stream
    from flo.columns.aggregate_types import TypedAggregate

GroupingSets: TypeAlias = tuple[tuple[str, ...], ...]
"""The columns of each grouping."""
ARGUMENT = "=="
"""The names of the argument columns begin with this."""
CONDITIONS = ("having", "filter", "where")
SET, PRESENT = "=set", f"{ARGUMENT}present"


@explain_methods
class Grouped(HasVerbs, Generic[B]):
    """Rows in groups, made by `group_by`, `rollup`, `cube` or `grouping_sets`. `agg` computes a row for each group."""

    def __init__(self, stream: AnyBase, keys: dict[str, object], sets: GroupingSets | None, verb: str) -> None:
        self._stream, self._keys, self._sets, self._verb = stream, keys, sets, verb

    def __repr__(self) -> str:
        return f"<{self._verb} {', '.join(self._keys)} of {self._stream!r}>"

    def _unknown(self, verb: str) -> UnknownVerbError:
        kind = "avg" if verb == "mean" else verb
        own = f"agg({verb}=flo.{kind}(…))" if kind in AGGREGATES - {"count"} else "agg(n=flo.count())"
        instead = ("agg(…).filter(…)", "conditions on groups") if verb in CONDITIONS else (own, "aggregates by name")
        return UnknownVerbError(f"`{self._verb}` has no verb `{verb}`", instead=(instead,))

    def agg(self, *unnamed: Never, **aggregates: AggregateSpec) -> Stream[ZSet[Any], B]:
        """Return a row for each group: its columns, and a column for each aggregate."""
        expect_names(unnamed)
        return aggregated(self._stream, self._keys, aggregates, self._sets)


def group_rows(
    stream: AnyBase,
    verb: str,
    columns: tuple[object, ...],
    named: Mapping[str, object],
    sets: Callable[[tuple[str, ...]], GroupingSets] | None = None,
) -> Grouped[Any]:
    """Return the rows in groups. Raises if they are not a z-set or there are no columns."""
    expect_zset(verb, stream)
    keys = named_columns(verb, columns, named, stream)
    for each in keys.values():
        expect_known_here(f"`{verb}`", each, stream)
    if not keys:
        raise TypeMismatch(
            f"`{verb}` must get at least one column", instead=((".agg(…)", "one row for all rows"),)
        ).at_users_line()
    bind_rows(verb, keys, stream)  # raises if they do not fit
    return Grouped(stream, keys, sets(tuple(keys)) if sets else None, verb)


def expect_known_here(subject: str, given: object, stream: AnyBase) -> None:
    """Raise if a column is unknown to the stream; functions and what is no column are judged later."""
    if is_column_function(given):
        return
    if isinstance(given, (tuple, list, Mapping)):
        raise TypeMismatch(
            f"{subject} must get columns one by one; got {brief(given)}",
            instead=(("lambda row: (row.a, row.b)", "several values as one"),),
        ).at_users_line()
    try:
        expect_known_columns(subject, given, columns_of(stream, "agg"))
    except FloError as error:
        raise error.at_users_line(stream) from None


def rollup_sets(keys: tuple[str, ...]) -> GroupingSets:
    """Return all columns, all but the last, and so on."""
    return tuple(keys[:count] for count in range(len(keys), -1, -1))


def cube_sets(keys: tuple[str, ...]) -> GroupingSets:
    """Return all subsets of the columns."""
    return tuple(some for count in range(len(keys), -1, -1) for some in combinations(keys, count))


def expect_sets(sets: Iterable[object]) -> list[tuple[str, ...]]:
    """Return grouping sets as tuples of names."""
    tuples = [tuple(each) if isinstance(each, (list, tuple)) else (each,) for each in sets]
    for name in (name for each in tuples for name in each):
        if not isinstance(name, str):
            raise TypeMismatch(
                f"`grouping_sets` must get lists of column names; got {brief(name)}",
                instead=(('grouping_sets(["a", "b"], ["a"], [])', "each list is one grouping"),),
            ).at_users_line()
    return tuples


def aggregated(
    stream: AnyBase,
    keys: dict[str, object],
    aggregates: Mapping[str, AggregateSpec],
    sets: GroupingSets | None = None,
) -> AnyStream:
    """Return the stream of aggregates by these keys; without keys it is one row, also for no rows."""
    from flo.columns.row_types import row_type

    _expect_aggregates(keys, aggregates)
    _expect_sets_for_id(aggregates, sets)
    plan = _Plan(stream, dict(keys), whole=() in (((),) if not keys else sets or ()))
    specs = {name: plan.add(name, spec) for name, spec in aggregates.items() if spec.kind != "grouping_id"}
    rows = plan.project(sets)
    places = {name: place for place, name in enumerate(plan.columns)}
    fields = {name: plan.kind(name) for name in plan.keys}
    columns = []
    for name, spec in specs.items():
        aggregate = plan.aggregate(name, spec)
        fields[name] = aggregate.kind
        where = spec.where or (PRESENT if plan.whole else None)
        columns.append(
            Aggregated(
                aggregate.aggregator,
                tuple(places[each] for each in spec.arguments),
                None if where is None else places[where],
                aggregates[name].described(),
            )
        )
    result = rows._then_named("agg", GroupBy(len(plan.keys), tuple(columns), row_type(fields)))
    if sets is not None:
        return _without_set(result, keys, aggregates, sets)
    return result


def expect_names(unnamed: tuple[object, ...]) -> None:
    """Raise if aggregates have no names."""
    for given in unnamed:
        expect_own_expression("agg", given, 'agg(total=flo.sum("price"))')
        text = shown_argument(given)
        named = f"agg({given.kind}_1={text})" if isinstance(given, AggregateSpec) else "agg(n=flo.count(), …)"
        if isinstance(given, Mapping):
            parts = (f'{name}_{how}=flo.{how}("{name}")' for name, how in given.items())
            named = f"agg({', '.join(parts)})"
        raise TypeMismatch(
            f"`agg` must get aggregates by name; got {text}", instead=((named, "name=aggregate"),)
        ).at_users_line()


def _expect_aggregates(keys: Mapping[str, object], aggregates: Mapping[str, object]) -> None:
    if not aggregates:
        raise TypeMismatch(
            "`agg` must get at least one aggregate",
            instead=(("agg(n=flo.count())", "name=aggregate"), ("select(…).distinct()", "the groups alone")),
        ).at_users_line()
    for name, spec in aggregates.items():
        if isinstance(spec, WindowSpec):
            raise TypeMismatch(
                f"`{name}` of `agg` must be an aggregate; got the window function {spec!r}",
                instead=((f"over(…).with_columns({name}={spec!r})", "one result beside each row"),),
            ).at_users_line()
        if not isinstance(spec, AggregateSpec):
            raise TypeMismatch(
                f"`{name}` of `agg` must be an aggregate; got {shown_argument(spec)}",
                instead=(
                    (f"{name}=flo.sum({spec!r})" if isinstance(spec, str) else f"{name}=flo.sum(…)", "or another"),
                    (f"{name}=flo.count()", "counts rows"),
                ),
            ).at_users_line()
        if spec.rows is not None or spec.range is not None:
            raise TypeMismatch(
                f"`{name}` of `agg` must not have a frame; got {spec!r}",
                instead=((f"over(…).with_columns({name}=…)", "aggregates over frames"),),
            ).at_users_line()
        if spec.kind in ("first", "last") and spec.order_by is None:
            raise TypeMismatch(
                f"`{name}={spec!r}` of `agg` must say in which order",
                instead=((f"flo.{spec.kind}({shown_argument(spec.arguments[0])}, order_by=…)", "by a column"),),
            ).at_users_line()
        expect_new_name("agg", name, keys)


def _expect_sets_for_id(aggregates: Mapping[str, AggregateSpec], sets: GroupingSets | None) -> None:
    for name, spec in aggregates.items():
        if spec.kind == "grouping_id" and sets is None:
            raise TypeMismatch(
                f"`{name}=flo.grouping_id()` must be in the `agg` of a `rollup`, `cube` or `grouping_sets`",
                instead=(('rollup("a", "b").agg(…)', "has several groupings, which it tells apart"),),
            ).at_users_line()


class _Planned(NamedTuple):
    """An aggregate with its arguments and its condition as names of columns."""

    kind: str
    arguments: tuple[str, ...]
    where: str | None
    options: tuple[Any, ...]


class _Plan:
    """The columns that an aggregation needs: those of the group, the arguments and the conditions, each once."""

    def __init__(self, stream: AnyBase, keys: dict[str, object], whole: bool) -> None:
        self.stream, self.keys, self.whole = stream, keys, whole
        self.columns: dict[str, object] = dict(keys)
        self._names: dict[tuple[object, int], str] = {}
        self._called: dict[str, str] = {}
        self._given: dict[str, AggregateSpec] = {}
        self._labels: dict[str, str] = {}
        self._kinds: dict[str, Any] = {}
        self._directions: dict[str, tuple[bool, ...]] = {}
        self._element = element_of(stream)

    def add(self, name: str, spec: AggregateSpec) -> _Planned:
        """Return the aggregate with its arguments and condition as names of columns."""
        self._given[name], self._labels[name] = spec, f"`{name}={spec!r}` of `agg`"
        for each in (*spec.arguments, *(() if spec.where is None else (spec.where,))):
            expect_known_here(self._labels[name], each, self.stream)
        given = list(spec.arguments)
        if spec.order_by is not None:
            ordered, self._directions[name] = self._ordered(spec.order_by)
            given += ordered
        arguments: list[str] = []
        for each in given:
            arguments.append(self._column(name, each, arguments))
        where = None if spec.where is None else self._column(name, spec.where)
        return _Planned(spec.kind, tuple(arguments), where, spec.options)

    def _ordered(self, order_by: OrderBy) -> tuple[list[Any], tuple[bool, ...]]:
        bound = bind_order("agg", order_by, self.stream)
        given = bound.key.given
        return list(given), bound.directions

    def _column(self, aggregate: str, given: object, taken: Container[str] = ()) -> str:
        """Return the name of the column with this argument. Equal arguments of different aggregates share one; those of
        one aggregate do not, because its state has a column for each: `taken` are the columns that it has already."""
        from flo.columns.expression_text import expression_text

        text = given if is_column_function(given) else expression_text(given)
        for again in count():
            known = text, again
            if known not in self._names:
                free = (f"{ARGUMENT}{number}" for number in count(len(self._names)))
                name = self._names[known] = next(each for each in free if each not in self.columns)
                self.columns[name], self._called[name] = given, aggregate
            if self._names[known] not in taken:
                break
        return self._names[known]

    def project(self, sets: GroupingSets | None) -> AnyStream:
        """Return the stream of rows with these columns."""
        from flo.columns.cell import fields_of

        if self.whole:
            self.columns[PRESENT] = _literal(True) if has_columns(self.stream) else _is_present
        if sets is not None and any(map(is_column_function, self.columns.values())):
            self.stream = self._projected(self.columns)  # functions are called once, whatever the sets
            self.columns = {name: name for name in self.columns}
        rows = self._projected(self.columns) if sets is None else self._expand(sets)
        self._kinds = fields_of(rows.collection.element) or {}
        self.columns = dict.fromkeys(self._kinds)
        return self._with_default(rows, sets) if self.whole else rows

    def _projected(self, given: dict[str, object]) -> AnyStream:
        return self.stream._then_named("agg", Map(bind_rows("agg", given, self.stream, self._called)))

    def _expand(self, sets: GroupingSets) -> AnyStream:
        """Return the rows once for each grouping set, with the other columns of the group null."""
        from flo.columns.building import kept_if, literal

        parts = []
        for number, some in enumerate(sets):
            given = dict(self.columns)
            for key in self.keys:
                given[key] = kept_if(key in some, given[key])  # type: ignore[arg-type]  # functions were called before
            parts.append(self._projected({**{name: given[name] for name in self.keys}, SET: literal(number), **given}))
        self.keys = {**self.keys, SET: None}
        rows = parts[0]
        for part in parts[1:]:
            rows = rows._then_named("agg", Plus(), part)
        return rows

    def _with_default(self, rows: AnyBase, sets: GroupingSets | None) -> AnyStream:
        """Return the rows with one more for each grouping without columns, of which nothing counts: such a grouping has
        a result before any row has come."""
        from flo.columns.row_types import row_type

        nullable = row_type({name: _or_none(kind) for name, kind in self._kinds.items()})
        self._kinds = dict(zip(self._kinds, nullable.__annotations__.values(), strict=True))
        kind: ZSet[Any] = ZSet(nullable)
        absent: dict[str, Any] = dict.fromkeys(self._kinds)
        every = [absent] if sets is None else [{**absent, SET: at} for at, some in enumerate(sets) if not some]
        nothing = kind.value([nullable(*each.values()) for each in every]).fix()
        (default,) = rows.scope.apply(Source(kind, nothing), verb="agg")
        return default._then_named("agg", Plus(), retype(rows, nullable, "agg"))

    def kind(self, column: str) -> Any:
        return self._kinds[column]

    def aggregate(self, name: str, spec: _Planned) -> TypedAggregate:
        """Return the aggregator and the type of its results."""
        from flo.columns.aggregate_types import Kind, TypedAggregate, aggregate_of, or_none

        if spec.where is not None and Kind.of(self._kinds[spec.where]).plain is not bool:
            raise TypeMismatch(
                f"`where` in {self._labels[name]} must be true or false; got {type_name(self._kinds[spec.where])}",
                facts=(("{input}", self.stream.type.described()),),
                instead=(("where=nw.col(…) > …", "a comparison"),),
            ).at_users_line(self.stream)
        kinds = tuple(self._kinds[each] for each in spec.arguments)
        if spec.kind == "linear" and is_column_function(spec.options[0]):
            expect_function("agg", "finish", spec.options[0], TypedValue(Any, "the totals"), columns=False)
        try:
            aggregate = aggregate_of(spec.kind, spec.options, kinds, self._directions.get(name, ()))
        except TypeError as error:
            raise TypeMismatch(
                f"{self._labels[name]} cannot be computed: {error}",
                facts=(("{input}", self.stream.type.described()),),
                instead=_converted(self._given[name], kinds[0] if kinds else None),
            ).at_users_line(self.stream) from None
        if spec.kind == "linear":
            self._expect_functions(self._given[name].arguments)
        always = spec.kind in ("count", "count_distinct", "collect")
        restricted = spec.where is not None or self.whole
        return aggregate if always or not restricted else TypedAggregate(aggregate.aggregator, or_none(aggregate.kind))

    def _expect_functions(self, given: tuple[object, ...]) -> None:
        """Raise if a function of rows gives two results for one row: what it added could not be subtracted."""
        try:
            for each in filter(is_column_function, given):
                expect(Obligation("agg", each, (A_FUNCTION,), (self._element,)))
        except FloError as error:
            raise error.at_users_line(self.stream) from None


def _converted(spec: AggregateSpec, kind: TypeForm) -> tuple[tuple[str, str], ...]:
    """Return how to make a column fit: numbers of texts and durations, and texts of others."""
    from flo.columns.aggregate_types import Kind
    from flo.values.exact import plain_type

    of, plain = spec.arguments[0] if spec.arguments else None, plain_type(Kind.of(kind).plain)
    if not isinstance(of, str):
        return ()
    if spec.kind == "string_agg":
        return ((f'flo.string_agg(nw.col("{of}").cast(nw.String))', "the values as texts"),)
    if plain is str and spec.kind not in ("bool_and", "bool_or"):
        return ((f'flo.{spec.kind}(nw.col("{of}").cast(nw.Float64))', "if the texts are numbers"),)
    if plain is timedelta and spec.kind not in ("bool_and", "bool_or"):
        return ((f'flo.{spec.kind}(nw.col("{of}").dt.total_seconds())', "in seconds"),)
    return ()


def _or_none(kind: TypeForm) -> Any:
    from flo.columns.aggregate_types import or_none

    return or_none(kind)


def _is_present(element: object) -> bool:
    return True


def _literal(value: object) -> Any:
    from flo.columns.building import literal

    return literal(value)


def _without_set(
    result: AnyStream, keys: Mapping[str, object], aggregates: Mapping[str, AggregateSpec], sets: GroupingSets
) -> AnyStream:
    """Return the results without the number of the grouping set, or with the bits of the columns it leaves out."""
    from flo.columns.building import column, if_else, literal

    given: dict[str, object] = {name: name for name in keys}
    for name, spec in aggregates.items():
        given[name] = name
        if spec.kind == "grouping_id":
            identifiers = [
                sum(1 << place for place, key in enumerate(reversed(list(keys))) if key not in some) for some in sets
            ]
            identifier = literal(identifiers[-1])
            for number in range(len(sets) - 2, -1, -1):
                identifier = if_else(column(SET) == number, literal(identifiers[number]), identifier)
            given[name] = identifier
    return result._then_named("agg", Map(bind_columns("agg", "columns", given, (result,))))


@explain_methods
class GroupedWindows(HasVerbs, Generic[B]):
    """The rows of each window in groups, made by `group_by`. `agg` computes a row for each group."""

    def __init__(self, windows: Any, columns: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        self._windows, self._columns, self._named = windows, columns, named

    def _unknown(self, verb: str) -> UnknownVerbError:
        return UnknownVerbError(
            f"`group_by` of windows has no verb `{verb}`", instead=(("agg(n=flo.count())", "aggregates by name"),)
        )

    def agg(self, *unnamed: Never, **aggregates: AggregateSpec) -> Stream[Bag[Any], B]:
        """Return a row for each group of each window, when the window closes: the bounds of the window, if it has
        them, the columns of the group, and a column for each aggregate."""
        return aggregate_windows(
            self._windows, lambda rows: rows.group_by(*self._columns, **self._named).agg(*unnamed, **aggregates)
        )


def are_windows(stream: AnyBase) -> bool:
    """Return whether the inner streams are windows, with their bounds or without."""
    of = stream.collection
    if not isinstance(of, Nested) or not 1 <= len(of.inner) <= 2:
        return False
    first, *others = (inner.collection for inner in of.inner)
    return isinstance(first, (Sequence, Bag)) and all(map(_has_bounds, others))


def _has_bounds(of: object) -> bool:
    element = getattr(of, "element", None)
    return isinstance(of, Sequence) and getattr(element, "__origin__", element) is TimeWindow


def aggregate_windows(windows: AnyStream, aggregate: Callable[[AnyStream], AnyStream]) -> AnyStream:
    """Return the results of `aggregate`, which gets the rows of a window as a z-set, for every window."""

    def without_bounds(rows: AnyStream) -> AnyStream:
        return aggregate(rows.to_zset()).to_bag()

    def with_bounds(rows: AnyStream, bounds: AnyStream) -> AnyStream:
        results = aggregate(rows.to_zset())
        own = getattr(results.collection.element, "_columns", ())
        for name in (START, END):
            expect_new_name("agg", name, dict.fromkeys(own))
        beside = bounds.to_zset().select(**{START: "start", END: "end"})
        return beside.join(results, how="cross").to_bag()

    both = len(windows.collection.inner) == 2
    return windows.nest(with_bounds if both else without_bounds).flatten()
