"""Every `how` of `join`: as rows with named columns if both keys are columns, and as pairs otherwise.

A row has the columns of the left row, then those of the right. A column that both are joined on by the same name
occurs once; other columns of the right with a name of the left get a suffix. Null keys match nothing, unless they are
asked to be equal to each other. All of it is composed of the joins, filters and unions of z-sets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

from flo.api.aggregates import shown_argument
from flo.api.aligning import retype
from flo.api.arguments import expect_function, expect_keys, expect_no_argument, expect_optional, expect_zset
from flo.api.columns import Argument, Perhaps, bind_columns, is_expression, row_layout
from flo.api.ordering import one_or_tuple
from flo.api.projections import columns_of, expect_column
from flo.api.scope import AnyBase, AnyStream
from flo.core.errors import FloError, TypeMismatch, brief
from flo.core.operator import Operator
from flo.core.type_names import type_name
from flo.core.type_relations import may_be_equal
from flo.values.operators.bags import BagJoin
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.sets import SetJoin
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join, LeftJoin, RightJoin, SemiJoin
from flo.values.operators.zsets import Distinct, Plus
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.columns.expression import Column, Expression
    from flo.columns.layout import Layout

RIGHT = "_right"
MEANT = {"outer": "full", "full_outer": "full", "fullouter": "full", "left_outer": "left", "leftouter": "left"}
"""Names from other libraries."""
MEANING = {
    "inner": "pairs of rows with equal keys",
    "left": "pairs, and rows of the left without a partner",
    "right": "pairs, and rows of the right without a partner",
    "full": "pairs, and rows of both sides without a partner",
    "semi": "rows of the left with a partner",
    "anti": "rows of the left without a partner",
    "cross": "all pairs",
}
HOW = tuple(MEANING)
MAPPED = (("join(…).map(…)", "other results"),)
OUTER = {"left": LeftJoin, "right": RightJoin, "full": FullJoin}
FILTERING = {"semi": SemiJoin, "anti": AntiJoin}


def expect_how(how: object) -> str:
    """Return the kind of join. Raises if there is none of this name."""
    if how in HOW:
        return str(how)
    plain = str(how).lower().replace("_", "").replace("outer", "").removeprefix("left")
    meant = MEANT.get(str(how).lower()) or next(iter(get_close_matches(plain, HOW, n=1)), None)
    raise TypeMismatch(
        f"`how` of `join` must be one of {', '.join(map(repr, HOW))}; got {brief(how)}",
        instead=((f'how="{meant}"', MEANING[meant]),) if meant else (),
    ).at_users_line()


def is_column_key(on: object) -> bool:
    """Return whether a key is given as columns: a name, an expression, or a list or tuple of these."""
    parts = tuple(on) if isinstance(on, (list, tuple)) else (on,)
    return bool(parts) and all(is_expression(part) and not isinstance(part, (tuple, dict)) for part in parts)


def is_conditional(how: str, where: object) -> bool:
    """Return whether a condition alone says which rows are partners. An inner join of that kind is a cross join."""
    return where is not None and (how in OUTER or how in FILTERING)


def is_column_join(on: object, other_on: object) -> bool:
    """Return whether both keys are given as columns, or the only one is."""
    return is_column_key(on) and (other_on is None or is_column_key(other_on))


def expect_plain_join(how: str, where: object, suffix: str, nulls_equal: bool, left: AnyBase) -> None:
    """Raise if a join of pairs gets an argument that only joins of rows have."""
    if how != "inner":
        expect_zset("join", left)
    for name, given, is_usual in (
        ("where", where, where is None),
        ("suffix", suffix, suffix == RIGHT),
        ("nulls_equal", nulls_equal, nulls_equal is False),
    ):
        if not is_usual:
            raise TypeMismatch(
                f"`join` takes `{name}` only if both keys are columns, and without `into`",
                facts=((name, shown_argument(given)),),
                instead=(
                    (f'join(other, on="id", {name}=…)', "rows with the columns of both"),
                    *([('join(other, how="cross", where=…)', "a condition alone")] if name == "where" else []),
                ),
            ).at_users_line()


def perhaps(left: AnyBase, right: AnyBase, how: str) -> tuple[Argument, Argument]:
    """Return the rows that results are made of: those of a side that may be missing, or of both."""
    return (
        Perhaps(left) if how in ("right", "full") else left,
        Perhaps(right) if how in ("left", "full") else right,
    )


def join_pairs(left: AnyBase, right: AnyBase, on: object, other_on: object, into: object, how: str) -> AnyStream:
    """Return the join of two streams by any keys, as pairs, or as what `into` makes of them."""
    if other_on is None and is_column_key(on):
        other_on = on
    on, other_on = (one_or_tuple(key) if isinstance(key, list) else key for key in (on, other_on))
    on, other_on = expect_keys("join", on, other_on, left, right)
    if on is None and how != "inner":
        raise _no_keys(how)
    if how in FILTERING:
        expect_no_argument("join", "into", into, f'with how="{how}" the results are rows of this stream', MAPPED)
        return left._then_named("join", FILTERING[how](on, other_on), right)
    into = expect_optional("join", "into", into, *perhaps(left, right, how))
    operators = {Bag: BagJoin, Set: SetJoin, ZSet: OUTER.get(how, Join)}
    return left._then_named("join", operators[type(left.collection)](on, other_on, into), right)


def combined_names(
    verb: str, left: tuple[str, ...], right: tuple[str, ...], shared: Collection[str], suffix: str
) -> dict[str, tuple[int, str]]:
    """For each column of two rows side by side, its side and its name there. Raises if two have the same name.

    Columns that are shared occur once; others of the right with a name of the left get the suffix."""
    columns = {name: (0, name) for name in left}
    for name in right:
        called = f"{name}{suffix}" if name in left else name
        if name in shared:
            continue
        if called in columns:
            raise TypeMismatch(
                f"`{verb}` makes two columns `{called}`",
                facts=(("left", ", ".join(left)), ("right", ", ".join(right)), ("suffix", brief(suffix))),
                instead=((f'{verb}(…, suffix="{suffix}2")', "another suffix"), ("rename(…)", "before it")),
            ).at_users_line()
        columns[called] = (1, name)
    return columns


@dataclass(frozen=True)
class JoinSides:
    """Two streams of rows, their keys, and the names of the columns of the results."""

    left: AnyBase
    right: AnyBase
    on: tuple[Any, ...]
    other_on: tuple[Any, ...]
    suffix: str
    verb: str = "join"

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that both sides are joined on by the same name."""
        pairs = zip(self.on, self.other_on, strict=True)
        return tuple(one for one, other in pairs if isinstance(one, str) and one == other)

    def names(self) -> dict[str, tuple[int, str]]:
        """For each column of the result, its side and its name there. Raises if two have the same name."""
        left, right = columns_of(self.left, self.verb), columns_of(self.right, self.verb)
        return combined_names(self.verb, left, right, self.shared, self.suffix)

    def keys(self, *, apart: bool = False) -> tuple[Expression, Expression]:
        """Return the keys of both sides as expressions; with `apart`, such that no nulls are equal."""
        keys = []
        for side, (stream, on) in enumerate(((self.left, self.on), (self.right, self.other_on))):
            given = (*on, _null_side(on, side + 1)) if apart else on
            given = given if len(given) > 1 else given[0]
            keys.append(bind_columns(self.verb, "other_on" if side else "on", given, (stream,)))
        return keys[0], keys[1]

    def may_be_null(self) -> bool:
        """Return whether the keys of both sides may be null."""
        return all(any(field.nullable for field in key.schema) for key in self.keys())

    def into(self, how: str) -> Expression:
        """Return what makes a result of two rows, one of which may be missing."""
        from flo.columns.building import coalesced
        from flo.columns.expression import names_of

        called, rows = names_of(self._layouts()), perhaps(self.left, self.right, how)
        given: dict[str, Column] = {name: called[side][column] for name, (side, column) in self.names().items()}
        for name in self.shared if how in ("right", "full") else ():
            given[name] = coalesced(called[0][name], called[1][name])
            try:
                bind_columns(self.verb, "columns", given[name], rows)
            except FloError:
                raise self._of_two_types(name, how) from None
        return bind_columns(self.verb, "columns", given, rows)

    def _layouts(self) -> tuple[Layout, Layout]:
        return row_layout(self.verb, "columns", self.left), row_layout(self.verb, "columns", self.right)

    def _of_two_types(self, name: str, how: str) -> TypeMismatch:
        kinds = [type_name(layout.cells[layout.names.index(name)].kind) for layout in self._layouts()]
        return TypeMismatch(
            f'`{self.verb}` with how="{how}" makes one column `{name}` of both keys, which are {" and ".join(kinds)}',
            instead=(
                (f"nw.col({name!r}).cast(…)", "converts one of them, before the join"),
                (f"rename({name}=…)", "before the join, for a column of each side"),
            ),
        ).at_users_line()


