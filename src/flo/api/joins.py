"""Joins of rows with named columns: every `how`, more conditions, and nulls as in SQL.

A result has the columns of the left row, then those of the right. A column that both are joined on by the same name
occurs once; other columns of the right with a name of the left get a suffix. Null keys match nothing, unless they are
asked to be equal to each other. All of it is composed of the joins, filters and unions of z-sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

from flo.api.aligning import retype
from flo.api.arguments import expect_kind
from flo.api.columns import Perhaps, bind_columns, is_expression, kind_of
from flo.api.row_names import columns_of, expect_column
from flo.core.elements import type_name
from flo.core.errors import Origin, TypeMismatch, brief
from flo.core.type_relations import overlaps
from flo.values.operators.bags import BagJoin
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.sets import SetJoin
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join, LeftJoin, SemiJoin
from flo.values.operators.zsets import Distinct, Plus
from flo.values.weighted import Bag, Set, ZSet

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


def expect_how(how: Any) -> str:
    """Return the kind of join. Raises if there is none of this name."""
    if how in HOW:
        return str(how)
    plain = str(how).lower().replace("_", "").replace("outer", "").removeprefix("left")
    meant = MEANT.get(str(how).lower()) or next(iter(get_close_matches(plain, HOW, n=1)), None)
    raise TypeMismatch(
        f"`how` of `join` must be one of {', '.join(map(repr, HOW))}; got {brief(how)}",
        instead=((f'how="{meant}"', MEANING[meant]),) if meant else (),
        where=Origin.here(),
    )


def is_column_key(on: Any) -> bool:
    """Return whether a key is given as columns: a name, an expression, or a list or tuple of these."""
    parts = tuple(on) if isinstance(on, (list, tuple)) else (on,)
    return bool(parts) and all(is_expression(part) and not isinstance(part, (tuple, dict)) for part in parts)


def is_column_join(on: Any, other_on: Any) -> bool:
    """Return whether both keys are given as columns, or the only one is."""
    return is_column_key(on) and (other_on is None or is_column_key(other_on))


def expect_plain_join(on: Any, how: str, where: Any, suffix: str, nulls_equal: bool) -> None:
    """Raise if a join of pairs gets an argument that only joins of rows have."""
    if on is None and how != "inner":
        raise _no_keys(how)
    for name, given, usual in (
        ("how", how, "inner"),
        ("where", where, None),
        ("suffix", suffix, RIGHT),
        ("nulls_equal", nulls_equal, False),
    ):
        if given is not usual and given != usual:
            raise TypeMismatch(
                f"`join` takes `{name}` only if both keys are columns, and without `into`",
                facts=((name, brief(given)),),
                instead=(
                    (f'join(other, on="id", {name}=…)', "rows with the columns of both"),
                    ("left_join(…), full_join(…), semi_join(…), anti_join(…)", "pairs, by functions"),
                ),
                where=Origin.here(),
            )


@dataclass(frozen=True)
class Sides:
    """Two streams of rows, their keys, and the names of the columns of the results."""

    left: Any
    right: Any
    on: tuple[Any, ...]
    other_on: tuple[Any, ...]
    suffix: str

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that both sides are joined on by the same name."""
        pairs = zip(self.on, self.other_on, strict=True)
        return tuple(one for one, other in pairs if isinstance(one, str) and one == other)

    def names(self) -> dict[str, tuple[int, str]]:
        """For each column of the result, its side and its name there. Raises if two have the same name."""
        found = {name: (0, name) for name in columns_of(self.left, "join")}
        for name in columns_of(self.right, "join"):
            if name in self.shared:
                continue
            called = f"{name}{self.suffix}" if name in found else name
            if called in found:
                raise TypeMismatch(
                    f"`join` makes two columns `{called}`",
                    facts=(("left", ", ".join(columns_of(self.left, "join"))), ("suffix", self.suffix)),
                    instead=((f'join(…, suffix="{self.suffix}2")', "another suffix"), ("rename(…)", "before the join")),
                    where=Origin.here(),
                )
            found[called] = (1, name)
        return found

    def keys(self, *, apart: bool = False) -> tuple[Any, Any]:
        """Return the keys of both sides as expressions; with `apart`, such that no nulls are equal."""
        keys = []
        for side, (stream, on) in enumerate(((self.left, self.on), (self.right, self.other_on))):
            given = (*on, _null_side(on, side + 1)) if apart else on
            given = given if len(given) > 1 else given[0]
            keys.append(bind_columns("join", "other_on" if side else "on", given, (stream,)))
        return keys[0], keys[1]

    def may_be_null(self) -> bool:
        """Return whether the keys of both sides may be null."""
        return all(any(field.nullable for field in key.schema) for key in self.keys())

    def into(self, *, left_missing: bool = False, right_missing: bool = False, swapped: bool = False) -> Any:
        """Return what makes a result of two rows, one of which may be missing."""
        inner = self._inner_names(swapped)
        given: dict[str, Any] = {}
        for name, (side, column) in self.names().items():
            given[name] = inner[side][column]
            if name in self.shared and left_missing:
                given[name] = _coalesce(inner[0][column], inner[1][column])
        rows = [Perhaps(self.left) if left_missing else self.left, Perhaps(self.right) if right_missing else self.right]
        return bind_columns("join", "columns", given, tuple(reversed(rows) if swapped else rows))

    def _inner_names(self, swapped: bool) -> list[dict[str, str]]:
        """For each side, the names of its columns in an expression of both rows."""
        streams = [self.right, self.left] if swapped else [self.left, self.right]
        first = {name: name for name in columns_of(streams[0], "join")}
        second = {name: f"{name}{RIGHT}" if name in first else name for name in columns_of(streams[1], "join")}
        return [second, first] if swapped else [first, second]


