"""What functions without annotations return: derived from their source, or unclear; never guessed."""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pytest

import flo
from flo.columns.function_types import result_type
from flo.columns.known_types import Unclear
from flo.core.elements import belongs
from flo.values.exact import IntSum

RATE = 1.5
PRICES: dict[str, float] = {"a": 1.0, "b": 2.0}
UNTYPED = {"a": 1.0}


class Colour(Enum):
    RED = 1
    BLUE = 2


class Row(NamedTuple):
    key: str
    n: int
    maybe: int | None
    f: float
    day: date = date(2024, 1, 2)
    ok: bool = True

    @property
    def twice(self) -> int:
        return 2 * self.n

    def shouted(self):  # type: ignore[no-untyped-def]
        return self.key.upper()

    def named(self, name=None):  # type: ignore[no-untyped-def]
        return self.n if name is None else name


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: float


def half(row):  # type: ignore[no-untyped-def]
    """Half of the number."""
    return 0.0 if row.maybe is None else row.maybe / 2


def untyped(row):  # type: ignore[no-untyped-def]
    if row.maybe is None:
        return 0.0
    found = row.maybe
    found /= 2
    return found


def looping(row):  # type: ignore[no-untyped-def]
    for _ in row.key:
        return 1
    return None


def itself(row):  # type: ignore[no-untyped-def]
    return itself(row)


ROWS = [Row(k, n, m, f) for k, n, m, f in itertools.product("aB", (-1, 0, 3), (None, 0, 2), (-0.5, 0.0, 2.0))]
CLEAR: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda r: r.n * 2, int),
    (lambda r: r.n / 2, float),
    (lambda r: r.n // 2, int),
    (lambda r: r.n + r.f, float),
    (lambda r: r.n * True, int),
    (lambda r: r.ok + r.ok, int),
    (lambda r: r.ok & (r.n > 0), bool),
    (lambda r: -r.ok, int),
    (lambda r: not r.n, bool),
    (lambda r: 0 < r.n <= 5, bool),
    (lambda r: r.n**2, int),
    (lambda r: r.n in (1, 2) or r.ok, bool),
    (lambda r: r.f * RATE, float),
    (lambda r: r.key + "!", str),
    (lambda r: f"{r.key}-{r.n:>3}", str),
    (lambda r: "%s" % r.key, str),  # noqa: UP031
    (lambda r: r.key.upper().strip(), str),
    (lambda r: r.key.split(), list[str]),
    (lambda r: r.key[0], str),
    (lambda r: len(r.key) + 1, int),
    (lambda r: (r.key, r.n, None), tuple[str, int, type(None)]),
    (lambda r: (r.key, r.n, 1)[:2], tuple[str, int]),
    (lambda r: r[1], int),
    (lambda r: r[-1], bool),
    (lambda r: r.twice, int),
    (lambda r: r.shouted(), str),
    (lambda r: r._replace(n=1), Row),
    (lambda r: Point(r.n, r.f), Point),
    (lambda r: dataclasses.replace(Point(r.n, r.f), x=1).y, float),
    (lambda r: r.maybe, int | None),
    (lambda r: r.maybe if r.maybe is not None else 0, int),
    (lambda r: 0 if r.maybe is None else r.maybe + 1, int),
    (lambda r: r.maybe or 0, int),
    (lambda r: r.n if r.ok else None, int | None),
    (lambda r: (r.n, None) if r.ok else (r.n, r.key), tuple[int, str | None]),
    (lambda r: round(r.f), int),
    (lambda r: round(r.f, 1), float),
    (lambda r: abs(r.n), int),
    (lambda r: min(r.n, 3), int),
    (lambda r: max(r.key), str),
    (lambda r: sum([r.n, 2]), int),
    (lambda r: sum((r.n, r.f)), float),
    (lambda r: sorted([r.n, 2]), list[int]),
    (lambda r: [c + "!" for c in r.key if c], list[str]),
    (lambda r: tuple(n + 1 for n in (r.n, 2)), tuple[int, ...]),
    (lambda r: math.floor(r.f), int),
    (lambda r: math.sqrt(abs(r.f)), float),
    (lambda r: str(undefined_at_all), str),  # type: ignore[name-defined]  # noqa: F821
    (lambda r: isinstance(r.maybe, int), bool),
    (lambda r: Colour.RED, Colour),
    (lambda r: Colour.RED if r.ok else Colour.BLUE, Colour),
    (lambda r: PRICES[r.key.lower()], float),
    (lambda r: r.day.year, int),
    (lambda r: r.day - r.day, timedelta),
    (lambda r: (r.day - r.day).total_seconds(), float),
    (lambda r: Decimal(r.n) * 2, Decimal),
    (lambda r: Decimal(r.n) ** 2, Decimal),
    (lambda r: datetime(2024, 1, 2) + timedelta(r.n), datetime),
    (lambda r: int(r.f), int),
    (lambda r: half(r), float),
    (lambda r, by=3: r.n + by, int),
    (half, float),
    (lambda r: sum([r.f]), float),
    (lambda r: sum(x for x in (r.f, 1.0) if x > r.n), float),
    (operator.itemgetter(1), int),
    (operator.itemgetter(0, 1), tuple[str, int]),
    (partial(lambda by, r: r.n + by, 2), int),
]


