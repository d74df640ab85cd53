"""Giving changes to a sink that may be down: tried again with growing delays, for a limited time.

    take ─ raises ─> wait 1 s ─> take ─ raises ─> wait 2 s ─> take ─ … at most 60 s between two tries
                                                                    after the limit the error ends the query

The micro-batch is not committed meanwhile, and its state is in files, so neither a crash nor `stop` loses anything: the
next start runs it again. Flo's own errors are not tried again, since they do not pass: a row that does not fit, a sink
that holds another version. Only `UnreachableError` does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from flo.core.errors import FloError, TypeMismatch, UnreachableError, brief
from flo.shards.sinks.output_changes import OutputChanges
from flo.shards.sinks.sinks import Sink

FIRST, LONGEST = 1.0, 60.0
"""The first delay, in seconds, and the longest. Each is twice the one before."""


class StoppedWaiting(FloError):
    """The query was stopped while it waited for a sink.

    Fix: start it again when the sink is up.
    """


class Retrying:
    """Calls sinks, and waits for those that are down."""

    def __init__(self, seconds: float = 0, expect_held: Callable[[], None] = lambda: None) -> None:
        """`seconds` is how long a sink may be down; `expect_held` raises if the checkpoint has been taken over."""
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
            raise TypeMismatch(
                f"`retry` must be a number of seconds, at least 0; got {brief(seconds)}",
                instead=(("retry=300", "waits up to five minutes for a sink that is down"),),
            )
        self._seconds, self._expect_held = seconds, expect_held
        self._stopped = threading.Event()
        self.waiting: str | None = None
        """What it waits for now."""

    def stop(self) -> None:
        """Ends the wait, and lets no other begin."""
        self._stopped.set()

    def give(self, sink: Sink, given: OutputChanges) -> None:
        """Gives changes to a sink."""
        self._call(sink, sink.take, given)

    def commit(self, sink: Sink, given: OutputChanges) -> None:
        """Tells a sink that its changes are committed."""
        self._call(sink, sink.commit, given)

    def _call(self, sink: Sink, act: Callable[[OutputChanges], None], given: OutputChanges) -> None:
        """Calls a sink until it does not raise. After the limit its error gets a note that names the output."""
        begun, delay, tries = self._now(), FIRST, 0
        where = f"the sink of the output `{given.output}`, at version {given.version}"
        unfit = len(given.unfit or ())
        while True:
            try:
                return act(given)
            except Exception as error:
                tries += 1
                left = begun + self._seconds - self._now()
                if not _may_pass(error) or left <= 0:
                    times = f", which was tried {tries} times" if tries > 1 else ""
                    error.add_note(f"raised by {where}{times}")
                    raise
                why = (str(error).strip().partition("\n")[0] or type(error).__name__)[:500]
                self.waiting = f"waiting for {where}, {sink.written}; try {tries} failed: {why}"
            if given.unfit is not None:
                del given.unfit[unfit:]  # the next try finds them again
            try:
                if self._wait(min(delay, left)):
                    raise StoppedWaiting(
                        f"the query was stopped while it waited for {where}", facts=(("the sink", self.waiting),)
                    )
                self._expect_held()
            finally:
                self.waiting = None
            delay = min(2 * delay, LONGEST)

    def _now(self) -> float:
        return time.monotonic()

    def _wait(self, seconds: float) -> bool:
        """Waits, unless the query is stopped; returns whether it is."""
        return self._stopped.wait(seconds)


def _may_pass(error: Exception) -> bool:
    """Whether the same call may work later."""
    return isinstance(error, UnreachableError) or not isinstance(error, FloError)
