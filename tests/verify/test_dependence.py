"""Functions whose result depends on more than their arguments: on earlier calls, on the process, on a clock."""

from __future__ import annotations

import datetime
import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.verify import check, laws
from flo.verify.captured import Captured
from flo.verify.data.constants import impure_uses
from flo.verify.processes import NOT_RUN

WORK = 1_000
pytestmark = pytest.mark.every(check=4)


def flow_of(function: Callable[..., Any], element: Any = int) -> flo.Flow:
    flow = flo.Flow("dependent")
    flow.output("out", flow.input("xs", flo.Sequence[element]).map(function))
    return flow


best: list[int] = [0]
total = 0
memo: dict[int, int] = {}
log: list[int] = []


def in_a_closure() -> Callable[[int], int]:
    known = 0

    def largest_yet(x: int) -> int:
        nonlocal known
        known = max(known, x)
        return known

    return largest_yet


def in_a_global_list(x: int) -> int:
    best[0] = max(best[0], x)
    return best[0]


def in_a_global(x: int) -> int:
    global total
    total = max(total, x)
    return total


def in_a_default(x: int, seen: set[int] = set()) -> int:  # noqa: B006
    seen.add(x)
    return len(seen)


def in_a_function_it_calls(x: int) -> int:
    return in_a_global_list(x) + 1


class Scaler:
    def __init__(self) -> None:
        self.largest = 1

    def scaled(self, x: int) -> float:
        self.largest = max(self.largest, abs(x))
        return x / self.largest

    def __call__(self, x: int) -> float:
        return self.scaled(x)


def remembering(x: int) -> int:
    if x not in memo:
        memo[x] = x * x
    return memo[x]


@functools.cache
def cached(x: int) -> int:
    return x * x


def logging(x: int) -> int:
    log.append(x)
    return x + 1


CHANGING = [
    in_a_closure(),
    in_a_global_list,
    in_a_global,
    in_a_default,
    in_a_function_it_calls,
    Scaler().scaled,
    Scaler(),
    functools.partial(lambda known, x: known.append(max(known[-1], x)) or known[-1], [0]),
]


@pytest.fixture(autouse=True)
def fresh() -> None:
    global total
    total = 0
    best[0] = 0
    memo.clear()
    in_a_default.__defaults__[0].clear()  # type: ignore[index]


@pytest.mark.every(test=3)
@pytest.mark.parametrize("function", CHANGING, ids=lambda each: getattr(each, "__name__", type(each).__name__))
def test_a_function_that_depends_on_what_it_changes_breaks_a_law(function: Callable[..., Any]) -> None:
    before = Captured([function])
    report = check(function, int, work=WORK)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.A_FUNCTION
    assert "which it captures, has changed" in report.counterexample.about
    before.restore()
    assert not before.changed()
    assert not check(flow_of(function), work=WORK).ok


@pytest.mark.parametrize("function", [remembering, logging], ids=lambda each: each.__name__)
def test_changes_that_no_result_shows_are_a_caveat(function: Callable[..., Any]) -> None:
    name = {"remembering": "memo", "logging": "log"}[function.__name__]
    for report in (check(function, int, work=WORK), check(flow_of(function), work=WORK)):
        assert report.ok
        log.clear()
        memo.clear()
        assert f"changes `{name}`, which it captures" in report.verdict


@pytest.mark.parametrize("function", [cached, lambda x: x + len(CHANGING)])
def test_what_stays_as_it_is_needs_no_caveat(function: Callable[..., Any]) -> None:
    assert check(flow_of(function), work=WORK).verdict == "passes"
    assert check(function, int, work=WORK).verdict == "passes"


def test_the_counterexample_can_be_repeated() -> None:
    report = check(in_a_global_list, int, work=WORK)
    assert report.counterexample is not None
    best[0] = 0
    printed: list[Any] = []
    exec(report.counterexample.reproduce, {**globals(), "print": printed.append})
    assert printed[0] != printed[-1]
    assert report.counterexample.outcomes == (repr(printed[0]), repr(printed[-1]))