def _null_side(on: tuple[Any, ...], side: int) -> Any:
    """Return a column that is 0 if no key is null, and else the number of the side."""
    from flo.columns.building import if_else, literal

    return if_else(~_all_there(on), literal(side), literal(0))


def _all_there(on: tuple[Any, ...]) -> Any:
    """Return a condition: no key is null."""
    from flo.columns.building import all_there

    return all_there(on)


def _coalesce(one: str, other: str) -> Any:
    from flo.columns.building import coalesced

    return coalesced(one, other)


def join_rows(
    left: Any, right: Any, on: Any, other_on: Any, how: str, where: Any, suffix: str, nulls_equal: bool
) -> Any:
    """Return the join of two streams of rows, as rows."""
    _expect_arguments(on, how, where, suffix, left)
    if how == "cross":
        from flo.columns.building import literal

        on = other_on = (literal(0),)
    sides = Sides(left, right, _keys(on), _keys(on if other_on is None else other_on), suffix)
    if len(sides.on) != len(sides.other_on):
        raise TypeMismatch(
            f"`join` must get as many keys for both sides; got {len(sides.on)} and {len(sides.other_on)}",
            where=Origin.here(),
        )
    for stream, keys in ((left, sides.on), (right, sides.other_on)):
        for key in keys:
            if isinstance(key, str):
                expect_column(stream, "join", key, columns_of(stream, "join"))
    _expect_comparable(sides)
    apart = not nulls_equal and how != "cross" and sides.may_be_null()
    if how == "right":
        swapped = Sides(right, left, sides.other_on, sides.on, suffix)
        return _outer_one(swapped, sides, where, apart, swapped_names=True)
    if how == "left":
        return _outer_one(sides, sides, where, apart, swapped_names=False)
    if how == "full":
        return _full(sides, where, apart)
    if how in ("semi", "anti"):
        return _matching(sides, how, where, apart)
    return _inner(sides, where, apart)


def _expect_comparable(sides: Sides) -> None:
    """Raise if two keys have types whose values are never equal."""
    from flo.columns.aggregate_types import Kind
    from flo.columns.readable import readable

    for one, other, left, right in zip(sides.on, sides.other_on, *map(_kinds_of, sides.keys()), strict=True):
        kinds = Kind.of(left).plain, Kind.of(right).plain
        if type(None) not in kinds and not overlaps(*kinds):
            shown = [f"`{readable(key)}`, {type_name(kind)}" for key, kind in ((one, left), (other, right))]
            raise TypeMismatch(
                f"`join` compares keys that are never equal: {shown[0]}, and {shown[1]}",
                facts=(
                    ("left", ", ".join(columns_of(sides.left, "join"))),
                    ("right", ", ".join(columns_of(sides.right, "join"))),
                ),
                instead=(
                    ("on=…, other_on=…", "two columns of one type"),
                    ("nw.col(…).cast(…)", "converts one of them"),
                ),
                where=Origin.here(),
            )


def _kinds_of(key: Any) -> tuple[Any, ...]:
    """Return the types of the columns of a key."""
    return get_args(key.kind) if isinstance(key.given, tuple) else (key.kind,)


def _no_keys(how: str) -> TypeMismatch:
    return TypeMismatch(
        "`join` must get the columns to join `on`",
        instead=((f'join(other, on="id", how="{how}")', MEANING[how]), ('join(other, how="cross")', MEANING["cross"])),
        where=Origin.here(),
    )


