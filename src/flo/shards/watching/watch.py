"""Watching a query: the history of its micro-batches, the sizes of its state, its lag and its views, for its page.

A micro-batch is noted when it is committed. What costs more than that is found when somebody looks, in another thread,
and looking takes a fixed small share of the time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from flo.core.errors import FloError
from flo.core.secrets import hide_secrets
from flo.pictures.notebook import MOST_ROWS
from flo.pictures.run_history import FillFigures, History, HistoryEntry, format_metrics
from flo.pictures.run_page import run_page, view_data
from flo.pictures.serving import Answer, PageServer
from flo.pictures.svg import PageData, to_json
from flo.shards.checkpoint.inspect import StateSizes
from flo.shards.micro_batches import MicroBatches, Outcome
from flo.shards.tasks.figures import HANDING_OVER, OTHER, BatchFigures, add_work
from flo.shards.watching.view_reading import PageViews
from flo.shards.watching.watched import Watched

SHARE = 0.005
"""The share of the time that looking may take."""
BETWEEN = 2
"""Spark also reports that it has found no rows. So many such reports may be among those on the last micro-batches."""
PERIOD = 1.0
"""Seconds between two looks, at least."""
MOST_REPORTS = 128
"""How many reports an engine keeps, at most."""
MOST_ERRORS = 20
"""How many of the last errors are shown."""
MOST_SHARDS = 48
"""How many shards of a stage are shown, those with the most rows."""


@dataclass(frozen=True)
class EngineReport:
    """What an engine reports on a micro-batch, after its commit."""

    number: int
    lag: float | None
    """Seconds from the moment when the sources were asked for rows to the commit; None if there were no rows."""
    waiting: int | None
    """Rows that the sources had and that were not read; None if they do not say."""
    phases: Mapping[str, float]
    """Seconds of the engine around the micro-batch, by phase."""
    calling: float = 0.0
    """Seconds of the engine's call of Flo, with what it prepares for the call; 0 if it does not say."""


