"""A flow on tables in this process gives what it gives on values."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import flo
from flo.local import run_progress as progress
from tests.quick import tried


class Order(NamedTuple):
    user: int
    price: int


class User(NamedTuple):
    id: int
    name: str


def user_of(order: Order) -> int:
    return order.user


def id_of(user: User) -> int:
    return user.id


def price_of(pair: tuple[Order, User]) -> int:
    return pair[0].price


def joined() -> flo.Flow:
    flow = flo.Flow("joined")
    orders = flow.input("orders", flo.ZSet[Order])
    users = flow.input("users", flo.ZSet[User], bounded=True)
    pairs = orders.join(users, user_of, id_of)
    flow.output("pairs", pairs)
    flow.output("prices", pairs.map(price_of))
    return flow


orders = st.dictionaries(
    st.builds(Order, st.integers(0, 2), st.integers(0, 3)), st.sampled_from([1, 2, -1]), max_size=5
)
users = st.dictionaries(st.builds(User, st.integers(0, 2), st.sampled_from(["a", "b"])), st.just(1), max_size=3)


def weights(table: pa.Table) -> dict[Any, int]:
    return {str({k: v for k, v in row.items() if k != "_weight"}): row["_weight"] for row in table.to_pylist()}


@given(orders, users)
@tried(20)
def test_the_same_result_as_on_values(orders: Any, users: Any) -> None:
    expected = joined().run(orders=orders, users=users, negative="allow")
    found = joined().on(flo.here).run(orders=orders, users=users, negative="allow")
    assert weights(found["prices"]) == {str({"value": v}): w for v, w in expected["prices"].items()}
    assert weights(found["pairs"]) == {
        str({"0": o._asdict(), "1": u._asdict()}): w for (o, u), w in expected["pairs"].items()
    }
    assert found.fixed("pairs") is expected.fixed("pairs") is False


def test_a_loop_by_hand() -> None:
    loop = joined().on(flo.here).loop()
    loop.push(orders=[Order(1, 5)])
    assert loop.pull("prices").num_rows == 0
    loop.push("users", pa.table({"id": [1], "name": ["a"]}))
    loop.end("users")
    loop.run()
    assert loop.pull("prices").to_pydict() == {"value": [5], "_weight": [1]}
    loop.push(orders={Order(1, 5): -1})
    assert loop.pull("prices").to_pydict() == {"value": [5], "_weight": [-1]}
    with pytest.raises(flo.ElementError, match="`users` has ended and takes no more data"):
        loop.push(users=[User(2, "b")])
    assert loop.result()["prices"].num_rows == 0


def test_other_collections_come_as_plain_python() -> None:
    flow = flo.Flow("both")
    numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
    flow.output("sums", numbers.batch(2).nest(lambda b: b.fold(0, lambda n, x: n + x)))
    flow.output("largest", numbers.fold_lattice(flo.Max(int)))
    flow.output("same", numbers)
    expected = flow.run(numbers=[1, 2, 3])
    found = flow.on(flo.here).run(numbers=pa.table({"n": [1, 2, 3]}))
    assert (found["sums"], found["largest"]) == (expected["sums"], expected["largest"])
    assert found["same"]["value"].to_pylist() == [1, 2, 3]
    assert found.fixed("same")


class Event(NamedTuple):
    time: int
    what: str


def time_of(event: Event) -> int:
    return event.time


def test_late_rows_are_a_table() -> None:
    flow = flo.Flow("windows")
    events = flow.input("events", flo.Sequence[Event])
    flow.output("windows", events.tumbling(10, time=time_of))
    data = [Event(1, "a"), Event(25, "b"), Event(2, "late")]
    late = flow.on(flo.here).run(events=data).late
    assert [table.to_pylist() for table in late.values()] == [[{"time": 2, "what": "late"}]]
    assert late.keys() == flow.run(events=data).late.keys()


def test_explain_says_what_runs_how() -> None:
    text = joined().on(flo.here).explain()
    assert "join_zsets(user_of, id_of)   on tables   " in text
    assert "left: a trace; right: a trace" in text
    assert "row by row in Python" in text.splitlines()[-1]
    loop = joined().on(flo.here).loop()
    loop.push(orders=[Order(1, 5), Order(2, 5)])
    assert "a trace of 2 rows" in loop.explain()
    rows, size = loop.state
    assert rows == 2
    assert size > 0


def test_the_result_does_not_depend_on_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    from flo.tables.io import files as inputs

    orders = pa.table({"user": [1, 2, 1, 3], "price": [1, 2, 3, 4]})
    users = pa.table({"id": [3, 1], "name": ["c", "a"]})
    whole = weights(joined().on(flo.here).run(orders=orders, users=users)["pairs"])
    monkeypatch.setattr(inputs, "SLICE", 1)
    assert weights(joined().on(flo.here).run(orders=orders, users=users)["pairs"]) == whole
    assert len(whole) == 3


def test_what_is_refused() -> None:
    with pytest.raises(flo.UnknownNameError, match="must get data for the bounded input `users`"):
        joined().on(flo.here).run(orders=[])
    with pytest.raises(flo.UnknownNameError, match="no input called `order`"):
        joined().on(flo.here).run(order=[], users=[])
    with pytest.raises(flo.TypeMismatch, match="`on` must get a place to run on"):
        joined().on("here")  # type: ignore[arg-type]
    with pytest.raises(flo.TypeMismatch, match="`on_error` must be one of 'raise', 'divert'; got 'ignore'"):
        joined().on(flo.here).run(users=[], on_error="ignore")  # type: ignore[arg-type]
    flow = flo.Flow("sequence")
    flow.output("same", flow.input("numbers", flo.Sequence[int]))
    with pytest.raises(flo.OrderError, match="a set has no defined order"):
        flow.on(flo.here).run(numbers={1, 2})


def shown(terminal: bool, total: int | None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=200)
    with progress.RunProgress("orders", total, console) as run:
        run.moved(1000, (10, 2_500_000))
        run.said("`orders`: 2 rows diverted, 998 taken")
    return text.getvalue()


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(False, 2000, monkeypatch) == ""
    text = shown(True, 2000, monkeypatch)
    for part in ("1,000 rows", "state 10 rows, 2.5 MB", "50%", "2 rows diverted"):
        assert part in text
    assert "%" not in shown(True, None, monkeypatch)


def test_a_program_on_values_does_not_wait_for_arrow() -> None:
    lines = (
        "import sys, flo",
        "flow = flo.Flow()",
        "flow.output('more', flow.input('numbers', flo.Bag[int]).map(lambda n: n + 1))",
        "assert flow.run(numbers=[1])['more'] == {2: 1}",
        "print(*sorted({'pyarrow', 'numpy', 'narwhals'} & sys.modules.keys()), flo.rows.__name__)",
    )
    found = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert found.stdout == "rows\n"


def test_a_short_run_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    joined().on(flo.here).run(orders=[], users=[])
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