@pytest.mark.parametrize(("f", "kind"), CLEAR, ids=[str(place) for place in range(len(CLEAR))])
def test_what_is_derived_is_true(f: Any, kind: Any) -> None:
    assert result_type(f, (Row,)) == kind
    for row in ROWS:
        try:
            found = f(row)
        except NameError:
            continue
        assert belongs(found, kind)
        assert type(found) is not bool or "bool" in str(kind), "a bool is no int here"


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda r: r.n if r.ok else "x", "int or str"),
        (lambda r: r.n * 2 if r.n else "x", "int or str"),
        (lambda r: r.n and r.f, "int or float"),
        (lambda r: r.ok and r.n, "bool or int"),
        (lambda r: r.n**r.n, "a power"),
        (lambda r: r.f**0.5, "a power"),
        (lambda r: UNTYPED[r.key], "dict"),
        (lambda r: [r.n] * 2, "the type of"),
        (lambda r: unknown(r), "no `unknown`"),  # type: ignore[name-defined]  # noqa: F821
        (lambda r: r.nothing, "`nothing`"),
        (lambda r: {r.key: 1}, "is not certain"),
        (lambda r: [], "is not certain"),
        (lambda r: (*r, 1), "is not certain"),
        (lambda r: (x := r.n) + x, ":="),
        (lambda *r: 1, "variadic"),
        (lambda r: (lambda: 1)(), "is not certain"),
        (lambda r: eval("1"), "no return annotation"),
        (lambda r: datetime(2024, 1, 2, tzinfo=None), "zone"),
        (untyped, "statements"),
        (looping, "statements"),
        (lambda r: r.named(name="x"), "`named`"),
        (itself, "nested too deeply"),
        (eval("lambda r: r.n"), "source"),
        (operator.attrgetter("n"), "no return annotation"),
    ],
)
def test_what_is_not_certain_is_unclear(f: Any, why: str) -> None:
    flow = flo.Flow("unclear")
    flow.output("out", flow.input("rows", flo.Sequence[Row]).map(f))
    if " or " in why:
        parts = [getattr(each, "__name__", str(each)) for each in getattr(result_type(f, (Row,)), "__args__", ())]
        assert [part for part in parts if part != "NoneType"] == why.split(" or ")
    else:
        with pytest.raises(Unclear, match=why):
            result_type(f, (Row,))
    with pytest.raises(flo.TypeMismatch, match="the output `out` cannot be a table") as caught:
        flow.on(flo.here)
    text = str(caught.value)
    assert "function" in text
    assert "def double(x: int) -> int" in text
    assert "test_function_types.py" in text


def doubled(kind: Any) -> flo.Flow:
    flow = flo.Flow("doubled")
    flow.output("out", flow.input("x", kind).map(lambda v: v * 2))
    return flow


