"""Random relational programs, each twice: with the verbs of Flo, and in SQL.

A program starts at an input and applies random verbs. Beside the stream it builds the query that means the same. Where
Flo differs from DuckDB by design, the program does not go: comparisons of NaN (docs/relational.md, "Nulls"), ties that
DuckDB breaks by chance, and integers that leave 64 bits in arithmetic.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa

import flo
from flo.columns.cell import fields_of
from tests.relational.harness import Query, Source

Cents = Annotated[Decimal, pa.decimal128(10, 2)]
Instant = Annotated[datetime, pa.timestamp("us", "UTC")]


class Left(NamedTuple):
    k: int | None
    g: str | None
    x: int
    y: float | None
    f: float
    d: Cents | None
    s: str
    at: Instant
    big: int


class Right(NamedTuple):
    k: int | None
    z: int | None
    s: str
    b: bool | None
    f: float
    day: datetime | None


WORDS = ["", "a", "b", "B", "ä", "ß", "\u2028", "\x85", "日本", "a" * 40]
NUMBERS = [0.0, -0.0, 1.5, -2.25, 1e300, 5e-324]
START = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)


def draw_left(rng: random.Random) -> Left:
    return Left(
        rng.choice([None, 0, 1, 2, 3]),
        rng.choice([None, *WORDS[:4]]),
        rng.randrange(-5, 6),
        rng.choice([None, float("nan"), float("inf"), -float("inf"), *NUMBERS]),
        rng.choice(NUMBERS[:4]),
        rng.choice([None, Decimal("0.01"), Decimal("-12345678.90"), Decimal("2.50")]),
        rng.choice(WORDS),
        START + timedelta(minutes=rng.randrange(0, 240, 30)),
        rng.choice([-(2**63), 2**63 - 1, 2**53 + 1, 0]),
    )


def draw_right(rng: random.Random) -> Right:
    return Right(
        rng.choice([None, 0, 1, 2, 2, 2]),  # skewed
        rng.choice([None, -1, 0, 1, 7]),
        rng.choice(WORDS),
        rng.choice([None, True, False]),
        rng.choice(NUMBERS[:4]),
        rng.choice([None, START.replace(tzinfo=None), START.replace(tzinfo=None) + timedelta(days=1)]),
    )


SOURCES = {"l": Source(Left, draw_left), "r": Source(Right, draw_right)}


@dataclass(frozen=True)
class Relation:
    """A stream, and the query that means the same."""

    stream: Any
    sql: str
    close: frozenset[str] = frozenset()
    """Columns of floats that were summed, which DuckDB rounds otherwise."""

    @property
    def fields(self) -> dict[str, Any]:
        return fields_of(self.stream.collection.element) or {}

    def of(self, *kinds: Any) -> list[str]:
        """The columns of these types, which may be null."""
        return [name for name, kind in self.fields.items() if name not in self.close and _plain(kind) in kinds]


def _plain(kind: Any) -> Any:
    parts = [part for part in getattr(kind, "__args__", ()) if part is not type(None)]
    return parts[0] if type(None) in getattr(kind, "__args__", ()) and len(parts) == 1 else kind


SMALL = ("x", "z", "n", "w", "c", "rn", "rk")
"""Columns of integers that arithmetic cannot make too large."""
ORDERED = (int, str, datetime, Cents, Instant)
"""Types whose comparisons mean the same in DuckDB. (Floats may be NaN.)"""


class Draw:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.flow = flo.Flow(f"random {seed}")
        self.inputs = {name: Relation(self._input(name), f"SELECT * FROM {name}") for name in SOURCES}
        self.joins = 0

    def _input(self, name: str) -> Any:
        return self.flow.input(name, flo.ZSet[SOURCES[name].row])  # type: ignore[misc]

    def program(self) -> tuple[flo.Flow, Query]:
        relation = self.relation(self.rng.randrange(1, 5))
        for name, each in self.inputs.items():  # an input that is not read is an error
            extra = each.stream.agg(n=flo.count())
            self.flow.output(f"count of {name}", extra)
        self.flow.output("out", relation.stream)
        return self.flow, Query(relation.sql, relation.close)

    def relation(self, verbs: int) -> Relation:
        found = self.inputs[self.rng.choice(["l", "l", "r"])]
        for _ in range(verbs):
            found = self.rng.choice(self.verbs)(self, found)
        return found

    @property
    def verbs(self) -> list[Verb]:
        return VERBS

    def aggregates(self, of: Relation) -> tuple[dict[str, Any], dict[str, str], set[str]]:
        """Aggregates of some columns, the same in SQL, and the columns that DuckDB rounds otherwise."""
        return _aggregates(self, of)

    # expressions

    def condition(self, of: Relation, deep: int = 2) -> tuple[Any, str]:
        """A condition, and the same in SQL."""
        rng = self.rng
        if deep and rng.random() < 0.4:
            (one, first), (other, second) = self.condition(of, deep - 1), self.condition(of, deep - 1)
            sign = rng.choice(["and", "or", "not"])
            if sign == "not":
                return ~one, f"(NOT {first})"
            return (
                (one & other, f"({first} AND {second})") if sign == "and" else (one | other, f"({first} OR {second})")
            )
        name = rng.choice(list(of.fields))
        if rng.random() < 0.25 or name not in of.of(*ORDERED, bool):
            return nw.col(name).is_null(), f"({_quoted(name)} IS NULL)"
        kind = _plain(of.fields[name])
        if kind is bool:
            return nw.col(name), _quoted(name)
        alike = [other for other in of.of(kind) if other != name]
        if alike and rng.random() < 0.4:
            other = rng.choice(alike)
            return nw.col(name) <= nw.col(other), f"({_quoted(name)} <= {_quoted(other)})"
        value, text = LITERALS[kind](rng)
        sign = rng.choice(["==", "<", ">=", "!="])
        compare = {"==": nw.Expr.__eq__, "<": nw.Expr.__lt__, ">=": nw.Expr.__ge__, "!=": nw.Expr.__ne__}[sign]
        return compare(
            nw.col(name), value
        ), f"({_quoted(name)} {'<>' if sign == '!=' else '=' if sign == '==' else sign} {text})"

    def expression(self, of: Relation) -> tuple[Any, str]:
        """A computed column, and the same in SQL."""
        rng = self.rng
        numbers = [name for name in of.of(int) if name in SMALL]
        kind = rng.randrange(4)
        if kind == 0 and numbers:
            name, factor = rng.choice(numbers), rng.randrange(-3, 4)
            return nw.col(name) * factor + 1, f"({_quoted(name)} * {factor} + 1)"
        if kind == 1 and numbers:
            name = rng.choice(numbers)
            return nw.col(name).fill_null(9), f"coalesce({_quoted(name)}, 9)"
        if kind == 2 and of.of(str):
            name = rng.choice(of.of(str))
            return nw.col(name).str.len_chars(), f"length({_quoted(name)})"
        condition, text = self.condition(of, 1)
        return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)), f"(CASE WHEN {text} THEN 1 ELSE 0 END)"


def _quoted(name: str) -> str:
    return f'"{name}"'


LITERALS: dict[Any, Callable[[random.Random], tuple[Any, str]]] = {
    int: lambda rng: (value := rng.randrange(-2, 4), str(value)),
    str: lambda rng: (value := rng.choice(WORDS), "'" + value.replace("'", "''") + "'"),
    datetime: lambda rng: (START.replace(tzinfo=None), f"TIMESTAMP '{START.replace(tzinfo=None)}'"),
    Instant: lambda rng: (START + timedelta(hours=1), f"TIMESTAMPTZ '{START + timedelta(hours=1)}'"),
    Cents: lambda rng: (Decimal("2.50"), "2.50::DECIMAL(10,2)"),
}


def _filter(draw: Draw, of: Relation) -> Relation:
    condition, text = draw.condition(of)
    return Relation(of.stream.filter(condition), f"SELECT * FROM ({of.sql}) WHERE {text}", of.close)


def _with_column(draw: Draw, of: Relation) -> Relation:
    expression, text = draw.expression(of)
    columns = {name: _quoted(name) for name in of.fields} | {"c": text}
    sql = f"SELECT {', '.join(f'{each} AS {_quoted(name)}' for name, each in columns.items())} FROM ({of.sql})"
    return Relation(of.stream.with_columns(c=expression), sql, of.close - {"c"})


def _select(draw: Draw, of: Relation) -> Relation:
    names = draw.rng.sample(list(of.fields), draw.rng.randrange(1, len(of.fields) + 1))
    return Relation(
        of.stream.select(*names), f"SELECT {', '.join(map(_quoted, names))} FROM ({of.sql})", of.close & set(names)
    )


def _join(draw: Draw, of: Relation) -> Relation:
    rng = draw.rng
    other = draw.inputs[rng.choice(["l", "r"])]
    if rng.random() < 0.5:
        other = _filter(draw, other)
    shared = [name for name in of.fields if name in other.fields and name in of.of(int, str)]
    shared = [name for name in shared if _plain(of.fields[name]) == _plain(other.fields[name])]
    if not shared:
        return _filter(draw, of)
    on = rng.sample(shared, rng.randrange(1, min(2, len(shared)) + 1))
    how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
    equal = rng.random() < 0.3
    draw.joins += 1
    suffix = f"_{draw.joins}"
    stream = of.stream.join(other.stream, on=on, how=how, nulls_equal=equal, suffix=suffix)
    sign = "IS NOT DISTINCT FROM" if equal else "="
    matches = " AND ".join(f"one.{_quoted(name)} {sign} other.{_quoted(name)}" for name in on)
    if how in ("semi", "anti"):
        negated = "NOT " if how == "anti" else ""
        exists = f"EXISTS (SELECT 1 FROM ({other.sql}) AS other WHERE {matches})"
        return Relation(stream, f"SELECT * FROM ({of.sql}) AS one WHERE {negated}{exists}", of.close)
    columns = []
    for name in of.fields:
        text = f"one.{_quoted(name)}"
        if name in on and how in ("right", "full"):
            text = f"coalesce(one.{_quoted(name)}, other.{_quoted(name)})"
        columns.append(f"{text} AS {_quoted(name)}")
    for name in other.fields:
        if name not in on:
            called = f"{name}{suffix}" if name in of.fields else name
            columns.append(f"other.{_quoted(name)} AS {_quoted(called)}")
    sql = f"SELECT {', '.join(columns)} FROM ({of.sql}) AS one {how} JOIN ({other.sql}) AS other ON {matches}"
    return Relation(stream, sql, of.close)


def _aggregates(draw: Draw, of: Relation) -> tuple[dict[str, Any], dict[str, str], set[str]]:
    rng = draw.rng
    specs: dict[str, Any] = {"n": flo.count()}
    texts = {"n": "count(*)"}
    close: set[str] = set()
    condition, text = draw.condition(of, 1)
    specs["w"], texts["w"] = flo.count(where=condition), f"count(*) FILTER (WHERE {text})"
    for name in rng.sample(list(of.fields), min(3, len(of.fields))):
        kind, column = _plain(of.fields[name]), _quoted(name)
        specs[f"d_{name}"], texts[f"d_{name}"] = flo.count_distinct(name), f"count(DISTINCT {column})"
        if kind in ORDERED and name not in of.close:
            specs[f"min_{name}"], texts[f"min_{name}"] = (
                flo.min(name, where=condition),
                f"min({column}) FILTER (WHERE {text})",
            )
            specs[f"max_{name}"], texts[f"max_{name}"] = flo.max(name), f"max({column})"
        if kind in (int, Cents):
            specs[f"sum_{name}"], texts[f"sum_{name}"] = flo.sum(name), f"sum({column})"
        if kind is int and name in SMALL:  # DuckDB rounds large integers to floats first
            specs[f"avg_{name}"], texts[f"avg_{name}"] = flo.avg(name), f"avg({column})"
            specs[f"med_{name}"], texts[f"med_{name}"] = flo.median(name), f"median({column})"
            close |= {f"avg_{name}", f"med_{name}"}
        if kind is bool:
            specs[f"all_{name}"], texts[f"all_{name}"] = flo.bool_and(name), f"bool_and({column})"
    return specs, texts, close


def _group_by(draw: Draw, of: Relation) -> Relation:
    keys = draw.rng.sample(list(of.fields), draw.rng.randrange(1, min(2, len(of.fields)) + 1))
    keys = [key for key in keys if key not in of.close and key not in ("n", "w")] or [next(iter(of.fields))]
    specs, texts, close = draw.aggregates(of)
    specs = {name: spec for name, spec in specs.items() if name not in keys}
    columns = [*map(_quoted, keys), *(f"{texts[name]} AS {_quoted(name)}" for name in specs)]
    sql = f"SELECT {', '.join(columns)} FROM ({of.sql}) GROUP BY {', '.join(map(_quoted, keys))}"
    return Relation(of.stream.group_by(*keys).agg(**specs), sql, frozenset(close & set(specs)))


def _agg(draw: Draw, of: Relation) -> Relation:
    specs, texts, close = draw.aggregates(of)
    columns = [f"{texts[name]} AS {_quoted(name)}" for name in specs]
    return Relation(of.stream.agg(**specs), f"SELECT {', '.join(columns)} FROM ({of.sql})", frozenset(close))


def _set_operation(draw: Draw, of: Relation) -> Relation:
    other = _filter(draw, of)
    verb, sign = draw.rng.choice(
        [
            (lambda a, b: a.union(b), "UNION ALL"),
            (lambda a, b: a.union_distinct(b), "UNION"),
            (lambda a, b: a.except_(b), "EXCEPT"),
            (lambda a, b: a.except_(b, all=True), "EXCEPT ALL"),
            (lambda a, b: a.intersect(b), "INTERSECT"),
            (lambda a, b: a.intersect(b, all=True), "INTERSECT ALL"),
        ]
    )
    if of.close:
        verb, sign = (lambda a, b: a.union(b)), "UNION ALL"
    return Relation(verb(of.stream, other.stream), f"({of.sql}) {sign} ({other.sql})", of.close)


def _distinct(draw: Draw, of: Relation) -> Relation:
    if of.close:
        return of
    return Relation(of.stream.distinct(), f"SELECT DISTINCT * FROM ({of.sql})")


def _order(draw: Draw, of: Relation) -> tuple[list[Any], str]:
    """An order with directions and places for nulls, and the same in SQL, with ties broken by the whole row."""
    keys, texts = [], []
    for name in draw.rng.sample(list(of.fields), min(2, len(of.fields))):
        down, last = draw.rng.random() < 0.5, draw.rng.random() < 0.3
        keys.append((flo.desc if down else flo.asc)(name, nulls_last=last))
        texts.append(f"{_quoted(name)} {'DESC' if down else 'ASC'} NULLS {'LAST' if last else 'FIRST'}")
    return keys, ", ".join([*texts, *(f"{_quoted(name)} ASC NULLS FIRST" for name in of.fields)])


def _top(draw: Draw, of: Relation) -> Relation:
    if of.close:
        return of
    keys, order = _order(draw, of)
    by, count = draw.rng.choice(list(of.fields)), draw.rng.randrange(1, 4)
    own = ", ".join(map(_quoted, of.fields))
    numbered = f"SELECT *, row_number() OVER (PARTITION BY {_quoted(by)} ORDER BY {order}) AS _n FROM ({of.sql})"
    sql = f"SELECT {own} FROM ({numbered}) WHERE _n <= {count}"
    return Relation(of.stream.top(count, by=by, order_by=keys), sql)


def _limit(draw: Draw, of: Relation) -> Relation:
    if of.close:
        return of
    keys, order = _order(draw, of)
    count, offset = draw.rng.randrange(1, 6), draw.rng.randrange(3)
    sql = f"SELECT * FROM ({of.sql}) ORDER BY {order} LIMIT {count} OFFSET {offset}"
    return Relation(of.stream.limit(count, offset=offset, order_by=keys), f"SELECT * FROM ({sql})")


def _over(draw: Draw, of: Relation) -> Relation:
    if of.close or {"rn", "rk", "before", "total"} & set(of.fields):
        return of
    keys, order = _order(draw, of)
    by = draw.rng.choice(list(of.fields))
    window = f"PARTITION BY {_quoted(by)} ORDER BY {order}"
    peers = f"PARTITION BY {_quoted(by)} ORDER BY {', '.join(order.split(', ')[: len(keys)])}"
    name = draw.rng.choice(list(of.fields))
    columns: dict[str, Any] = {"rn": flo.row_number(), "rk": flo.rank(), "before": flo.lag(name)}
    texts = {
        "rn": f"row_number() OVER ({window})",
        "rk": f"rank() OVER ({peers})",
        "before": f"lag({_quoted(name)}) OVER ({window})",
    }
    numbers = of.of(int)
    if numbers:
        number = draw.rng.choice(numbers)
        columns["total"] = flo.sum(number, rows=(-2, draw.rng.choice([0, 1])))
        until = "CURRENT ROW" if columns["total"].rows[1] == 0 else "1 FOLLOWING"
        texts["total"] = f"sum({_quoted(number)}) OVER ({window} ROWS BETWEEN 2 PRECEDING AND {until})"
    more = ", ".join(f"{text} AS {name}" for name, text in texts.items())
    stream = of.stream.over(partition_by=by, order_by=keys).with_columns(**columns)
    return Relation(stream, f"SELECT *, {more} FROM ({of.sql})")


Verb = Callable[[Draw, Relation], Relation]
VERBS: list[Verb] = [
    _filter,
    _filter,
    _with_column,
    _select,
    _join,
    _join,
    _group_by,
    _agg,
    _set_operation,
    _distinct,
    _top,
    _limit,
    _over,
]


def draw_program(seed: int) -> tuple[flo.Flow, Query]:
    """The program of a seed, and the query for its output `out`."""
    return Draw(seed).program()
