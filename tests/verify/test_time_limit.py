"""Bounded work: what never returns is stopped, and the clocks of others keep running."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from flo.verify.time_limit import INTERVAL, SignalTimer, ThreadWatch, TimeLimit, TimeUp

pytestmark = pytest.mark.every(check=3)

SHORT = 0.05


def forever() -> None:
    while True:
        pass


def asleep() -> None:
    time.sleep(1000)


def stubborn() -> None:
    while True:
        with contextlib.suppress(Exception):
            time.sleep(1000)


def forgetful() -> None:
    try:
        time.sleep(1000)
    except BaseException:  # loses the first signal
        time.sleep(1000)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Every test leaves the signal and its timer as they were."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("function", [forever, asleep, stubborn, forgetful])
def test_what_never_returns_is_stopped(function: Callable[[], None]) -> None:
    with pytest.raises(TimeUp) as caught, TimeLimit(SHORT):
        function()
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    first = function.__code__.co_firstlineno
    assert first < caught.value.where.line < first + 8


def test_what_is_done_in_time_is_left_alone() -> None:
    with TimeLimit(60):
        done = sum(range(10))
    assert done == 45


def test_another_error_passes() -> None:
    with pytest.raises(ZeroDivisionError), TimeLimit(60):
        1 / 0  # noqa: B018


def test_the_inner_limit_ends_only_what_is_inside() -> None:
    with TimeLimit(60):
        with pytest.raises(TimeUp) as caught, TimeLimit(SHORT):
            forever()
        assert caught.value.seconds == SHORT
        assert signal.getitimer(signal.ITIMER_REAL)[1] == INTERVAL


def test_the_outer_limit_holds_inside_the_inner_one() -> None:
    with pytest.raises(TimeUp) as caught, TimeLimit(SHORT), TimeLimit(60):
        forever()
    assert caught.value.seconds == SHORT


def test_the_outer_limit_holds_after_the_inner_one() -> None:
    def twice() -> None:
        with pytest.raises(TimeUp), TimeLimit(SHORT):
            forever()
        forever()

    with pytest.raises(TimeUp) as caught, TimeLimit(2 * SHORT):
        twice()
    assert caught.value.seconds == 2 * SHORT


def test_a_handler_of_the_user_gets_its_signal() -> None:
    """During the limit if it is due then, and after it if it is due later."""
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        for due, limit in ((SHORT, 3 * SHORT), (3 * SHORT, SHORT)):
            rung.clear()
            signal.setitimer(signal.ITIMER_REAL, due)
            with pytest.raises(TimeUp), TimeLimit(limit):
                forever()
            with TimeLimit(60):
                while not rung:
                    pass
            assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_timer_of_the_user_that_repeats_still_does() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, SHORT, SHORT)
        with pytest.raises(TimeUp), TimeLimit(4 * SHORT):
            forever()
        assert len(rung) >= 2
        assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(SHORT)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_are_bounded_too() -> None:
    seen: list[object] = []

    def work() -> None:
        try:
            with TimeLimit(SHORT):
                forever()
        except TimeUp as up:
            seen.append(up.where and up.where.file)
        try:
            with TimeLimit(60), TimeLimit(SHORT):
                forever()
        except TimeUp as up:
            seen.append(up.seconds)
        with TimeLimit(60):
            seen.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(600)
    assert seen == [__file__, SHORT, "done"]


def test_clocks_that_jump_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that sleeps, or is busy with something else: the clock goes on, and nothing was done."""
    hours = iter(range(0, 10**9, 3600))
    for clock in ("monotonic", "time", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: float(next(hours)))
    rung = 0
    with TimeLimit(20), TimeLimit(10):
        before = time.process_time()
        while time.process_time() - before < 4 * INTERVAL:  # several rings
            rung += 1
    assert rung


def test_progress_is_patience() -> None:
    """So much processor time is for what happens between two signs of progress, and not for all of it."""
    done = 0
    with TimeLimit(2 * INTERVAL, lambda: done):
        begun = time.thread_time()
        while time.thread_time() - begun < 6 * INTERVAL:
            done += 1
    with pytest.raises(TimeUp) as caught, TimeLimit(2 * INTERVAL, lambda: done):
        forever()
    assert str(caught.value) == "after 0.1 s of processor time"


@dataclass
class Clock:
    """The processor time of a thread, set by hand."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replaces the thread's clock, so that a busy machine does not decide what is idle."""
    clock = Clock()
    monkeypatch.setattr("flo.verify.time_limit._processor_time", lambda: clock)
    return clock


def look_until_over(watch: ThreadWatch, clock: Clock, between: float) -> float:
    """Look again and again while the thread uses this processor time between two looks; return how much in all."""
    while not watch.is_over():
        clock.now += between
    return clock.now


def test_who_waits_for_ever_is_said_to_wait(clock: Clock) -> None:
    watch = ThreadWatch(SHORT, lambda: 0)
    look_until_over(watch, clock, between=0.0)
    assert watch.waited
    assert str(TimeUp(SHORT, waited=True)) == "while it waited and did nothing"


def test_who_works_is_not_said_to_wait(clock: Clock) -> None:
    watch = ThreadWatch(SHORT, lambda: 0)
    assert look_until_over(watch, clock, between=0.2 * INTERVAL) >= SHORT
    assert not watch.waited


def test_the_time_of_the_looks_does_not_count(clock: Clock) -> None:
    """On a slow machine a look takes more than the share of time that an idle thread may use."""

    def look() -> int:
        clock.now += 0.2 * INTERVAL
        return 0

    watch = ThreadWatch(SHORT, look)
    look_until_over(watch, clock, between=0.0)
    assert watch.waited


def test_a_signal_on_the_way_out_raises_nothing(clock: Clock) -> None:
    """Between the end of the block and the end of the timer. An error there would leave the timer running, whose next
    signal ends the process."""
    watch = ThreadWatch(SHORT, lambda: 0)
    look_until_over(watch, clock, between=SHORT)
    timer = SignalTimer(watch)
    leaving, working = (SimpleNamespace(f_code=each.__code__) for each in (TimeLimit.__exit__, forever))
    timer._on_signal(signal.SIGALRM, leaving)  # type: ignore[arg-type]
    with pytest.raises(TimeUp):
        timer._on_signal(signal.SIGALRM, working)  # type: ignore[arg-type]