@pytest.mark.parametrize("kind", [flo.Sequence, flo.Bag, flo.Set, flo.ZSet])
def test_an_output_is_a_table_whether_or_not_its_function_is_annotated(kind: Any) -> None:
    flow = doubled(kind[int])
    loop = flow.on(flo.here).loop()
    loop.push(x=[1, 2])
    for found in (flow.on(flo.here).run(x=[1, 2])["out"], loop.peek("out"), loop.result()["out"], loop.pull("out")):
        assert isinstance(found, pa.Table)
        assert sorted(found["value"].to_pylist()) == [2, 4]
    assert not isinstance(flow.run(x=[1, 2])["out"], pa.Table)


def test_results_beyond_64_bits_are_refused() -> None:
    with pytest.raises(flo.FloError, match="does not fit"):
        doubled(flo.Bag[int]).on(flo.here).run(x=[2**62])


def test_moments_keep_their_zone() -> None:
    zoned = Annotated[datetime, UTC]
    assert result_type(lambda at: at + timedelta(1), (zoned,)) == zoned
    assert result_type(lambda at: (at - at, at.year, at.isoformat()), (zoned,)) == tuple[timedelta, int, str]
    flow = flo.Flow("zoned")
    flow.output("out", flow.input("at", flo.Sequence[zoned]).map(lambda at: at + timedelta(1)))  # type: ignore[valid-type]
    found = flow.on(flo.here).run(at=[datetime(2024, 1, 1, tzinfo=UTC)])["out"]
    assert found["value"].to_pylist() == [datetime(2024, 1, 2, tzinfo=UTC)]


WIDE = IntSum
NARROW = Annotated[int, pa.int32()]


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda total: total + 1, WIDE),
        (lambda total: 2 - total * 3 // 4 % 5, WIDE),
        (lambda total: -abs(total), WIDE),
        (lambda total: total**2, WIDE),
        (lambda total: divmod(total, 7), tuple[WIDE, WIDE]),
        (lambda total: round(total, -2), WIDE),
        (lambda total: sum([total, 1]), WIDE),
        (lambda total: max(total, 0), WIDE),
        (lambda total: max(0, total), WIDE),
        (lambda total: total if total > 0 else 0, WIDE),
        (lambda total: (0, total) if total else (total, 0), tuple[WIDE, WIDE]),
        (lambda total: total if total else None, WIDE | None),
        (lambda total: total / 2, float),
        (lambda total: total * 0.5, float),
        (lambda total: "x" * total, str),
        (lambda total: total > 2, bool),
        (lambda total: int(total), int),
    ],
)
def test_numbers_made_of_sums_are_as_wide(f: Any, kind: Any) -> None:
    assert result_type(f, (WIDE,)) == kind


def test_numbers_of_two_widths_have_one_type() -> None:
    assert result_type(lambda n: n if n > 0 else 0, (NARROW,)) is int
    assert result_type(lambda n, total: n if n > 0 else total, (NARROW, WIDE)) == WIDE
    assert result_type(lambda n: n, (NARROW,)) == NARROW


def test_elements_without_columns_give_no_table() -> None:
    flow = flo.Flow("no columns")
    flow.output("out", flow.input("x", flo.Bag[complex]))
    with pytest.raises(flo.TypeMismatch, match="its elements have no columns"):
        flow.on(flo.here)
    assert flow.run(x=[1j]) == {"out": {1j: 1}}


def test_a_function_in_the_middle_may_be_unclear() -> None:
    def anything(row: Row) -> Any:
        return [row.n] if row.n else row.key

    def length(x: Any) -> int:
        return len(x)

    flow = flo.Flow("middle")
    flow.output("out", flow.input("rows", flo.Sequence[Row]).map(anything).map(length))
    assert flow.on(flo.here).run(rows=ROWS[:1])["out"]["value"].to_pylist() == [1]


