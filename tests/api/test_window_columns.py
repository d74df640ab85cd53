"""`tumble`, `hop` and `session` of rows: as SQL computes them after every delta, for times of every type."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.columns.layout import Layout
from flo.values.event_time import EPOCH, UTC_EPOCH
from flo.values.operators.windows import Sliding, Tumbling
from tests.api import window_oracle

Zoned = Annotated[datetime, pa.timestamp("us", "Europe/Berlin")]
CHANGE = datetime(2024, 10, 27, tzinfo=UTC)
"""Clocks are set back in Berlin an hour later."""
SECOND = timedelta(seconds=1)
TIMES: dict[str, tuple[Any, list[Any], tuple[Any, Any]]] = {
    "int": (int | None, [None, 0, 1, 4, 9, 10, -1, -7, 2**62, -(2**62)], (10, 4)),
    "int without null": (int, [0, 3, 5, 8, 9, -6], (7, 7)),
    "adjacent int": (int, [0, 1, 2, 5, -1, 2**62], (3, 1)),
    "large int": (int, [-(2**63) + 2**61, 2**63 - 2**62, 0], (2**60, 2**58)),
    "datetime": (
        datetime | None,
        [None, EPOCH, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 2), datetime(9999, 12, 30)]
        + [EPOCH + n * 20 * SECOND for n in range(5)],
        (timedelta(minutes=1), timedelta(seconds=25)),
    ),
    "zoned": (
        Zoned | None,
        [None, *(CHANGE + n * timedelta(minutes=25) for n in range(6))],
        (timedelta(hours=1), timedelta(minutes=20)),
    ),
    "date": (
        date | None,
        [None, date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(2024, 3, 1)],
        (timedelta(days=2), timedelta(hours=36)),
    ),
}
USERS = [None, "ann", "bob"]


def row_of(name: str) -> Any:
    return flo.rows(NamedTuple("Click", [("user", str | None), ("at", TIMES[name][0]), ("n", int)]))


def counted(value: Any) -> Any:
    """A time as a number of microseconds."""
    if isinstance(value, datetime):
        return (value - (EPOCH if value.tzinfo is None else UTC_EPOCH)) // timedelta(microseconds=1)
    if isinstance(value, date):
        return counted(datetime(value.year, value.month, value.day))
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else value


def asked(verb: str, total: Counter[Any], size: int, every: int) -> Counter[Any]:
    """What SQL says about the rows, in integers that cannot overflow."""
    database = window_oracle.connection()
    rows = [[row.user, counted(row.at), row.n] for row, count in total.items() for _ in range(count)]
    database.execute("CREATE OR REPLACE TABLE clicks (u VARCHAR, t HUGEINT, n INT)")
    if rows:
        database.executemany("INSERT INTO clicks VALUES (?, ?, ?)", rows)
    last = f"t - ((t % {every}) + {every}) % {every}"
    sql = {
        "tumble": f"SELECT *, {last}, {last} + {size} FROM clicks",
        "hop": f"""SELECT u, t, n, s, s + {size} FROM (
            SELECT *, unnest(CASE WHEN t IS NULL THEN [NULL] ELSE list_transform(
                range(0, ({size} - 1) // {every} + 1), k -> {last} - k * {every}) END) AS s FROM clicks)
            WHERE t IS NULL OR (s <= t AND t < s + {size})""",
        "session": f"""SELECT u, t, n, min(t) OVER w, max(t) OVER w + {size} FROM (
            SELECT *, sum(f) OVER (PARTITION BY u ORDER BY t RANGE UNBOUNDED PRECEDING) AS g FROM (
                SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY u ORDER BY t) < {size} THEN 0 ELSE 1 END AS f
                FROM clicks WHERE t IS NOT NULL)) WINDOW w AS (PARTITION BY u, g)
            UNION ALL SELECT *, NULL, NULL FROM clicks WHERE t IS NULL""",
    }[verb]
    return Counter(database.execute(sql).fetchall())


def shown(rows: dict[Any, int]) -> Counter[Any]:
    return Counter({tuple(map(counted, row)): weight for row, weight in rows.items()})


VERBS = {
    "tumble": lambda rows, size, every: rows.tumble(every, "at"),
    "hop": lambda rows, size, every: rows.hop(size, every, "at"),
    "session": lambda rows, size, every: rows.session(size, "at", by="user"),
}


@pytest.mark.every(check=5, test=3)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", TIMES)
def test_it_is_sqls_after_every_delta(name: str, verb: str) -> None:
    row, (_, places, (size, every)) = row_of(name), TIMES[name]
    flow = flo.Flow("clicks")
    flow.output("found", VERBS[verb](flow.input("clicks", flo.ZSet[row]), size, every))
    assert " 0 on values, 0 conversions" in flow.on(flo.here).explain()
    rng, total = random.Random(f"{name} {verb}"), Counter[Any]()
    on_values, on_tables = flow.loop(), flow.on(flo.here).loop()
    for _ in range(12):
        delta = Counter[Any]()
        for _ in range(rng.randint(1, 6)):
            delta[row(rng.choice(USERS), rng.choice(places), rng.randrange(2))] += rng.choice([1, 2])
        for each in rng.sample(sorted(total, key=repr), min(len(total), rng.randint(0, 4))):
            delta[each] -= rng.randint(1, total[each])
        total = Counter({each: count for each in total | delta if (count := total[each] + delta[each])})
        expected = asked(verb, total, counted(every if verb == "tumble" else size), counted(every))
        for loop in (on_values, on_tables):
            loop.push(clicks=dict(delta))
            loop.run()
        assert shown(on_values.result()["found"]) == expected
        found = on_tables.result()["found"].to_pylist()
        tables = Counter[Any]()
        for each in found:
            *values, weight = each.values()
            tables[tuple(map(counted, values))] += weight
        assert tables == expected


class Reading(NamedTuple):
    at: float
    what: str


def test_floats_have_the_windows_of_sequences() -> None:
    """Sums and products of floats are rounded; the windows agree with those that a sequence is cut into."""
    rng = random.Random(1)
    rows = [Reading(rng.choice([n * 0.1, n / 3, rng.uniform(-9, 9), 1e9 + n]), "x") for n in range(-60, 60)]
    flow = flo.Flow("readings")
    readings = flow.input("readings", flo.Bag[Reading])
    flow.output("tumbled", readings.tumble(0.1, "at"))
    flow.output("hopped", readings.hop(0.5, 0.2, "at"))
    found = flow.run(readings=rows)
    on_tables = flow.on(flo.here).run(readings=rows)
    for name, windows in (("tumbled", Tumbling(0.1, "at")), ("hopped", Sliding(0.5, 0.2, "at"))):  # type: ignore[arg-type]
        expected = Counter((row.at, windows.start(n), windows.end(n)) for row in rows for n in windows.numbers(row.at))
        assert Counter({(row[0], row[2], row[3]): count for row, count in found[name].items()}) == expected
        given = on_tables[name].to_pylist()
        assert Counter((row["at"], row["window_start"], row["window_end"]) for row in given) == expected


@pytest.mark.parametrize("where", ["values", "tables"])
@pytest.mark.parametrize(
    ("kind", "at", "size"),
    [
        (int, 2**63 - 3, 10),
        (int, -(2**63), 10),
        (datetime, datetime.max, timedelta(days=1)),
        (datetime, datetime.min, timedelta(days=3)),
        (float, float("inf"), 1.0),
        (float, 1e300, 1e-3),
    ],
)
def test_windows_that_the_type_does_not_have_are_errors(where: str, kind: Any, at: Any, size: Any) -> None:
    row = flo.rows(NamedTuple("At", [("at", kind)]))
    flow = flo.Flow("extremes")
    flow.output("found", flow.input("rows", flo.ZSet[row]).tumble(size, "at"))
    with pytest.raises(flo.FloError, match=r"window|not a time"):
        (flow if where == "values" else flow.on(flo.here)).run(rows=[row(at)])


def test_columns_that_cannot_be_null_are_not() -> None:
    flow = flo.Flow("clicks")
    for name in ("int", "int without null"):
        rows = flow.input(name, flo.ZSet[row_of(name)])
        for made in (
            rows.tumble(5, "at"),
            rows.hop(5, 2, "at"),
            rows.session(5, "at"),
            rows.session(5, "at", by="user"),
        ):
            layout = Layout.of(made.collection.element)  # type: ignore[attr-defined]
            assert layout is not None
            assert [cell.nullable for cell in layout.cells[-2:]] == [name == "int"] * 2


def test_keys_of_rows() -> None:
    flow = flo.Flow("clicks")
    rows = flow.table("clicks", row_of("int without null"), key="n")
    assert rows.tumble(5, "at").key == ("n",)
    assert rows.hop(5, 2, "at").key == ("n", "window_start")  # a row is there once for each of its windows
    assert rows.session(5, "at").key == ("n",)


def test_groups_of_windows() -> None:
    """An expression as the time, and windows as groups."""
    flow = flo.Flow("clicks")
    rows = flow.input("clicks", flo.ZSet[row_of("int without null")])
    seconds = rows.tumble(2, nw.col("at") // 3).group_by("window_start").agg(n=flo.count())
    flow.output("found", seconds)
    row = row_of("int without null")
    found = flow.run(clicks=[row("a", 0, 1), row("a", 5, 2), row("a", 9, 3)])
    assert {tuple(each): n for each, n in found["found"].items()} == {(0, 2): 1, (2, 1): 1}


def test_a_row_concerns_its_session_only() -> None:
    """Most rows inside a session change nothing but themselves; other sessions are never looked at."""
    flow = flo.Flow("clicks")
    row = row_of("int without null")
    flow.output("found", flow.input("clicks", flo.ZSet[row]).session(5, "at", by="user"))
    loop = flow.on(flo.here).loop()
    loop.push(clicks=[row("ann", at, 0) for start in (0, 1000, 2000) for at in range(start, start + 100)])
    loop.pull("found")
    for at, changed in ((50, 1), (1101, 201), (1106, 1), (1103, 1 + 2 * 102), (600, 1)):
        loop.push(clicks=[row("ann", at, 1)])
        assert loop.pull("found").num_rows == changed


class Named(NamedTuple):
    user: str
    at: int
    window_end: int


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda rows: rows.tumble(5, "user"), "must be integers, floats, dates or times; 'user' of `rows` is str"),
        (lambda rows: rows.tumble(timedelta(1), "at"), "`size` of `tumble` must be an integer > 0"),
        (lambda rows: rows.tumble(0, "at"), "`size` of `tumble` must be an integer > 0"),
        (lambda rows: rows.tumble(True, "at"), "`size` of `tumble` must be an integer > 0"),
        (lambda rows: rows.tumble(5, lambda row: row.at), "`time` of `tumble` must be a column or an expression"),
        (lambda rows: rows.hop(5, 6, "at"), "`every` of `hop` must be ≤ `size`"),
        (lambda rows: rows.session(5, "at", by=[]), "`by` of `session` must be a column, or a list of columns"),
        (lambda rows: rows.session(5, "at", 3), "`session` does not take `lateness` here"),
        (lambda rows: rows.session(5, "at").session(5, "at"), "adds the column `window_start`, which .* already has"),
    ],
)
def test_what_cannot_be_windows_is_rejected(build: Any, said: str) -> None:
    flow = flo.Flow("refused")
    rows = flow.input("rows", flo.ZSet[Reading]).map({"user": "what", "at": nw.lit(1)})
    with pytest.raises(flo.FloError, match=said):
        build(rows)


def test_a_column_of_that_name_is_not_replaced() -> None:
    flow = flo.Flow("refused")
    rows = flow.input("rows", flo.ZSet[Named])
    with pytest.raises(flo.FloError, match="adds the column `window_end`, which `rows` already has"):
        rows.tumble(5, "at")
    assert rows.rename(window_end="old").tumble(5, "at").key is None


def test_hop_keeps_the_key_of_its_rows() -> None:
    flow = flo.Flow("keys")
    rows = flow.table("rows", Keyed, key="id")
    assert rows.hop(20, 10, "at").key == ("id", "window_start")


class Keyed(NamedTuple):
    id: int
    at: int