def _expect_arguments(on: Any, how: str, where: Any, suffix: Any, left: Any) -> None:
    if how == "cross" and on is not None:
        raise TypeMismatch(
            "`join` with how='cross' pairs all rows, and takes no `on`",
            instead=(("join(other, on=…)", "rows with equal keys"), ("join(…, how='cross', where=…)", "a condition")),
            where=Origin.here(),
        )
    if how != "cross" and on is None:
        raise _no_keys(how)
    if not isinstance(suffix, str) or not suffix:
        raise TypeMismatch(f"`suffix` of `join` must be a non-empty string; got {brief(suffix)}", where=Origin.here())
    if how != "inner":
        expect_kind("join", left, ZSet, instead=(("{input}.to_zset()", "rows that can be retracted"),))


def _keys(on: Any) -> tuple[Any, ...]:
    return tuple(on) if isinstance(on, (list, tuple)) else (on,)


def _without_null_keys(stream: Any, on: tuple[Any, ...], drop: bool) -> Any:
    if not drop:
        return stream
    return stream._then_named("join", Filter(bind_columns("join", "on", _all_there(on), (stream,), bool)))


def _inner(sides: Sides, where: Any, apart: bool) -> Any:
    on, other_on = sides.keys()
    left = _without_null_keys(sides.left, sides.on, apart)
    kinds = {Bag: BagJoin, Set: SetJoin, ZSet: Join}
    operator = kinds[type(left.collection)](on, other_on, sides.into())
    return _restricted(left._then_named("join", operator, sides.right), where)


def _restricted(pairs: Any, where: Any) -> Any:
    """Return the results for which the condition holds."""
    if where is None:
        return pairs
    return pairs._then_named("join", Filter(bind_columns("join", "where", where, (pairs,), bool)))


def _outer_one(sides: Sides, named: Sides, where: Any, apart: bool, *, swapped_names: bool) -> Any:
    """Return the left join of these sides, with the columns of `named`."""
    into = named.into(left_missing=swapped_names, right_missing=not swapped_names, swapped=swapped_names)
    right = _without_null_keys(sides.right, sides.other_on, apart)
    if where is None:
        on, other_on = sides.keys()
        return sides.left._then_named("join", LeftJoin(on, other_on, into), right)
    pairs, side = _inner(named, where, apart), 1 if swapped_names else 0
    return _with_missing(pairs, _matched(sides.left, pairs, named, side, AntiJoin), named, side, into.kind)


def _full(sides: Sides, where: Any, apart: bool) -> Any:
    into = sides.into(left_missing=True, right_missing=True)
    if where is None:
        on, other_on = sides.keys(apart=apart)
        return sides.left._then_named("join", FullJoin(on, other_on, into), sides.right)
    pairs = _inner(sides, where, apart)
    found = pairs
    for side, stream in enumerate((sides.left, sides.right)):
        found = _with_missing(found, _matched(stream, pairs, sides, side, AntiJoin), sides, side, into.kind)
    return found


def _matching(sides: Sides, how: str, where: Any, apart: bool) -> Any:
    if where is None:
        on, other_on = sides.keys()
        right = _without_null_keys(sides.right, sides.other_on, apart)
        operator = SemiJoin(on, other_on) if how == "semi" else AntiJoin(on, other_on)
        return sides.left._then_named("join", operator, right)
    pairs = _inner(sides, where, apart)
    return _matched(sides.left, pairs, sides, 0, SemiJoin if how == "semi" else AntiJoin)


def _matched(stream: Any, pairs: Any, sides: Sides, side: int, kind: Any) -> Any:
    """Return the rows of one side that are, or are not, in a pair. Equal rows have the same fate."""
    called = {column: name for name, (which, column) in sides.names().items() if which == side}
    called = {**{name: name for name in sides.shared}, **called}
    own = columns_of(stream, "join")
    rows = pairs._then_named(
        "join", Map(bind_columns("join", "columns", {name: called[name] for name in own}, (pairs,)))
    )
    present = rows._then_named("join", Distinct())
    keys = [bind_columns("join", "on", own if len(own) > 1 else own[0], (each,)) for each in (stream, present)]
    return stream._then_named("join", kind(*keys), present)


def _with_missing(pairs: Any, alone: Any, sides: Sides, side: int, row: Any) -> Any:
    """Return the pairs, and the rows of one side without a partner, with nulls for its columns."""
    from flo.columns.building import literal
    from flo.columns.expression import Expression
    from flo.columns.layout import Layout

    layout = Layout.of(kind_of(alone))
    assert layout is not None
    given = {
        name: column if which == side or name in sides.shared else literal(None)
        for name, (which, column) in sides.names().items()
    }
    single = alone._then_named("join", Map(Expression(given, (layout,), row)))
    return retype(pairs, row, "join")._then_named("join", Plus(), single)