def test_other_verbs() -> None:
    """Their functions have types too: of two rows, of states, of groups, in bodies."""
    flow = flo.Flow("verbs")
    rows, ordered = flow.input("rows", flo.ZSet[Row]), flow.input("ordered", flo.Sequence[Row], bounded=True)
    flow.output("summed", rows.group_by(key=lambda r: r.key).agg(sum=flo.sum(lambda r: r.f)))
    flow.output("least", rows.group_by(key=lambda r: (r.key, r.ok)).agg(min=flo.min(lambda r: r.n)))
    flow.output(
        "linear", rows.group_by(key=lambda r: r.key).agg(total=flo.linear(lambda r: (r.n, 1), lambda t: t[0] / t[1]))
    )
    flow.output("joined", rows.join(rows, lambda r: r.n, lambda r: r.n, lambda a, b: (a.key, b.f)))
    flow.output("left", rows.join(rows, lambda r: r.n, lambda r: r.n, lambda a, b: b.key if b else None, how="left"))
    flow.output("items", ordered.flat_map(lambda r: (r.n, r.n + 1)))
    flow.output("letters", ordered.flat_map(lambda r: (c for c in r.key)))
    flow.output("running", ordered.scan(0, lambda total, r: total + r.n))
    flow.output("most", ordered.map(lambda r: r.n).scan(0, max))
    flow.output("folded", ordered.fold((0, ""), lambda state, r: (state[0] + 1, r.key)))
    flow.output("keyed", ordered.key_by(lambda r: r.key).per_key(lambda s: s.map(lambda r: r.n + 1)).entries())
    flow.output("batches", ordered.batch(2).nest(lambda b: b.map(lambda r: r.f * 2)).flatten())
    result = flow.on(flo.here).run(rows=ROWS, ordered=ROWS)
    expected = flow.run(rows=ROWS, ordered=ROWS)
    assert all(isinstance(table, pa.Table) for table in result.values())
    assert {name: [str(field.type) for field in table.schema] for name, table in result.items()} == {
        "summed": ["string", "double", "int64"],
        "least": ["struct<0: string not null, 1: bool not null>", "int64", "int64"],
        "linear": ["string", "double", "int64"],
        "joined": ["string", "double", "int64"],
        "left": ["string", "int64"],
        "items": ["int64"],
        "letters": ["string"],
        "running": ["int64"],
        "most": ["int64"],
        "folded": ["int64", "string"],
        "keyed": ["string", "int64", "int64"],
        "batches": ["double"],
    }
    assert result["running"]["value"].to_pylist() == expected["running"]
    assert result["most"]["value"].to_pylist() == expected["most"]
    assert result["batches"]["value"].to_pylist() == expected["batches"]
    left = dict(zip(result["left"]["value"].to_pylist(), result["left"]["_weight"].to_pylist(), strict=True))
    assert left == expected["left"]


def test_a_checkpoint_of_functions_without_annotations(tmp_path: Any) -> None:
    def running() -> flo.Flow:
        flow = flo.Flow("running")
        flow.output("out", flow.input("x", flo.Sequence[int]).map(lambda v: v * 2).scan(0, lambda a, v: a + v))
        return flow

    loop, again = running().on(flo.here).loop(), running().on(flo.here).loop()
    loop.push(x=[1, 2])
    loop.checkpoint(tmp_path)
    again.restore(tmp_path)
    again.push(x=[3])
    assert again.pull("out")["value"].to_pylist() == [2, 6, 12]


def test_a_result_of_another_type_than_was_derived() -> None:
    """A constant that changed after the program was built."""
    rate: Any = 2

    flow = flo.Flow("changed")
    flow.output("out", flow.input("x", flo.Sequence[int]).map(lambda v: v**1 * rate))
    program = flow.on(flo.here)
    rate = "x"
    with pytest.raises(flo.FunctionError, match="must return int, derived from its source"):
        program.run(x=[2])


@pytest.mark.parametrize("kind", [flo.Bag, flo.ZSet])
def test_rows_of_an_output_have_no_column_with_the_name_of_weights(kind: Any) -> None:
    flow = flo.Flow("weights")
    flow.output("out", flow.input("rows", kind[Row]).select("key", _weight="n"))
    with pytest.raises(flo.TypeMismatch, match="the name of their weights") as caught:
        flow.on(flo.here)
    assert "test_function_types.py" in str(caught.value)
