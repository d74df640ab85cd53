"""What a running query lets its user read: views, changes that are kept in memory, diverted rows, and its page.

    outputs   totals   "view"     query.view("totals").arrow()        the rows at a committed version
              large    "memory"   query.changes("large")              a table for each micro-batch
    inputs    orders              query.diverted("orders")            the rows that it could not take

Invariant: nothing here depends on the engine that runs the query. An engine gives its own class of views.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Generic, TypeVar

import pyarrow as pa

from flo.api.running import expect_known
from flo.core.errors import HasMethods, UnknownNameError
from flo.pictures.run_history import FillFigures
from flo.pictures.run_page import save_run
from flo.pictures.serving import PageServer
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.micro_batches import MicroBatches
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.output_changes import DIVERTED
from flo.shards.sinks.sinks import Memory, Sink
from flo.shards.tasks.output_files import VIEW, read_diverted
from flo.shards.views import View
from flo.shards.watching.watch import QueryWatch

V = TypeVar("V", bound=View)


class QueryOutputs(HasMethods, Generic[V]):
    """The part of a query that reads what it has computed."""

    _called = "a query"
    _batches: MicroBatches
    _sinks: Mapping[str, Sink]
    _view: type[V]
    _giving: Giving
    _watch: QueryWatch

    @property
    def waiting(self) -> str | None:
        """What the query waits for, if a sink is down: the output, its sink and the error. See `retry` of `start`."""
        return self._giving.retrying.waiting

    def view(self, name: str, version: int | None = None) -> V:
        """A view, at the newest committed version or at an earlier one."""
        expect_known(name, {output.name: output for output in self._batches.outputs}, "output")
        return self._view.of(self._batches.folder, name, version, self._batches)

    def views(self, version: int | None = None) -> dict[str, V]:
        """All views, at one version."""
        version = View.newest(self._batches.folder) if version is None else version
        return {each.name: self.view(each.name, version) for each in self._batches.outputs if each.how == VIEW}

    def changes(self, name: str) -> list[pa.Table]:
        """The changes of an output whose sink is `"memory"`, one table for each micro-batch."""
        sink = self._sinks[expect_known(name, self._sinks, "output")]
        if not isinstance(sink, Memory):
            raise UnknownNameError(
                f"the changes of `{name}` are not kept in memory",
                instead=((f'outputs={{"{name}": "memory"}}', "keeps them in this process"),),
            ).at_users_line()
        return sink.tables

    def diverted(self, name: str) -> pa.Table:
        """The rows that an input has diverted and no sink has taken, with the reason for each."""
        inputs = [each.removesuffix(DIVERTED) for each in self._sinks if each.endswith(DIVERTED)]
        if not inputs:
            raise UnknownNameError(
                "the query diverts no rows: one that does not fit ends it",
                instead=(('start(…, on_error="divert")', "diverts such rows"),),
            ).at_users_line()
        newest = max(committed_versions(self._batches.folder), default=-1)
        return read_diverted(self._batches.folder, expect_known(name, dict.fromkeys(inputs), "input"), newest)

    @property
    def fill(self) -> FillFigures | None:
        """The figures of the fill of this start, if the program has changed."""
        return self._watch.fill

    def ui(self, port: int | None = None) -> PageServer:
        """Serves a page with the program, its figures, charts, clocks, views and settings, on this machine only.

        A query has one page: a second call returns the same. It is served until it is closed or the query is stopped.
        If the query ends otherwise, the page shows how. Without a port, a free one is chosen. The page is at `url` of
        what is returned, and the figures for Prometheus are at `/metrics`.
        """
        return self._watch.serve(port)

    def watch(self) -> None:
        """Collects the sizes of the state and the lag from now on, for `save`. `ui` does so, too."""
        self._watch.look_again_and_again()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the same page, as it is now, to one file of HTML."""
        save_run(self._watch.final_data(), path)

    def metrics(self) -> str:
        """The figures in the text format of Prometheus, as the page serves them at `/metrics`."""
        return self._watch.metrics()