def test_explore_runs_again_from_the_same_captured_state() -> None:
    calls = [0]

    def every_hundredth(x: int) -> int:  # equal states are explored once, so the schedules alone do not show it
        calls[0] += 1
        return x if calls[0] < 20 else -x

    found = flow_of(every_hundredth).explore(xs=list(range(15)), most_states=400)
    assert not found.ok

    calm = flow_of(logging).explore(xs=[1, 2])
    assert calm.ok
    assert str(calm).endswith("a function changes `log`, which it captures")


def by_hash(x: str) -> int:
    return hash(x) % 4


def in_set_order(x: str) -> str:
    return "".join({*x, "a", "b", "c", "d"})


def in_frozenset_order(x: frozenset[str]) -> list[str]:
    return list(x)


def by_process(x: int) -> int:
    return x + os.getpid()


def sorted_set(x: str) -> str:
    return "".join(sorted({*x, "a", "b", "c", "d"}))


def size_of_set(x: str) -> int:
    return len(set(x))


@pytest.mark.every(test=3)
@pytest.mark.parametrize(
    ("function", "kind"), [(by_hash, str), (in_set_order, str), (by_process, int)], ids=lambda each: each.__name__
)
def test_other_processes_show_other_results(function: Callable[..., Any], kind: Any) -> None:
    report = check(function, kind, work=WORK)
    assert report.counterexample is not None
    assert report.counterexample.law == laws.A_FUNCTION
    assert report.counterexample.columns[0][0] == "PYTHONHASHSEED=1"


@pytest.mark.thorough
def test_other_processes_run_flows_of_lambdas_too() -> None:
    assert not check(flow_of(lambda x: hash(x) % 4, str), work=WORK).ok
    found = flow_of(lambda x: "".join({*x, "a", "b", "c"}), str).explore(xs=["x", "y", "z"])
    assert not found.ok
    assert "in two processes" in str(found)


@pytest.mark.thorough
def test_the_difference_between_processes_is_real() -> None:
    report = check(by_hash, str, work=WORK)
    assert report.counterexample is not None
    (first, call), (second, _) = report.counterexample.columns
    printed = []
    for seed in (first, second):
        line = f"from {__name__} import by_hash as f; print({call})"
        environment = {**os.environ, "PYTHONHASHSEED": seed.partition("=")[2], "PYTHONPATH": os.pathsep.join(sys.path)}
        answer = subprocess.run([sys.executable, "-c", line], env=environment, capture_output=True, check=True)
        printed.append(answer.stdout.decode().strip())
    assert tuple(printed) == report.counterexample.outcomes


@pytest.mark.every(test=2)
@pytest.mark.parametrize("function", [sorted_set, size_of_set], ids=lambda each: each.__name__)
@pytest.mark.thorough
def test_sets_whose_order_does_not_matter_pass(function: Callable[..., Any]) -> None:
    assert check(function, str, work=WORK).verdict == "passes"


def counted_down(text: str, n: int = 2) -> str:
    """It refers to itself, and to the order of a set."""
    return counted_down(text, n - 1) if n else "".join({text, "b", "cc"})


@pytest.mark.thorough
def test_a_function_that_calls_itself_runs_in_other_processes() -> None:
    assert not check(counted_down, str, work=WORK).ok


def test_what_cannot_run_in_other_processes_is_a_gap() -> None:
    lock = threading.Lock()

    def locked(x: str) -> list[str]:
        with lock:
            return sorted({x, "b"})

    assert check(locked, str, work=WORK).gaps == (NOT_RUN,)
    assert NOT_RUN in check(flow_of(locked, str), work=WORK).gaps
    assert NOT_RUN in str(flow_of(locked, str).explore(xs=["x"]))


