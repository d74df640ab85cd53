"""The history of a run: the figures of its micro-batches, in bounded memory however long it goes on; and the same in
the text format of Prometheus, which reads it from the address `/metrics` of the page.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from flo.pictures.svg import PageData

K = TypeVar("K")
N = TypeVar("N", int, float)

MOST_ENTRIES = 600
"""A history with so many entries is thinned out: each two become one."""
AGAIN = 16
"""So many entries are given to a page again: some of their figures may have come later."""


@dataclass
class HistoryEntry:
    """The figures of one micro-batch, or of several that follow each other."""

    version: int
    """The version of the last one."""
    time: float
    """When that was committed, in seconds since 1970."""
    seconds: float
    taken: Mapping[str, int]
    """Rows read, by input."""
    changes: Mapping[str, int]
    """Rows of changes, by output."""
    diverted: Mapping[str, int]
    """Rows diverted, by input."""
    written: int
    """Bytes of state written."""
    stage_rows: Mapping[int, int]
    """Rows received, by stage."""
    stage_seconds: Mapping[int, float]
    """Seconds of the slowest task, by stage."""
    rounds: Mapping[str, int] = field(default_factory=dict)
    """Rounds with changes, by fixpoint."""
    round_rows: Mapping[str, int] = field(default_factory=dict)
    """Rows that changed in these rounds, by fixpoint."""
    stage_bytes: Mapping[int, int] = field(default_factory=dict)
    """Bytes of state, by stage, after the last one; empty if nobody has looked."""
    lag: float | None = None
    """Seconds from the moment when the sources were asked for rows to the commit; the longest."""
    waiting: int | None = None
    """Rows that the sources had, and that were not read, after the last one. None if they do not say."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds by phase: where the time went, from reading rows to the commit."""
    batches: int = 1

    def joined(self, later: HistoryEntry) -> HistoryEntry:
        """The figures of both."""
        lags = [each.lag for each in (self, later) if each.lag is not None]
        return HistoryEntry(
            later.version,
            later.time,
            self.seconds + later.seconds,
            _sum(self.taken, later.taken),
            _sum(self.changes, later.changes),
            _sum(self.diverted, later.diverted),
            self.written + later.written,
            _sum(self.stage_rows, later.stage_rows),
            _sum(self.stage_seconds, later.stage_seconds),
            _sum(self.rounds, later.rounds),
            _sum(self.round_rows, later.round_rows),
            later.stage_bytes or self.stage_bytes,
            max(lags, default=None),
            self.waiting if later.waiting is None else later.waiting,
            _sum(self.phases, later.phases),
            self.batches + later.batches,
        )


