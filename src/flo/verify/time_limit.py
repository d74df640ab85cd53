"""Time limits for the user's functions, which may never return.

The limit is processor time of the thread, so it is the same on a busy machine. A function that only waits, as
`time.sleep` does, uses no processor time; it is stopped after a multiple of the limit.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from flo.core.errors import Origin, Pickled, brief, is_users
from flo.core.tracebacks import PACKAGE

INTERVAL = 0.05
"""Seconds of wall-clock time between two looks at the processor time."""
IDLE_SHARE = 0.05
"""A thread that uses a smaller share of the time between two looks is idle. To be woken for a look takes time, too."""
LEAST_IDLE = 20
"""A thread that only waits is idle at this many looks in a row, at least."""
IDLE_FACTOR = 4
"""A thread may be idle this many times as long as it may work."""


class TimeUp(Pickled, BaseException):
    """A call reached its time limit. Not an `Exception`, so that the function's own handlers do not catch it."""

    def __init__(self, seconds: float = 0.0, where: Origin | None = None, waited: bool = False) -> None:
        self.seconds = seconds
        self.waited = waited
        """Whether it used no processor time."""
        super().__init__(self.spent)
        self.where = where
        """The user's line that was running, if any."""
        self.given: tuple[Any, ...] = ()
        """The arguments of the function, if the caller sets them."""
        self.call = ""
        """The running call of the user's function as text, if any."""

    @property
    def stopped_at(self) -> tuple[tuple[str, str], ...]:
        """The user's line that was running, as a fact of an error; none if it is not known."""
        return (("stopped at", f"{self.where}   {self.where.text}".rstrip()),) if self.where else ()

    @property
    def spent(self) -> str:
        """The time spent, as text for messages."""
        return "while it waited and did nothing" if self.waited else f"after {self.seconds:g} s of processor time"


class TimeLimit:
    """A context manager that raises `TimeUp` in the code inside, even in `while True: pass`.

    The limit is `seconds` of processor time without a change of `progress()`. In the main thread a signal interrupts
    Python code and most blocking calls, such as `time.sleep`; in other threads only Python code can be interrupted. A
    loop that catches every `BaseException` cannot be stopped.
    """

    def __init__(self, seconds: float, progress: Callable[[], int] = lambda: 0) -> None:
        self.seconds = seconds
        self.progress = progress
        self._clock: SignalTimer | _ThreadTimer

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        self._clock = (SignalTimer if in_main else _ThreadTimer)(ThreadWatch(self.seconds, self.progress))
        self._clock.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._clock.armed = False
        finally:
            self._clock.stop()
        if isinstance(error, TimeUp) and self._clock.did_raise(error):
            up = TimeUp(self.seconds, Origin.innermost(trace), self._clock.watch.waited)
            up.given = error.given
            up.call = _describe_call(trace)
            raise up from None


class ThreadWatch:
    """Watches one thread: has it worked or idled for too long since the last progress?"""

    def __init__(self, seconds: float, progress: Callable[[], int]) -> None:
        self.seconds, self.progress = seconds, progress
        self.used = _processor_time()
        self.known, self.since = progress(), self.used()
        self.seen, self.idle = self.since, 0
        self.over = self.waited = False

    def is_over(self) -> bool:
        """Whether the limit is reached; once it is, always. The time that the look itself takes does not count."""
        now, known = self.used(), self.progress()
        self.idle = self.idle + 1 if now - self.seen < IDLE_SHARE * INTERVAL else 0
        if known != self.known:
            self.known, self.since, self.idle = known, now, 0
        self.waited = self.waited or self.idle >= max(LEAST_IDLE, IDLE_FACTOR * self.seconds / INTERVAL)
        self.over = self.over or self.waited or now - self.since >= self.seconds
        self.seen = self.used()
        self.since += self.seen - now
        return self.over


def _processor_time() -> Callable[[], float]:
    """The processor clock of this thread, readable from others; that of the process if there is none."""
    try:
        clock = time.pthread_getcpuclockid(threading.get_ident())
    except (AttributeError, OSError):
        return time.process_time
    return lambda: time.clock_gettime(clock)


def _describe_call(trace: TracebackType | None) -> str:
    """The user's function that Flo called last, with its present arguments, as text."""
    frame, by_flo = None, False
    while trace is not None:
        code = trace.tb_frame.f_code
        if by_flo and is_users(code.co_filename):
            frame = trace.tb_frame
        by_flo = code.co_filename.startswith(PACKAGE)
        trace = trace.tb_next
    if frame is None:
        return ""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    given = (f"{name}={brief(frame.f_locals[name], 60)}" for name in names if name in frame.f_locals)
    return f"{frame.f_code.co_name}({', '.join(given)})"


class SignalTimer:
    """Raises by SIGALRM in the main thread. An outer handler of the signal still gets it when it is due."""

    def __init__(self, watch: ThreadWatch) -> None:
        self.armed = True
        self.watch = watch
        self.exception = TimeUp(watch.seconds)
        self.outer: Any = None
        self.outer_due: float | None = None
        self.outer_interval = 0.0

    def start(self) -> None:
        now = time.monotonic()
        remaining, self.outer_interval = signal.setitimer(signal.ITIMER_REAL, 0)
        self.outer_due = now + remaining if remaining else None
        self.outer = signal.signal(signal.SIGALRM, self._on_signal)
        self._set_timer()

    def _set_timer(self) -> None:
        due = INTERVAL if self.outer_due is None else min(INTERVAL, self.outer_due - time.monotonic())
        signal.setitimer(signal.ITIMER_REAL, max(due, 1e-6), INTERVAL)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if isinstance(getattr(self.outer, "__self__", None), SignalTimer):
            self.outer(number, frame)  # an outer time limit
        elif self.outer_due is not None and self.outer_due <= time.monotonic() and callable(self.outer):
            self.outer_due = self.outer_due + self.outer_interval if self.outer_interval else None
            try:
                self.outer(number, frame)
            finally:
                self._set_timer()
        on_the_way_out = frame is not None and frame.f_code.co_filename == __file__  # an error would leave the timer on
        if self.watch.is_over() and self.armed and not on_the_way_out:
            raise self.exception

    def did_raise(self, error: BaseException) -> bool:
        return error is self.exception

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.outer if self.outer is not None else signal.SIG_DFL)
        if self.outer_due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(self.outer_due - time.monotonic(), 1e-6), self.outer_interval)


class _ThreadTimer:
    """Raises from a second thread, in the thread that it watches."""

    def __init__(self, watch: ThreadWatch) -> None:
        self.armed = True
        self.fired = False
        self.watch = watch
        self.exception = type("TimeUp", (TimeUp,), {})  # only a class can be raised there
        self.watched = ctypes.c_ulong(threading.get_ident())
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def _look(self) -> None:
        while not self.stopped.wait(INTERVAL):
            with self.lock:
                if self.armed and self.watch.is_over():
                    self.fired = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, ctypes.py_object(self.exception))
                    return

    def did_raise(self, error: BaseException) -> bool:
        return isinstance(error, self.exception)

    def stop(self) -> None:
        self.stopped.set()
        with self.lock:  # nothing is raised from here on; a pending exception is revoked
            if self.fired and not isinstance(sys.exc_info()[1], self.exception):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self.watched, None)


SECONDS = 5.0
"""The processor time after which one call of a function is aborted, unless the user gives another."""
