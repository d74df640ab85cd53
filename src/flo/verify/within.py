"""Bounded time, for functions of the user that may never return."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

from flo.core.errors import PACKAGE, Origin, brief, is_users

AGAIN = 0.05
"""The signal comes again after so many seconds, as a `finally` or an `except` may have lost it."""


class TimeUp(BaseException):
    """The time is over. No `Exception`: what a function does about its own errors must not stop this one."""

    def __init__(self, seconds: float = 0.0, where: Origin | None = None) -> None:
        super().__init__(f"not done after {seconds:g} s")
        self.seconds = seconds
        self.where = where
        """The user's line that was running, if there is one."""
        self.given: tuple[Any, ...] = ()
        """What the function was called with, if whoever called it says so."""
        self.call = ""
        """The call of the user's function that was running, as text, if there is one."""


class within:  # noqa: N801  # reads as a statement: `with within(2.0):`
    """Bounds what runs inside, also `while True: pass`; raises `TimeUp`.

    In the main thread a signal interrupts Python and most that blocks, as `time.sleep`. In other threads only Python
    code can be interrupted. What catches every `BaseException` in a loop cannot be stopped.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._clock: _Signal | _Watch

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        self._clock = (_Signal if in_main else _Watch)(self.seconds)
        self._clock.start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._clock.armed = False
        finally:
            self._clock.stop()
        if isinstance(error, TimeUp) and self._clock.raised(error):
            up = TimeUp(self.seconds, Origin.innermost(trace))
            up.given = error.given
            up.call = _call(trace)
            raise up from None


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

    def __init__(self, seconds: float) -> None:
        self.armed = True
        self.mine = TimeUp(seconds)
        self.deadline = time.monotonic() + seconds
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
        due = self.deadline if self.outer_due is None else min(self.deadline, self.outer_due)
        signal.setitimer(signal.ITIMER_REAL, max(due - time.monotonic(), 1e-6), AGAIN)

    def _rung(self, number: int, frame: FrameType | None) -> None:
        if self.outer_due is not None and self.outer_due <= time.monotonic() and callable(self.outer):
            self.outer_due = self.outer_due + self.outer_interval if self.outer_interval else None
            try:
                self.outer(number, frame)
            finally:
                self._wind()
        if self.armed and self.deadline <= time.monotonic():
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

    def __init__(self, seconds: float) -> None:
        self.armed = True
        self.fired = False
        self.mine = type("TimeUp", (TimeUp,), {})  # only a class can be raised there
        self.watched = ctypes.c_ulong(threading.get_ident())
        self.lock = threading.Lock()
        self.timer = threading.Timer(seconds, self._rung)
        self.timer.daemon = True

    def start(self) -> None:
        self.timer.start()

    def _rung(self) -> None:
        with self.lock:
            if self.armed:
                self.fired = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, ctypes.py_object(self.mine))

    def raised(self, error: BaseException) -> bool:
        return isinstance(error, self.mine)

    def stop(self) -> None:
        self.timer.cancel()
        with self.lock:  # from here on nothing is raised; what was, and has not arrived, is taken back
            if self.fired and not isinstance(sys.exc_info()[1], self.mine):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, None)