@dataclass
class FillFigures:
    """How far the fill of a changed program is. One thread sets them, others read."""

    rows: int = 0
    """Rows read so far, those before an interruption included."""
    total: int | None = None
    """Rows to read, about; None if that is not known."""
    began: int = 0
    """Rows that were read before this start."""
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    changes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By output, how many rows its sink gets and how many are retracted from it; known after all rows are read."""

    @property
    def seconds(self) -> float:
        """How long it has taken, since this start."""
        return (time.monotonic() if self.ended is None else self.ended) - self.started

    @property
    def rows_left(self) -> int | None:
        """How many rows are left, about."""
        if self.ended is not None:
            return 0
        return None if self.total is None else max(0, self.total - self.rows)

    @property
    def seconds_left(self) -> float | None:
        """How long it will still take, if it goes on as fast."""
        left, read = self.rows_left, self.rows - self.began
        if not left:
            return None if left is None else 0.0
        return self.seconds * left / read if read else None

    def to_data(self) -> PageData:
        """The figures for a page."""
        return {
            "rows": self.rows,
            "total": self.total,
            "seconds": self.seconds,
            "rows_left": self.rows_left,
            "seconds_left": self.seconds_left,
            "over": self.ended is not None,
        }


class History:
    """The entries of a run, the oldest first. One thread adds, others read."""

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self.most = most
        self.grain = 1
        """How many micro-batches an entry has. The last one may have fewer."""
        self.entries: list[HistoryEntry] = []
        self._lock = threading.Lock()

    def add(self, entry: HistoryEntry) -> None:
        """Add the figures of a micro-batch."""
        with self._lock:
            if self.entries and self.entries[-1].batches < self.grain:
                self.entries[-1] = self.entries[-1].joined(entry)
                return
            if len(self.entries) >= self.most:
                self._thin_out()
            self.entries.append(entry)

    def _thin_out(self) -> None:
        pairs = [self.entries[place : place + 2] for place in range(0, len(self.entries), 2)]
        self.entries = [pair[0].joined(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
        self.grain *= 2

    def complete(self, version: int, **figures: Any) -> None:
        """Set figures of a micro-batch that were found after it was added."""
        with self._lock:
            place = bisect_left(self.entries, version, key=lambda entry: entry.version)
            if place < len(self.entries):
                for name, value in figures.items():
                    setattr(self.entries[place], name, value)

    def add_phases(self, version: int, phases: Mapping[str, float]) -> None:
        """Add seconds of a micro-batch that were found after it was added."""
        with self._lock:
            place = bisect_left(self.entries, version, key=lambda entry: entry.version)
            if place < len(self.entries):
                self.entries[place].phases = _sum(self.entries[place].phases, phases)

    def total(self) -> HistoryEntry | None:
        """The figures of all micro-batches; None if there are none yet."""
        with self._lock:
            entries = list(self.entries)
        if not entries:
            return None
        total = entries[0]
        for entry in entries[1:]:
            total = total.joined(entry)
        return total

    def to_data(self, grain: int = 0, count: int = 0) -> PageData:
        """The entries for a page; if it has the first `count` of this grain, only those that may be new to it."""
        with self._lock:
            start = max(0, count - AGAIN) if grain == self.grain else 0
            return {"grain": self.grain, "from": start, "entries": [asdict(each) for each in self.entries[start:]]}


def _sum(some: Mapping[K, N], more: Mapping[K, N]) -> dict[K, N]:
    return {name: some.get(name, 0) + more.get(name, 0) for name in {**some, **more}}


Sample = tuple[Mapping[str, object], float]
Samples = Sequence[Sample]


def format_metrics(
    flow: str, state: str, history: History, late: Sequence[str], fill: FillFigures | None = None
) -> str:
    """Return the metrics of a flow: of all its micro-batches since it was started, of the last one, and of a fill."""
    return "".join([*_metrics({"flow": flow}, state, history, late), *_fill_metrics({"flow": flow}, fill)])


def _fill_metrics(flow: Mapping[str, object], fill: FillFigures | None) -> Iterator[str]:
    """The metrics of the fill of this start, if there was one."""
    figures: list[tuple[str, str, float | None]] = []
    if fill is not None:
        figures = [
            ("flo_filling", "whether a changed program is being filled", int(fill.ended is None)),
            ("flo_fill_rows", "rows that the fill has read", fill.rows),
            ("flo_fill_rows_left", "rows that the fill has not read yet, about", fill.rows_left),
            ("flo_fill_seconds", "seconds that the fill has taken", fill.seconds),
            ("flo_fill_seconds_left", "seconds that the fill will still take, about", fill.seconds_left),
        ]
    for name, about, value in figures:
        if value is not None:
            yield _family(name, "gauge", about, flow, [({}, value)])


def _metrics(flow: Mapping[str, object], state: str, history: History, late: Sequence[str]) -> Iterator[str]:
    def gauge(name: str, about: str, samples: Samples) -> str:
        return _family(name, "gauge", about, flow, samples)

    def counter(name: str, about: str, samples: Samples) -> str:
        return _family(name, "counter", about, flow, samples)

    yield gauge("flo_running", "whether the query runs", [({}, int(state in ("running", "waiting")))])
    yield gauge("flo_waiting_for_sink", "whether it waits for a sink that is down", [({}, int(state == "waiting"))])
    total = history.total()
    if total is None:
        return
    last = history.entries[-1]
    lag = next((each for each in reversed(history.entries) if each.lag is not None), last)
    yield gauge("flo_version", "the newest committed version", [({}, last.version)])
    yield counter("flo_micro_batches_total", "micro-batches committed since the start", [({}, total.batches)])
    yield counter("flo_seconds_total", "seconds that micro-batches took", [({}, total.seconds)])
    yield counter("flo_phase_seconds_total", "seconds that a phase of micro-batches took", _by("phase", total.phases))
    yield counter("flo_rows_taken_total", "rows read from an input", _by("input", total.taken))
    on_time = {name: count for name, count in total.changes.items() if name not in late}
    yield counter("flo_changes_total", "rows of changes of an output", _by("output", on_time))
    yield counter(
        "flo_late_rows_total", "late rows", _by("output", {name: total.changes.get(name, 0) for name in late})
    )
    yield counter("flo_diverted_rows_total", "rows that an input has diverted", _by("input", total.diverted))
    yield counter("flo_state_written_bytes_total", "bytes of state written", [({}, total.written)])
    yield counter("flo_stage_rows_total", "rows that a stage has received", _by("stage", total.stage_rows))
    yield counter(
        "flo_stage_seconds_total", "seconds of the slowest tasks of a stage", _by("stage", total.stage_seconds)
    )
    yield counter("flo_rounds_total", "rounds of a fixpoint that had changes", _by("fixpoint", total.rounds))
    yield counter("flo_round_rows_total", "rows that changed in these rounds", _by("fixpoint", total.round_rows))
    yield gauge("flo_state_bytes", "bytes of state of a stage", _by("stage", total.stage_bytes))
    mean = last.seconds / last.batches
    yield gauge("flo_micro_batch_seconds", "seconds that the last micro-batch took", [({}, mean)])
    if lag.lag is not None:
        yield gauge("flo_lag_seconds", "seconds from asking the sources for rows to the commit", [({}, lag.lag)])
    if lag.waiting is not None:
        yield gauge("flo_waiting_rows", "rows that the sources have and that were not read", [({}, lag.waiting)])


def _by(label: str, figures: Mapping[str, float] | Mapping[int, float]) -> Samples:
    return [({label: name}, value) for name, value in figures.items()]


def _family(name: str, kind: str, about: str, flow: Mapping[str, object], samples: Samples) -> str:
    """Return a metric with its samples; nothing if it has none."""
    if not samples:
        return ""
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        named = ",".join(f'{label}="{_escape(text)}"' for label, text in {**flow, **labels}.items())
        lines.append(f"{name}{{{named}}} {value}")
    return "\n".join(lines) + "\n"


def _escape(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
