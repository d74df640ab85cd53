"""The programs of docs/cookbook.md on random data, on values and on tables, compared with DuckDB or plain Python."""

from __future__ import annotations

import contextlib
import io
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import flo
from flo.columns.layout import Layout
from tests.quick import is_thorough
from tests.test_docs import FENCED, ROOT, without_tests

PAGE = ROOT / "docs" / "cookbook.md"
MOST_LINES = 25
DELTAS = 4


def seeds() -> range:
    return range(20 if is_thorough() else 1)


Rows = Counter[tuple[Any, ...]]


def sections() -> dict[str, str]:
    """The program of each section, by its heading."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {}
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        ((_, found[heading]),) = [block for block in FENCED.findall(text) if block[0] == "python"]
    return found


PROGRAMS = sections()


@contextlib.contextmanager
def loaded(heading: str, folder: Path) -> Iterator[ModuleType]:
    """The program as a module that has run."""
    module = ModuleType("recipe")
    file = folder / "recipe.py"
    file.write_text(PROGRAMS[heading], encoding="utf-8")
    sys.modules["recipe"] = module
    try:
        with without_tests(), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(PROGRAMS[heading], str(file), "exec"), vars(module))
            yield module
    finally:
        del sys.modules["recipe"]


def test_every_program_is_compared_and_short() -> None:
    assert PROGRAMS.keys() == QUERIES.keys() | FUNCTIONS.keys()
    assert len(PROGRAMS) == 12
    for heading, code in PROGRAMS.items():
        lines = [line for line in code.splitlines() if line.strip() and not line.startswith(("import", "from"))]
        assert len(lines) <= MOST_LINES, heading


LETTERS = "abc"
MORNING = datetime(2026, 5, 1, 9)

QUERIES: dict[str, tuple[str, str, dict[str, tuple[str, Callable[[random.Random], tuple[Any, ...]]]]]] = {
    "Sessions": (
        "sessions",
        """WITH steps AS (
             SELECT *, lag("at") OVER (PARTITION BY "user" ORDER BY "at") AS before FROM clicks),
           starts AS (
             SELECT *, sum(CASE WHEN before IS NULL OR "at" - before >= INTERVAL 30 MINUTE THEN 1 ELSE 0 END)
               OVER (PARTITION BY "user" ORDER BY "at" ROWS UNBOUNDED PRECEDING) AS number FROM steps)
           SELECT "user", min("at"), count(*), min_by(page, "at"), max("at") FROM starts GROUP BY "user", number""",
        {
            "clicks": (
                "Click",
                lambda rng: (rng.choice(LETTERS), MORNING + timedelta(minutes=rng.randrange(300)), "home"),
            )
        },
    ),
    "Top ten": (
        "best",
        """SELECT shop, item, cents FROM (SELECT shop, item, sum(cents) AS cents FROM sales GROUP BY shop, item)
           QUALIFY row_number() OVER (PARTITION BY shop ORDER BY cents DESC, item) <= 10""",
        {"sales": ("Sale", lambda rng: (rng.choice(LETTERS), f"item {rng.randrange(30)}", rng.randrange(-5, 20)))},
    ),
    "Running totals": (
        "balances",
        """SELECT account, day, cents, sum(cents) OVER (PARTITION BY account ORDER BY day, cents
           ROWS UNBOUNDED PRECEDING) FROM bookings""",
        {"bookings": ("Booking", lambda rng: (rng.choice(LETTERS), rng.randrange(20), rng.randrange(-50, 50)))},
    ),
    "As-of join": (
        "priced",
        """SELECT t.symbol, t.second, t.pieces, q.second, q.price FROM trades AS t
           ASOF LEFT JOIN (SELECT DISTINCT ON (symbol, second) * FROM quotes) AS q
           ON t.symbol = q.symbol AND t.second >= q.second""",
        {
            "trades": ("Trade", lambda rng: (rng.choice(LETTERS), rng.randrange(50), rng.randrange(5))),
            # the price follows from the time: which of two quotes at one time is taken makes no difference
            "quotes": ("Quote", lambda rng: (rng.choice(LETTERS), (at := rng.randrange(50)), float(at % 7))),
        },
    ),
    "Correlated subquery": (
        "above",
        """SELECT item, price, (SELECT avg(price) FROM sales WHERE item = s.item) FROM sales AS s
           WHERE price > (SELECT avg(price) FROM sales WHERE item = s.item)""",
        {"sales": ("Sale", lambda rng: (rng.choice(LETTERS), float(rng.randrange(8))))},
    ),
    "Your own aggregate": (
        "prices",
        "SELECT symbol, sum(price * pieces) / sum(pieces) FROM trades GROUP BY symbol",
        {"trades": ("Trade", lambda rng: (rng.choice(LETTERS), rng.randrange(20) / 4, rng.randrange(1, 9)))},
    ),
    "Two hops, with deletions": (
        "suggested",
        """SELECT DISTINCT f.one, g.other FROM friends AS f JOIN friends AS g ON f.other = g.one
           WHERE f.one <> g.other AND (f.one, g.other) NOT IN (SELECT (one, other) FROM friends)""",
        {"friends": ("Friends", lambda rng: (rng.choice("abcdef"), rng.choice("abcdef")))},
    ),
}
"""The output, the query, and the rows of each input."""


def engines(flow: flo.Flow) -> list[Any]:
    return [flow.loop(), flow.on(flo.here).loop()]


def rows_of(value: Any) -> Rows:
    """The rows of an output on values or on tables, with how often they are there."""
    if isinstance(value, pa.Table):
        weights = value["_weight"].to_pylist() if "_weight" in value.column_names else [1] * len(value)
        columns = [each for each in value.column_names if each != "_weight"]
        items = list(zip(value.select(columns).to_pylist(), weights, strict=True))
    else:
        items = list(value.items()) if hasattr(value, "items") else [(row, 1) for row in value]
    found: Rows = Counter()
    for row, weight in items:
        found[_plain(row)] += weight
    return found


def _plain(row: Any) -> tuple[Any, ...]:
    values = row.values() if isinstance(row, dict) else row
    return tuple(_plain(each) if isinstance(each, (tuple, dict)) else _number(each) for each in values)


@pytest.mark.thorough
def test_mypy_accepts_the_programs(tmp_path: Path) -> None:
    for number, code in enumerate(sections().values()):
        (tmp_path / f"program_{number}.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, tmp_path.glob("*.py"))], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("heading", QUERIES)
def test_as_duckdb_has_it(heading: str, tmp_path: Path) -> None:
    output, query, inputs = QUERIES[heading]
    with loaded(heading, tmp_path) as recipe:
        for seed in seeds():
            rng = random.Random(f"{heading} {seed}")
            loops, there = engines(recipe.flow), {name: Counter[Any]() for name in inputs}
            for _ in range(DELTAS):
                delta = {name: draw(rng, there[name], recipe, *of) for name, of in inputs.items()}
                with duckdb.connect() as database:
                    for name, rows in there.items():
                        kind = getattr(recipe, inputs[name][0])
                        database.register(f"{name}_rows", Layout.of(kind).to_table(list(rows.elements())))
                        database.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_rows")
                    expected = Counter(map(_plain, database.sql(query).fetchall()))
                for loop in loops:
                    loop.push(**delta)
                    loop.run()
                    assert rows_of(loop.result()[output]) == expected, f"seed {seed}"


def draw(rng: random.Random, there: Counter[Any], recipe: Any, kind: str, values: Any) -> dict[Any, int]:
    """Some rows come, and some of those that are there go."""
    delta: Counter[Any] = Counter(getattr(recipe, kind)(*values(rng)) for _ in range(8))
    for row in rng.sample(sorted(there.elements()), min(3, there.total())):
        delta[row] -= 1
    there.update(delta)
    for row in [row for row, count in there.items() if not count]:
        del there[row]
    return {row: weight for row, weight in delta.items() if weight}


def _number(value: Any) -> Any:
    """Sums are decimals on values and in DuckDB."""
    return int(value) if isinstance(value, Decimal) else value


def minutes_of(clicks: list[Any]) -> dict[str, Rows]:
    """A click is late if the clock has passed the end of its minute. A minute is final when the clock has."""
    clock, on_time, late = float("-inf"), list[Any](), list[Any]()
    for click in clicks:
        clock = max(clock, click.second - 10)
        (late if (click.second // 60 + 1) * 60 <= clock else on_time).append(click)
    starts = Counter((c.second // 60 * 60, c.second // 60 * 60 + 60, c.page) for c in on_time)
    return {
        "minutes": Counter({(*key, n): 1 for key, n in starts.items() if key[1] <= clock}),
        "late": Counter(map(tuple, late)),
    }


def payments_once(payments: list[Any]) -> dict[str, Rows]:
    known: dict[str, int] = {}
    latest, once = float("-inf"), list[Any]()
    for payment in payments:
        latest = max(latest, payment.second)
        known = {key: at for key, at in known.items() if latest - at <= 3600}
        if payment.id not in known:
            known[payment.id] = int(latest)
            once.append(payment)
    return {
        "once": Counter(map(tuple, once)),
        "total": Counter([(sum(each.cents for each in once) if once else None,)]),
    }


def alerts_of(readings: list[Any]) -> dict[str, Rows]:
    hot, found = set[str](), Counter[Any]()
    for reading in readings:
        if reading.degrees < 80:
            hot.discard(reading.sensor)
        elif reading.degrees > 90 and reading.sensor not in hot:
            hot.add(reading.sensor)
            found[reading.sensor, tuple(reading)] += 1
    return {"alerts": found}


def status_of(scans: list[Any]) -> dict[str, Rows]:
    order, status = {"packed": 1, "sent": 2, "received": 3}, dict[str, int]()
    for scan in scans:
        step = status.setdefault(scan.parcel, 0)
        status[scan.parcel] = step + (order[scan.event] == step + 1)
    names = ["new", "packed", "on its way", "delivered"]
    return {"status": Counter((parcel, names[step]) for parcel, step in status.items())}


FUNCTIONS: dict[str, Any] = {
    "Clicks per minute, with late data": (
        minutes_of, "clicks", "Click", lambda rng, n: (rng.choice(LETTERS), max(0, 9 * n + rng.randrange(-40, 40))),
    ),
    "Deduplicate": (
        payments_once, "payments", "Payment", lambda rng, n: (f"p{rng.randrange(9)}", 600 * n, rng.randrange(99)),
    ),
    "Alert once": (
        alerts_of, "readings", "Reading", lambda rng, n: (rng.choice(LETTERS), float(rng.randrange(75, 96))),
    ),
    "Your own function for each key": (
        status_of, "scans", "Scan", lambda rng, n: (rng.choice(LETTERS), rng.choice(["packed", "sent", "received"])),
    ),
    "Change data and a dimension": None,
}  # fmt: skip
"""What Python has for it, the input, the class of its rows, how the n-th row is drawn; None for a test of its own."""


@pytest.mark.parametrize("heading", [heading for heading, of in FUNCTIONS.items() if of is not None])
def test_as_python_has_it(heading: str, tmp_path: Path) -> None:
    expect, name, kind, values = FUNCTIONS[heading]
    with loaded(heading, tmp_path) as recipe:
        for seed in seeds():
            rng = random.Random(f"{heading} {seed}")
            loops, there = engines(recipe.flow), list[Any]()
            for _ in range(DELTAS):
                delta = [getattr(recipe, kind)(*values(rng, len(there) + n)) for n in range(rng.randrange(12))]
                there += delta
                expected = expect(there)
                for loop in loops:
                    loop.push(**{name: delta})
                    loop.run()
                    result = loop.result()
                    for output, rows in expected.items():
                        assert rows_of(_flat(result[output])) == rows, f"{output}, seed {seed}"


def _flat(value: Any) -> Any:
    """The elements of a keyed result, each with its key."""
    if isinstance(value, dict) and all(isinstance(each, list) for each in value.values()):
        return [(key, each) for key, own in value.items() for each in own]
    return value


def test_change_data_follows_updates_and_deletions(tmp_path: Path) -> None:
    with loaded("Change data and a dimension", tmp_path) as recipe:
        for seed in seeds():
            rng = random.Random(seed)
            loop = recipe.flow.on(flo.here).loop()
            orders, customers = dict[int, Any](), dict[int, Any]()
            for _ in range(DELTAS):
                some = {n: recipe.Order(n, rng.randrange(4), rng.randrange(99)) for n in rng.sample(range(9), 4)}
                moved = {n: recipe.Customer(n, rng.choice(LETTERS)) for n in rng.sample(range(4), 2)}
                gone = [n for n in rng.sample(range(9), 2) if n not in some]
                orders = {n: order for n, order in (orders | some).items() if n not in gone}
                customers |= moved
                changes = [*some.values(), *({"id": n, "customer": 0, "cents": 0, "_deleted": True} for n in gone)]
                expected: Counter[str] = Counter()
                for order in orders.values():
                    if order.customer in customers:
                        expected[customers[order.customer].city] += order.cents
                there = {customers[o.customer].city for o in orders.values() if o.customer in customers}
                loop.push(orders=changes, customers=list(moved.values()))
                found = {row["city"]: row["cents"] for row in loop.result()["cities"].to_pylist()}
                assert found == {city: expected[city] for city in there}, f"seed {seed}"