def _null_side(on: tuple[Any, ...], side: int) -> Column:
    """Return a column that is 0 if no key is null, and else the number of the side."""
    from flo.columns.building import all_there, if_else, literal

    return if_else(~all_there(on), literal(side), literal(0))


def join_rows(
    left: AnyBase, right: AnyBase, on: object, other_on: object, how: str, where: object, suffix: str, nulls_equal: bool
) -> AnyStream:
    """Return the join of two streams of rows, as rows."""
    _expect_arguments(on, how, where, suffix, left)
    no_keys = on is None
    if no_keys:
        from flo.columns.building import literal

        on = other_on = (literal(0),)
    sides = sides_of("join", left, right, on, other_on, suffix)
    apart = not nulls_equal and not no_keys and sides.may_be_null()
    if how in OUTER:
        return _outer(sides, how, where, apart)
    if how in FILTERING:
        return _matching(sides, how, where, apart)
    return _inner(sides, where, apart)


def sides_of(verb: str, left: AnyBase, right: AnyBase, on: object, other_on: object, suffix: str) -> JoinSides:
    """Return two streams of rows with their keys. Raises unless the keys can be equal."""
    sides = JoinSides(left, right, _keys(on), _keys(on if other_on is None else other_on), suffix, verb)
    if len(sides.on) != len(sides.other_on):
        raise TypeMismatch(
            f"`{verb}` must get as many keys for both sides; got {len(sides.on)} and {len(sides.other_on)}"
        ).at_users_line()
    for stream, keys in ((left, sides.on), (right, sides.other_on)):
        for key in keys:
            if isinstance(key, str):
                expect_column(stream, verb, key, columns_of(stream, verb))
            _expect_no_condition(key)
    expect_comparable(verb, left, right, *sides.keys(), "on=…, other_on=…")
    return sides


