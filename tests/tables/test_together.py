"""Several things at once: what is computed in two threads is what one thread computes."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.tables import together
from flo.tables.together import do_all, using_cores


class Row(NamedTuple):
    k: int
    v: int


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are many, whatever the machine."""
    monkeypatch.setattr(together, "MANY", 1)
    monkeypatch.setattr(together, "_count_cores", lambda: 2)


def test_results_are_in_the_order_of_the_tasks() -> None:
    with using_cores():
        for count in range(9):
            assert do_all(1, *(lambda place=place: place for place in range(count))) == list(range(count))


def test_two_threads_work() -> None:
    met = threading.Barrier(2, timeout=20)
    with using_cores():
        assert sorted(do_all(1, met.wait, met.wait)) == [0, 1]


def test_one_thread_works_unless_cores_may_be_used() -> None:
    here = threading.current_thread()
    assert do_all(1, threading.current_thread, threading.current_thread) == [here, here]


def test_a_thread_that_works_for_others_is_not_waited_for() -> None:
    free, results = threading.Event(), list[int]()

    def compute() -> None:
        with using_cores():
            results.extend(do_all(1, lambda: 1, lambda: 2))

    busy = together._pool(os.getpid()).submit(free.wait, 60)
    try:
        here = threading.Thread(target=compute, daemon=True)
        here.start()
        here.join(20)
        assert results == [1, 2]
    finally:
        free.set()
        busy.result()


def test_one_thread_works_when_the_interpreter_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = ThreadPoolExecutor(1)
    ended.shutdown()
    monkeypatch.setattr(together, "_pool", lambda process: ended)
    with using_cores():
        assert do_all(1, lambda: 1, lambda: 2) == [1, 2]


@pytest.mark.parametrize("place", range(4))
def test_an_error_is_raised_and_nothing_runs_after_it(place: int) -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == place:
            raise ValueError(f"task {number}")
        done.append(number)

    with using_cores():
        with pytest.raises(ValueError, match=f"task {place}"):
            do_all(1, *(lambda number=number: work(number) for number in range(4)))
        count = len(done)
        assert do_all(1, lambda: 1, lambda: 2) == [1, 2]
    assert len(done) == count


@pytest.mark.parametrize("seed", range(6))
def test_a_join_in_two_threads(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, rows = random.Random(seed), [Counter[Row](), Counter[Row]()]
    flow = flo.Flow("join")
    a, b = flow.input("a", flo.ZSet[Row]), flow.input("b", flo.ZSet[Row])
    flow.output("pairs", a.join(b, "k", "k", {"k": "k", "one": "v", "other": "v_right"}))
    threads: set[str] = set()
    make = pa.concat_tables

    def watched(*given: object, **more: object) -> pa.Table:
        threads.add(threading.current_thread().name)
        return make(*given, **more)

    monkeypatch.setattr(pa, "concat_tables", watched)
    loop, found = flow.on(flo.here).loop(), Counter[tuple[int, int, int]]()
    keys = [-(2**63), 0, 1, 2**63 - 1]
    for _ in range(30):
        side = rng.randrange(2)
        delta = Counter({Row(rng.choice(keys), rng.randrange(5)): rng.choice([-2, -1, 1, 3]) for _ in range(9)})
        rows[side].update(delta)
        loop.push("ab"[side], dict(delta))
        for each in loop.pull("pairs").to_pylist():
            found[each["k"], each["one"], each["other"]] += each["_weight"]
    wanted: Counter[tuple[int, int, int]] = Counter()
    for one, weight in rows[0].items():
        for other, times in rows[1].items():
            if one.k == other.k:
                wanted[one.k, one.v, other.v] += weight * times
    assert {row: weight for row, weight in found.items() if weight} == {
        row: weight for row, weight in wanted.items() if weight
    }
    assert len(threads) == 2


def test_an_expression_that_another_thread_calls_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one cache of results of single calls, which the other begins anew."""
    layout = Layout.of(Row)
    assert layout is not None
    total = Expression(nw.col("k") + nw.col("v"), (layout,))
    evaluate = Expression._evaluate

    def interrupted(self: Expression, *given: Any) -> None:
        evaluate(self, *given)
        monkeypatch.setattr(Expression, "_evaluate", evaluate)
        self.prepare([Row(5, 6)])

    monkeypatch.setattr(Expression, "_evaluate", interrupted)
    assert total(Row(1, 2)) == 3
