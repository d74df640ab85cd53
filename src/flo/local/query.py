"""The handle of a program with a checkpoint in this process: push data, read views, stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flo.api.running import NamedInputs
from flo.core.collection import Value
from flo.core.errors import FloError, Origin
from flo.local.durable import DurableLoop
from flo.pictures.run_history import FillFigures
from flo.program.dag import StreamLike
from flo.shards.micro_batches import Outcome
from flo.shards.query_outputs import QueryOutputs
from flo.shards.sinks.sinks import Sink
from flo.shards.views import View
from flo.tables.io.diverted import OnError
from flo.tables.io.feeding import Feeder

if TYPE_CHECKING:
    from types import TracebackType


class LocalQuery(NamedInputs[DurableLoop], QueryOutputs[View]):
    """A flow that runs in this process, or in workers, on a checkpoint. A push is one micro-batch.

    A push that raises changes nothing: neither the state nor any sink that takes versions exactly once. Only an error
    of a sink after the commit leaves the push committed.
    """

    _view = View

    def __init__(
        self,
        name: str,
        loop: DurableLoop,
        inputs: Mapping[str, StreamLike],
        sinks: Mapping[str, Sink],
        on_error: OnError,
    ) -> None:
        super().__init__(loop, inputs)
        self.name, self._sinks, self._batches, self._giving = name, sinks, loop.batches, loop.giving
        self._feeder = Feeder(loop, self._inputs, on_error)
        self._feeder.grown = self._grown
        self.fill: FillFigures | None = None
        """The figures of the fill of this start, if the program has changed."""

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
                    self._feeder.feed_in_turn(given)
                self._loop.commit(self._feeder.diverted.take_rows())
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__

    def _hand_over(self, values: Mapping[int, Value]) -> None:
        with self._loop.atomic():
            self._loop.push(tuple(values.get(place) for place in range(len(self._inputs))))
            self._loop.run()
            self._loop.commit({})

    def stop(self) -> None:
        """End the processes and give the checkpoint free. A later start continues from it.

        A push that waits for a sink, in another thread, raises, and changes nothing."""
        self._giving.retrying.stop()
        self._loop.executor.stop()
        self._loop.lease.release()

    def __enter__(self) -> LocalQuery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