def _expect_no_condition(key: Column) -> None:
    """Raise if a key is a comparison: rows would be joined by whether it holds."""
    from flo.columns.building import is_condition
    from flo.columns.readable import readable

    if is_condition(key):
        raise TypeMismatch(
            f"`on` of `join` must be the columns that are equal; got the condition {readable(key)}",
            instead=(
                ('join(other, on="id")', "rows with equal keys"),
                ("join(other, on=…, where=…)", "and a condition on the columns of both"),
                ('join(other, how="cross", where=…)', "a condition alone; or with left, right, full, semi or anti"),
            ),
        ).at_users_line()


def expect_comparable(
    verb: str, left: AnyBase, right: AnyBase, on: Expression, other_on: Expression, parameters: str
) -> None:
    """Raise if two columns of the keys of both sides have types whose values are never equal."""
    from flo.columns.aggregate_types import Kind
    from flo.columns.cell import cell_of
    from flo.columns.readable import readable
    from flo.columns.strict import are_other_times

    for pair in zip(_columns_of_key(on), _columns_of_key(other_on), strict=True):
        kinds = Kind.of(pair[0][1]).plain, Kind.of(pair[1][1]).plain
        cells = [cell.arrow for cell in map(cell_of, kinds) if cell is not None]
        apart = len(cells) == 2 and are_other_times(*cells)
        if type(None) not in kinds and (apart or not may_be_equal(*kinds)):
            labels = [f"`{readable(key)}`, {type_name(kind)}" for key, kind in pair]
            raise TypeMismatch(
                f"`{verb}` compares keys that are never equal: {labels[0]}, and {labels[1]}",
                facts=(
                    ("left", ", ".join(columns_of(left, verb))),
                    ("right", ", ".join(columns_of(right, verb))),
                ),
                instead=(
                    (parameters, "two columns of one type"),
                    ("nw.col(…).cast(…)", "converts one of them"),
                ),
            ).at_users_line()


def _columns_of_key(key: Expression) -> tuple[tuple[Any, Any], ...]:
    """Return the columns of a key, with their types."""
    if not isinstance(key.given, tuple):
        return ((key.given, key.kind),)
    return tuple(zip(key.given, get_args(key.kind), strict=True))


