"""Watching a query: the history of its micro-batches, the sizes of its state, its lag and its views, for its page.

A micro-batch is noted when it is committed. What costs more than that is found when somebody looks, in another thread,
and looking takes a fixed small share of the time.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from flo.core.errors import FloError
from flo.pictures.notebook import MOST_ROWS
from flo.pictures.run_history import FillFigures, History, HistoryEntry, format_metrics
from flo.pictures.run_page import run_page, view_data
from flo.pictures.serving import Answer, PageServer
from flo.pictures.svg import PageData, to_json
from flo.shards.checkpoint.state_sizes import StateSizes
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.plan.explain import Block
from flo.shards.tasks.output_files import VIEW
from flo.shards.views import View

SHARE = 0.005
"""The share of the time that looking may take."""
BETWEEN = 2
"""Spark also reports that it has found no rows. So many such reports may be among those on the last micro-batches."""
PERIOD = 1.0
"""Seconds between two looks, at least."""


@dataclass(frozen=True)
class Watched:
    """The program of a query, as its page shows it."""

    name: str
    blocks: list[Block]
    inputs: list[str]
    late: list[str]
    """The outputs that have late rows."""


class QueryWatch:
    """Collects the figures of a query, and serves them."""

    def __init__(
        self,
        watched: Watched,
        batches: MicroBatches,
        state: Callable[[], tuple[str, str]] | None = None,
        reports: Callable[[int], list[Any]] = lambda count: [],
    ) -> None:
        """`state` says whether the query is running, waiting for a sink, ended or failed, and the error; by default, it
        is being started. `reports` are so many of Spark's last reports."""
        self.watched, self._batches, self.reports = watched, batches, reports
        self.state = state or self._starting
        self.fill: FillFigures | None = None
        """The figures of the fill of this start, if the program has changed."""
        self.first = 0
        """What is added to Spark's number of a micro-batch: its version."""
        self.started = time.time()
        self.history = History()
        self._sizes = StateSizes(batches.folder, batches.shards)
        self._looks, self._reads = Allowance(), Allowance()
        self._one = threading.RLock()
        """Held by the thread that looks."""
        self._measured = self._reported = -1
        """The last version whose state was measured, and the last that Spark has reported on."""
        self._views: PageData = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._server: PageServer | None = None
        self._serving = threading.Lock()

    def _starting(self) -> tuple[str, str]:
        return "starting" if self.fill is None else "filling", ""

    def note(self, outcome: Outcome) -> None:
        """Adds a micro-batch that was committed."""
        self.history.add(
            HistoryEntry(
                outcome.version,
                time.time(),
                outcome.seconds,
                outcome.taken,
                outcome.rows,
                outcome.diverted,
                outcome.written,
                outcome.stage_rows,
                outcome.stage_seconds,
                {name: len(rounds) for name, rounds in outcome.rounds.items()},
                {name: sum(rounds.values()) for name, rounds in outcome.rounds.items()},
            )
        )

    def serve(self, port: int | None) -> PageServer:
        """Serves the page, if it is not served yet, and looks at every micro-batch from now on."""
        with self._serving:
            server = self._server
            if server is None or server.closed:
                self._server = server = PageServer(self.watched.name, self._answers(), port)
            elif port and port != server.port:
                raise FloError(
                    f"the page is served at port {server.port} already", instead=(("ui().close()", f"then ui({port})"),)
                ).at_users_line()
        self.look_again_and_again()
        return server

    def _answers(self) -> dict[str, Answer]:
        return {
            "/": Answer("text/html", lambda asked: run_page(self.data(), live=True)),
            "/data": Answer("application/json", lambda asked: to_json(self.data_for(asked))),
            "/metrics": Answer("text/plain; version=0.0.4", lambda asked: self.metrics()),
        }

    def close(self) -> None:
        with self._serving:
            if self._server is not None:
                self._server.close()

    def look_again_and_again(self) -> None:
        """Looks at every micro-batch from now on, until the query ends."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._go_on, name="flo watch", daemon=True)
            self._thread.start()

    def _go_on(self) -> None:
        while not self._over.wait(PERIOD):
            self.look()

    def end(self) -> None:
        """The query has ended: there is nothing more to look at."""
        self._over.set()

    def look(self, patient: bool = True) -> None:
        """Completes the figures of the micro-batches since the last look. If patient, as often as it is allowed."""
        if (patient and not self._looks.is_due()) or not self._one.acquire(blocking=not patient):
            return
        try:
            last = self._newest()
            if last > min(self._measured, self._reported):
                with self._looks.spend(), contextlib.suppress(FloError, OSError):
                    self._complete(last)
        finally:
            self._one.release()

    def _newest(self) -> int:
        """The newest version since the start; -1 if there is none."""
        return self.history.entries[-1].version if self.history.entries else -1

    def _complete(self, last: int) -> None:
        if last > self._measured:
            self._measured = last
            self.history.complete(last, stage_bytes=self._sizes.at(self._batches.state_versions(last)))
        first = self.history.entries[0].version
        since = last - max(self._reported, first - 1)
        for number, lag, waiting in map(read_progress, self.reports(since + BETWEEN)):
            version = number + self.first
            if lag is not None:
                self._reported = max(self._reported, version)
                self.history.complete(version, lag=lag, waiting=waiting)

    def data_for(self, asked: Mapping[str, str]) -> PageData:
        """What a live page does not have yet: the last entries, and the views that it shows."""
        self.look()
        outputs = self._view_names()
        names = [outputs[int(place)] for place in asked.get("views", "").split(",") if place]
        self._read_views(names)
        history = self.history.to_data(int(asked.get("grain", 0)), int(asked.get("count", 0)))
        return {**self._now(), "history": history, "views": [self._view(name) for name in names]}

    def data(self) -> PageData:
        """All of a page: the plan, the whole history, and the views as they were read last."""
        blocks = [asdict(each) for each in self.watched.blocks]
        plan = {"name": self.watched.name, "plan": blocks, "inputs": self.watched.inputs, "late": self.watched.late}
        views = [self._view(name) for name in self._view_names()]
        return {**plan, **self._now(), "history": self.history.to_data(), "views": views}

    def final_data(self) -> PageData:
        """All of a page, with the figures and views of now."""
        self.look(patient=False)
        self._read_views(self._view_names(), patient=False)
        return self.data()

    def metrics(self) -> str:
        """The figures as Prometheus reads them."""
        self.look()
        state, _ = self.state()
        return format_metrics(self.watched.name, state, self.history, self.watched.late, self.fill)

    def _now(self) -> PageData:
        state, error = self.state()
        fill = self.fill.to_data() if self.fill is not None else None
        return {"state": state, "error": error, "started": self.started, "now": time.time(), "fill": fill}

    def _view_names(self) -> list[str]:
        return [each.name for each in self._batches.outputs if each.how == VIEW]

    def _view(self, name: str) -> PageData:
        data: PageData = self._views.get(name) or view_data(name, -1, (), ())
        return data

    def _read_views(self, names: list[str], patient: bool = True) -> None:
        """Reads the first rows of views, if there is a new version of them."""
        with self._one:
            for name in sorted(names, key=lambda name: int(self._view(name)["version"])):  # the oldest first
                if self._view(name)["version"] >= self._newest() >= 0 or (patient and not self._reads.is_due()):
                    continue
                with self._reads.spend(), contextlib.suppress(FloError, OSError):  # nothing is committed yet
                    view = View.of(self._batches.folder, name, None, self._batches)
                    rows = view.first_rows(MOST_ROWS + 1)
                    cells = (list(row.values()) for row in rows.to_pylist())
                    self._views[name] = view_data(name, view.version, rows.column_names, cells)


class Allowance:
    """Limits the work of a thread to a share of the time: after it was done, it rests for so much longer."""

    def __init__(self, share: float = SHARE) -> None:
        self.share = share
        self._due = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    @contextmanager
    def spend(self) -> Iterator[None]:
        started = time.thread_time()
        try:
            yield
        finally:
            self._due = time.monotonic() + (time.thread_time() - started) / self.share


def read_progress(report: Any) -> tuple[int, float | None, int | None]:
    """From Spark's report on a micro-batch: its version, the lag in seconds, and how many rows wait in Kafka.

    The lag is None if there were no rows, and the rows are None if no source says how many it has.
    """
    taken = report.get("durationMs", {})
    lag = taken.get("triggerExecution", 0) / 1000 if "addBatch" in taken else None
    waiting = [_count_waiting(each) for each in report.get("sources", ())]
    known = [count for count in waiting if count is not None]
    return int(report["batchId"]), lag, sum(known) if known else None


def _count_waiting(source: Any) -> int | None:
    """How far the offsets of a source are behind its latest, if it has topics with partitions."""
    latest, read = (_topics(source.get(name)) for name in ("latestOffset", "endOffset"))
    if latest is None or read is None:
        return None
    return sum(max(0, end - read.get(place, end)) for place, end in latest.items())


def _topics(offset: Any) -> dict[tuple[str, str], int] | None:
    """The offset of each partition of each topic."""
    with contextlib.suppress(ValueError):
        offset = json.loads(offset) if isinstance(offset, str) else offset
    if not isinstance(offset, dict) or not all(isinstance(each, dict) for each in offset.values()):
        return None
    return {(topic, name): int(end) for topic, parts in offset.items() for name, end in parts.items()}