class QueryWatch:
    """Collects the figures of a query, and serves them."""

    def __init__(
        self,
        watched: Watched,
        batches: MicroBatches,
        state: Callable[[], tuple[str, str]] | None = None,
        reports: Callable[[int], list[EngineReport]] | None = None,
    ) -> None:
        """`state` says whether the query is running, waiting for a sink, ended or failed, and the error; by default, it
        is being started. `reports` are so many of the last reports of the engine. Without them, nothing happens before
        a micro-batch and after it."""
        self.watched, self._batches, self.reports = watched, batches, reports
        self.state = state or self._starting
        self.fill: FillFigures | None = None
        """The figures of the fill of this start, if the program has changed."""
        self.first = 0
        """What is added to Spark's number of a micro-batch: its version."""
        self.started = time.time()
        self.history = History()
        self._latest = BatchFigures()
        """The figures of the last micro-batch, with all clocks."""
        self._sums = BatchFigures()
        """The rows of shards and the work of operators in all of them."""
        self._noted: deque[tuple[int, BatchFigures]] = deque(maxlen=MOST_REPORTS)
        """The figures of the last versions, which the phases of the engine are added to when it reports on them."""
        self._errors: deque[tuple[float, str]] = deque(maxlen=MOST_ERRORS)
        self._sizes = StateSizes(batches.folder, batches.shards)
        self._looks, self._reads = Allowance(), Allowance()
        self._one = threading.RLock()
        """Held by the thread that looks."""
        self._measured = self._reported = -1
        """The last version whose state was measured, and the last that Spark has reported on."""
        self.views = PageViews(batches, watched.diverting)
        self._views: PageData = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._server: PageServer | None = None
        self._serving = threading.Lock()

    def _starting(self) -> tuple[str, str]:
        return "starting" if self.fill is None else "filling", ""

    def note(self, outcome: Outcome) -> None:
        """Adds a micro-batch that was committed."""
        figures = outcome.figures
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
                lag=None if self.reports is not None else sum(figures.phases.values()),
                phases=dict(figures.phases),
            )
        )
        self._noted.append((outcome.version, figures))
        sums = BatchFigures(work=dict(self._sums.work), shard_rows=dict(self._sums.shard_rows))
        add_work(sums.work, figures.work)
        for level, rows in figures.shard_rows.items():
            before = sums.shard_rows.get(level, {})
            sums.shard_rows[level] = {
                **before,
                **{shard: before.get(shard, 0) + count for shard, count in rows.items()},
            }
        clocks = {**self._latest.clocks, **figures.clocks}
        self._sums = sums
        self._latest = BatchFigures(work=figures.work, shard_rows=figures.shard_rows, clocks=clocks)

    def note_error(self, error: BaseException) -> None:
        """Adds an error that has not ended the query."""
        self._errors.append((time.time(), hide_secrets(str(error))))

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
        json = "application/json"
        return {
            "/": Answer("text/html", lambda asked: run_page(self.data(), live=True)),
            "/data": Answer(json, lambda asked: to_json(self.data_for(asked))),
            "/view": Answer(json, lambda asked: to_json(_answer(self._search, asked))),
            "/sql": Answer(json, lambda asked: to_json(_answer(self._query, asked))),
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
        self._read_reports(last)

    def read_reports(self) -> None:
        """Adds what the engine has reported since to the figures of micro-batches."""
        with self._one:
            if (last := self._newest()) > self._reported:
                self._read_reports(last)

    def _read_reports(self, last: int) -> None:
        first, before = self.history.entries[0].version, self._reported
        since = last - max(before, first - 1)
        if self.reports is None:
            self._reported = last
            return
        for report in self.reports(since + BETWEEN):
            version = report.number + self.first
            if report.lag is not None and version <= last:
                self._reported = max(self._reported, version)
                self.history.complete(version, lag=report.lag, waiting=report.waiting)
                if version > before:
                    figures = dict(self._noted).get(version, BatchFigures({OTHER: report.lag}))
                    own = sum(figures.phases.values())
                    phases = {**report.phases, HANDING_OVER: max(0.0, report.calling - own)}
                    phases[OTHER] = max(0.0, report.lag - own - sum(phases.values()))
                    self.history.add_phases(version, phases)
                    for phase, spent in phases.items():
                        figures.spend(phase, spent)

    def data_for(self, asked: Mapping[str, str]) -> PageData:
        """What a live page does not have yet: the last entries, and the views that it shows."""
        self.look()
        names = [self.views.names[int(place)] for place in asked.get("views", "").split(",") if place]
        self._read_views(names)
        history = self.history.to_data(int(asked.get("grain", 0)), int(asked.get("count", 0)))
        return {**self._now(), "history": history, "views": [self._view(name) for name in names]}

    def data(self) -> PageData:
        """All of a page: the plan, the whole history, and the views as they were read last."""
        watched = self.watched
        plan = {"name": watched.name, "plan": [asdict(each) for each in watched.blocks], "inputs": watched.inputs}
        graph = watched.graph
        settings = {name: hide_secrets(text) for name, text in watched.settings.items()}
        more = {"late": watched.late, "graph": None if graph is None else graph.svg, "settings": settings}
        views = [self._view(name) for name in self.views.names]
        return {**plan, **more, **self._now(), "history": self.history.to_data(), "views": views}

    def final_data(self) -> PageData:
        """All of a page, with the figures and views of now."""
        self.look(patient=False)
        self._read_views(self.views.names, patient=False)
        return self.data()

    def metrics(self) -> str:
        """The figures as Prometheus reads them."""
        self.look()
        state, _ = self.state()
        return format_metrics(self.watched.name, state, self.history, self.watched.late, self.fill)

    def _now(self) -> PageData:
        state, error = self.state()
        fill = self.fill.to_data() if self.fill is not None else None
        now = {"state": state, "error": hide_secrets(error), "started": self.started, "now": time.time(), "fill": fill}
        errors = [{"time": moment, "text": text} for moment, text in self._errors]
        return {**now, "errors": errors, "verbs": self._verbs(), "shards": self._shards(), "clocks": self._clocks()}

    def _verbs(self) -> list[PageData]:
        """Rows and seconds of the verbs: of the last micro-batch, and of all."""
        graph = self.watched.graph
        if graph is None:
            return []
        names = "taken", "emitted", "seconds"
        both = zip(graph.figures(self._latest.work), graph.figures(self._sums.work), strict=True)
        return [
            {**dict(zip(names, last, strict=True)), "all": dict(zip(names, total, strict=True))} for last, total in both
        ]

    def _shards(self) -> list[PageData]:
        """For each stage, the rows of the shards that have received most since the start."""
        stages, sums = [], self._sums.shard_rows
        for level, rows in sorted(sums.items()):
            last, count = self._latest.shard_rows.get(level, {}), self._batches.shards
            most = sorted(rows, key=lambda shard: -rows[shard])[:MOST_SHARDS] if count > MOST_SHARDS else range(count)
            counts = [[shard, rows.get(shard, 0), last.get(shard, 0)] for shard in sorted(most)]
            figures = {"count": count, "total": sum(rows.values()), "most": max(rows.values(), default=0)}
            stages.append({"level": level, "rows": counts, **figures})
        return stages

    def _clocks(self) -> list[PageData]:
        """The clocks, with the verbs that have them."""
        graph, clocks = self.watched.graph, []
        for name, mark in self._latest.clocks.items():
            owner = None if graph is None else graph.owner(name)
            verb = name if graph is None or owner is None else graph.texts[owner]
            clocks.append({"verb": verb, **mark.to_data()})
        return clocks

    def _search(self, asked: Mapping[str, str]) -> PageData:
        names = dict(enumerate(self.views.names))
        name = names.get(int(asked["view"])) if asked.get("view", "").isdecimal() else None
        if name is None:
            raise FloError("there is no such view", facts=(("views", f"by number, from 0 to {len(names) - 1}"),))
        return self.views.search(name, asked.get("text", ""))

    def _query(self, asked: Mapping[str, str]) -> PageData:
        return self.views.query(asked.get("query", ""))

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
                    version, rows = self.views.read(name, MOST_ROWS + 1)
                    cells = (list(row.values()) for row in rows.to_pylist())
                    self._views[name] = view_data(name, version, rows.column_names, cells)


def _answer(find: Callable[[Mapping[str, str]], PageData], asked: Mapping[str, str]) -> PageData:
    """The rows that a reader asks for, or the error as text."""
    started = time.monotonic()
    try:
        answer = find(asked)
    except (FloError, OSError) as error:
        return {"error": hide_secrets(str(error))}
    return {**answer, "seconds": time.monotonic() - started}


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