def _no_keys(how: str) -> TypeMismatch:
    return TypeMismatch(
        "`join` must get the columns to join `on`",
        instead=((f'join(other, on="id", how="{how}")', MEANING[how]), ('join(other, how="cross")', MEANING["cross"])),
    ).at_users_line()


def _expect_arguments(on: object, how: str, where: object, suffix: object, left: AnyBase) -> None:
    if how == "cross" and on is not None:
        raise TypeMismatch(
            "`join` with how='cross' pairs all rows, and takes no `on`",
            instead=(("join(other, on=…)", "rows with equal keys"), ("join(…, how='cross', where=…)", "a condition")),
        ).at_users_line()
    if on is None and not (how == "cross" or is_conditional(how, where)):
        raise _no_keys(how)
    if not isinstance(suffix, str) or not suffix:
        raise TypeMismatch(f"`suffix` of `join` must be a non-empty string; got {brief(suffix)}").at_users_line()
    if how != "inner":
        expect_zset("join", left)


def _keys(on: object) -> tuple[object, ...]:
    return tuple(on) if isinstance(on, (list, tuple)) else (on,)


def without_null_keys(stream: AnyBase, on: tuple[Any, ...], drop: bool) -> AnyBase:
    if not drop:
        return stream
    from flo.columns.building import all_there

    return stream._then_named("join", Filter(bind_columns("join", "on", all_there(on), (stream,), bool)))


def _inner(sides: JoinSides, where: object, apart: bool) -> AnyStream:
    on, other_on = sides.keys()
    left = without_null_keys(sides.left, sides.on, apart)
    kinds = {Bag: BagJoin, Set: SetJoin, ZSet: Join}
    operator = kinds[type(left.collection)](on, other_on, sides.into("inner"))
    return _restricted(left._then_named("join", operator, sides.right), where)


def _restricted(pairs: AnyStream, where: object) -> AnyStream:
    """Return the results for which the condition holds."""
    if where is None:
        return pairs
    return pairs._then_named("join", Filter(expect_function("join", "where", where, pairs, gives=bool)))


def _outer(sides: JoinSides, how: str, where: object, apart: bool) -> AnyStream:
    into = sides.into(how)
    if where is None:
        both = apart and how == "full"  # null keys of both sides stay, so they must differ
        left = without_null_keys(sides.left, sides.on, apart and how == "right")
        right = without_null_keys(sides.right, sides.other_on, apart and how == "left")
        return left._then_named("join", OUTER[how](*sides.keys(apart=both), into), right)
    pairs = rows = _inner(sides, where, apart)
    for side, stream in enumerate((sides.left, sides.right)):
        if OUTER[how].alone[side]:
            rows = _with_missing(rows, _matched(stream, pairs, sides, side, AntiJoin), sides, side, into.kind)
    return rows


def _matching(sides: JoinSides, how: str, where: object, apart: bool) -> AnyStream:
    if where is None:
        right = without_null_keys(sides.right, sides.other_on, apart)
        return sides.left._then_named("join", FILTERING[how](*sides.keys()), right)
    return _matched(sides.left, _inner(sides, where, apart), sides, 0, FILTERING[how])


def _matched(
    stream: AnyBase, pairs: AnyBase, sides: JoinSides, side: int, kind: Callable[[Expression, Expression], Operator]
) -> AnyStream:
    """Return the rows of one side that are, or are not, in a pair. Equal rows have the same fate."""
    called = {column: name for name, (which, column) in sides.names().items() if which == side}
    called = {**{name: name for name in sides.shared}, **called}
    own = columns_of(stream, "join")
    rows = pairs._then_named(
        "join", Map(bind_columns("join", "columns", {name: called[name] for name in own}, (pairs,)))
    )
    present = rows._then_named("join", Distinct())
    keys = [bind_columns("join", "on", own if len(own) > 1 else own[0], (each,)) for each in (stream, present)]
    return stream._then_named("join", kind(keys[0], keys[1]), present)


def _with_missing(pairs: AnyBase, alone: AnyBase, sides: JoinSides, side: int, row: object) -> AnyStream:
    """Return the pairs, and the rows of one side without a partner, with nulls for its columns."""
    from flo.columns.building import literal
    from flo.columns.expression import Expression

    given = {
        name: column if which == side or name in sides.shared else literal(None)
        for name, (which, column) in sides.names().items()
    }
    single = alone._then_named("join", Map(Expression(given, (row_layout("join", "columns", alone),), row)))
    return retype(pairs, row, "join")._then_named("join", Plus(), single)