MAIN = """
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import flo
from flo.verify import check


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


class Order(NamedTuple):
    who: str
    price: int


@dataclass(frozen=True)
class Parcel:
    names: tuple[str, ...]
    size: Size

    def merged(self) -> Parcel:
        return parcel_of(set(self.names))


def parcel_of(names: set[str]) -> Parcel:
    return Parcel(tuple(sorted(names)), Size.LARGE if len(names) > 1 else Size.SMALL)


def legal(order: Order) -> Parcel:
    return parcel_of({order.who, "b"}).merged()


def impure(order: Order) -> str:
    return ",".join({order.who, "b", "cc"})


for function in (legal, impure):
    flow = flo.Flow(function.__name__)
    flow.output("out", flow.input("orders", flo.Sequence[Order]).map(function))
    print(check(flow, work=1000).verdict)
"""


@pytest.mark.thorough
def test_classes_of_main_are_known_in_other_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(MAIN)
    answer = subprocess.run([sys.executable, str(script)], capture_output=True, check=True, text=True)
    assert answer.stdout.splitlines() == ["passes", "breaks a law"]


def with_import(x: int) -> float:
    import time as clock

    return clock.time() + x


LATER = ", which gives another result later"
USES: list[tuple[Callable[..., Any], list[str]]] = [
    (lambda x: time.time(), ["calls time.time" + LATER]),
    (lambda x: time.gmtime(x), []),
    (lambda x: time.strftime("%Y", time.gmtime(x)), []),
    (lambda x: time.gmtime(), ["calls time.gmtime" + LATER]),
    (lambda x: f"{time.strftime('%H')} {x}", ["calls time.strftime" + LATER]),
    (lambda x: f"{datetime.datetime.now():%H} {x}", ["calls datetime.now" + LATER]),
    (lambda x: datetime.datetime.fromtimestamp(x), []),
    (lambda x, clock=time.monotonic: clock(), ["calls time.monotonic" + LATER]),
    (with_import, ["calls time.time" + LATER]),
    (lambda x: hash(x), ["calls hash, which gives another result for the same text in each process"]),
    (lambda x: id(x), ["calls id, which gives another result in each process"]),
    (lambda x: os.environ["HOME"], ["reads os.environ, which depends on where it runs"]),
    (lambda x: os.getenv("HOME"), ["calls os.getenv, which depends on where it runs"]),
    (
        lambda x: open("a").read(),  # noqa: SIM115
        ["calls open, which depends on where it runs"],
    ),
    (lambda x: x is best, ["compares with `is`, which may tell equal values apart"]),
    (lambda x: x is None or x is Ellipsis or type(x) is int, []),
    (lambda x: type(x) is int, []),
]


@pytest.mark.parametrize(("function", "uses"), USES)
def test_uses_are_read_from_the_code(function: Callable[..., Any], uses: list[str]) -> None:
    assert impure_uses(function) == uses


def test_a_flow_without_a_clock_lacks_no_rule_of_clocks() -> None:
    flow = flo.Flow("keyed")
    keyed = flow.input("xs", flo.Sequence[int]).key_by(lambda x: x % 2)
    flow.output("out", keyed.per_key(lambda of_key: of_key.map(lambda x: x + 1)))
    assert check(flow, work=3_000).verdict == "passes"


@pytest.mark.parametrize("collection", [flo.Bag, flo.ZSet, flo.Sequence])
def test_the_advice_names_a_type_of_the_inputs(collection: Any) -> None:
    flow = flo.Flow("pairs")
    pairs = flow.input("xs", collection[float]).map(lambda x: (x, x))
    flow.output("out", pairs.map(lambda pair: 1 / pair[1]))
    with pytest.raises(flo.FunctionError) as error:
        check(flow, work=WORK)
    assert error.value.instead == (("examples={float: […]}", "only values that it is meant for"),)
    assert check(flow, work=WORK, examples={float: [1.0, 2.0]}).counterexample is None
