"""The handle of a program with a checkpoint in this process: push data, read views, stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from flo.api.running import NamedInputs, expect_known
from flo.core.collection import Value
from flo.core.errors import FloError, Origin, UnknownNameError
from flo.local.durable import DurableLoop
from flo.program.dag import StreamLike
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.micro_batches import Outcome
from flo.shards.sinks.output_changes import DIVERTED
from flo.shards.sinks.sinks import Memory, Sink
from flo.shards.tasks.output_files import VIEW, read_diverted
from flo.shards.views import View
from flo.tables.io.diverted import DivertedRows, OnError
from flo.tables.io.feeding import Feeder

if TYPE_CHECKING:
    from types import TracebackType


class LocalQuery(NamedInputs[DurableLoop]):
    """A flow that runs in this process, or in workers, on a checkpoint. A push is one micro-batch.

    A push that raises changes nothing: neither the state nor any sink that takes versions exactly once.
    """

    def __init__(
        self,
        name: str,
        loop: DurableLoop,
        inputs: Mapping[str, StreamLike],
        sinks: Mapping[str, Sink],
        on_error: OnError,
    ) -> None:
        super().__init__(loop, inputs)
        self.name, self._sinks = name, sinks
        self._feeder = Feeder(loop, self._inputs, on_error)
        self._feeder.grown = self._grown

    def __repr__(self) -> str:
        return f"<Query {self.name!r}, in this process, version {self._loop.version - 1}>"

    @property
    def progress(self) -> deque[Outcome]:
        """The outcomes of the last micro-batches."""
        return self._loop.progress

    def _take(self, given: list[tuple[str, object]]) -> None:
        try:
            with self._feeder.atomic():
                if self._feeder.on_error == "raise":
                    self._feeder.feed_together(given)
                else:
                    for name, data in given:
                        for _ in self._feeder.feed(name, data):
                            pass
                self._loop.commit(self._feeder.diverted)
                self._feeder.diverted.rows.clear()
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__

    def _hand_over(self, values: Mapping[int, Value]) -> None:
        with self._loop.atomic():
            self._loop.push(tuple(values.get(place) for place in range(len(self._inputs))))
            self._loop.run()
            self._loop.commit(DivertedRows())

    def view(self, name: str, version: int | None = None) -> View:
        """A view, at the newest committed version or at an earlier one."""
        expect_known(name, {output.name: output for output in self._loop.batches.outputs}, "output")
        return View.of(self._loop.batches.folder, name, version, self._loop.batches)

    def views(self, version: int | None = None) -> dict[str, View]:
        """All views, at one version."""
        batches = self._loop.batches
        version = View.newest(batches.folder) if version is None else version
        return {each.name: self.view(each.name, version) for each in batches.outputs if each.how == VIEW}

    def changes(self, name: str) -> list[pa.Table]:
        """The changes of an output whose sink is `"memory"`, one table for each micro-batch."""
        sink = self._sinks[expect_known(name, self._sinks, "output")]
        if not isinstance(sink, Memory):
            raise UnknownNameError(
                f"the changes of `{name}` are not kept in memory",
                instead=((f'outputs={{"{name}": "memory"}}', "keeps them in this process"),),
                where=Origin.here(),
            )
        return sink.tables

    def diverted(self, name: str) -> pa.Table:
        """The rows that an output has diverted because its sink cannot hold them."""
        names = [each.removesuffix(DIVERTED) for each in self._sinks if each.endswith(DIVERTED)]
        newest = max(committed_versions(self._loop.batches.folder), default=-1)
        return read_diverted(self._loop.batches.folder, expect_known(name, dict.fromkeys(names), "input"), newest)

    def stop(self) -> None:
        """End the processes and give the checkpoint free. A later start continues from it."""
        self._loop.executor.stop()
        self._loop.lease.release()

    def __enter__(self) -> LocalQuery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
