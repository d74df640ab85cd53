"""Bounded work, for functions of the user that may never return.

What is counted is the processor time of the thread, and not that of a clock: on a busy machine a function takes longer,
and does no more. A function that only waits, as `time.sleep` does, uses none, and is known by that.
"""

from __future__ import annotations

import copy
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from flo.core.errors import PACKAGE, Origin, brief, is_users
from flo.values.operators.shapes import is_immutable

if TYPE_CHECKING:
    pass


RING = 0.05
"""After so many seconds by the clock it is looked at what was done, again and again."""
STILL = 0.01
"""Who uses less than this part of the time between two rings stands still."""
LEAST_RINGS = 20
"""So many rings in a row, at least, somebody stands still who waits for something that does not come."""
PATIENCE = 4
"""So many times as long, by the clock, somebody may stand still as work."""


class TimeUp(BaseException):
    """Too much was done in one call. No `Exception`: what a function does about its own errors must not stop this."""

    def __init__(self, seconds: float = 0.0, where: Origin | None = None, waited: bool = False) -> None:
        self.seconds = seconds
        self.waited = waited
        """It used no processor time at all."""
        super().__init__(self.spent)
        self.where = where
        """The user's line that was running, if there is one."""
        self.given: tuple[Any, ...] = ()
        """What the function was called with, if whoever called it says so."""
        self.call = ""
        """The call of the user's function that was running, as text, if there is one."""

    @property
    def spent(self) -> str:
        """How much was done when it was given up, for people."""
        return "while it waited and did nothing" if self.waited else f"after {self.seconds:g} s of processor time"


class within:  # noqa: N801  # reads as a statement: `with within(2.0):`
    """Bounds what runs inside, also `while True: pass`; raises `TimeUp`.

    It may use so many `seconds` of processor time in which `progress` stays what it was. In the main thread a signal
    interrupts Python and most that blocks, as `time.sleep`. In other threads only Python code can be interrupted. What
    catches every `BaseException` in a loop cannot be stopped.
    """

    def __init__(self, seconds: float, progress: Callable[[], int] = lambda: 0) -> None:
        self.seconds = seconds
        self.progress = progress
        self._clock: _Signal | _Watch

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        self._clock = (_Signal if in_main else _Watch)(_Patience(self.seconds, self.progress))
        self._clock.start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._clock.armed = False
        finally:
            self._clock.stop()
        if isinstance(error, TimeUp) and self._clock.raised(error):
            up = TimeUp(self.seconds, Origin.innermost(trace), self._clock.patience.waited)
            up.given = error.given
            up.call = _call(trace)
            raise up from None


class _Patience:
    """Whether the thread that made it has done too much, or nothing for too long, since the last progress."""

    def __init__(self, seconds: float, progress: Callable[[], int]) -> None:
        self.seconds, self.progress = seconds, progress
        self.used = _processor_time()
        self.known, self.since = progress(), self.used()
        self.seen, self.still = self.since, 0
        self.over = self.waited = False

    def ring(self) -> bool:
        """Asked every so often: whether it is over, and then for ever."""
        now, known = self.used(), self.progress()
        if known != self.known:
            self.known, self.since, self.still = known, now, 0
        self.still = self.still + 1 if now - self.seen < STILL * RING else 0
        self.seen = now
        self.waited = self.waited or self.still >= max(LEAST_RINGS, PATIENCE * self.seconds / RING)
        self.over = self.over or self.waited or now - self.since >= self.seconds
        return self.over


def _processor_time() -> Callable[[], float]:
    """The clock of this thread, which others can read too; that of the process where there is none."""
    try:
        clock = time.pthread_getcpuclockid(threading.get_ident())
    except (AttributeError, OSError):
        return time.process_time
    return lambda: time.clock_gettime(clock)


def _call(trace: TracebackType | None) -> str:
    """The function of the user that Flo has called last, with its arguments as they are now."""
    found, by_flo = None, False
    while trace is not None:
        code = trace.tb_frame.f_code
        if by_flo and is_users(code.co_filename):
            found = trace.tb_frame
        by_flo = code.co_filename.startswith(PACKAGE)
        trace = trace.tb_next
    if found is None:
        return ""
    names = found.f_code.co_varnames[: found.f_code.co_argcount]
    given = (f"{name}={brief(found.f_locals[name], 60)}" for name in names if name in found.f_locals)
    return f"{found.f_code.co_name}({', '.join(given)})"


class _Signal:
    """SIGALRM, which is given back: an outer handler still gets its signal when it is due."""

    def __init__(self, patience: _Patience) -> None:
        self.armed = True
        self.patience = patience
        self.mine = TimeUp(patience.seconds)
        self.outer: Any = None
        self.outer_due: float | None = None
        self.outer_interval = 0.0

    def start(self) -> None:
        now = time.monotonic()
        remaining, self.outer_interval = signal.setitimer(signal.ITIMER_REAL, 0)
        self.outer_due = now + remaining if remaining else None
        self.outer = signal.signal(signal.SIGALRM, self._rung)
        self._wind()

    def _wind(self) -> None:
        due = RING if self.outer_due is None else min(RING, self.outer_due - time.monotonic())
        signal.setitimer(signal.ITIMER_REAL, max(due, 1e-6), RING)

    def _rung(self, number: int, frame: FrameType | None) -> None:
        if isinstance(getattr(self.outer, "__self__", None), _Signal):
            self.outer(number, frame)  # which looks for itself
        elif self.outer_due is not None and self.outer_due <= time.monotonic() and callable(self.outer):
            self.outer_due = self.outer_due + self.outer_interval if self.outer_interval else None
            try:
                self.outer(number, frame)
            finally:
                self._wind()
        if self.patience.ring() and self.armed:
            raise self.mine

    def raised(self, error: BaseException) -> bool:
        return error is self.mine

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.outer if self.outer is not None else signal.SIG_DFL)
        if self.outer_due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(self.outer_due - time.monotonic(), 1e-6), self.outer_interval)


class _Watch:
    """A thread that raises the exception in the one that it watches."""

    def __init__(self, patience: _Patience) -> None:
        self.armed = True
        self.fired = False
        self.patience = patience
        self.mine = type("TimeUp", (TimeUp,), {})  # only a class can be raised there
        self.watched = ctypes.c_ulong(threading.get_ident())
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def _watch(self) -> None:
        while not self.stopped.wait(RING):
            with self.lock:
                if self.armed and self.patience.ring():
                    self.fired = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, ctypes.py_object(self.mine))
                    return

    def raised(self, error: BaseException) -> bool:
        return isinstance(error, self.mine)

    def stop(self) -> None:
        self.stopped.set()
        with self.lock:  # from here on nothing is raised; what was, and has not arrived, is taken back
            if self.fired and not isinstance(sys.exc_info()[1], self.mine):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, None)


TRY_SECONDS = 2.0
"""A function that has used so much processor time on one small value is given up."""


def copied(value: Any) -> Any:
    return value if is_immutable(value) else copy.deepcopy(value)
