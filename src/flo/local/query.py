"""The handle of a program with a checkpoint in this process: push data, read views, stop."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flo.api.running import NamedInputs
from flo.core.collection import Value
from flo.core.errors import FloError, Origin, ScopeError
from flo.local.durable import DurableLoop
from flo.program.dag import StreamLike
from flo.shards.micro_batches import Outcome
from flo.shards.query_outputs import QueryOutputs
from flo.shards.sinks.sinks import Sink
from flo.shards.views import View
from flo.shards.watching.watch import QueryWatch
from flo.tables.io.diverted import OnError
from flo.tables.io.feeding import Feeder

if TYPE_CHECKING:
    from types import TracebackType


class LocalQuery(NamedInputs[DurableLoop], QueryOutputs[View]):
    """A flow that runs in this process, or in workers, on a checkpoint. A push is one micro-batch.

    A push that raises changes nothing: neither the state nor any sink that takes versions exactly once. Only an error
    of a sink after the commit leaves the push committed.
    """

    _called, _view = "a query", View

    def __init__(
        self,
        watch: QueryWatch,
        loop: DurableLoop,
        inputs: Mapping[str, StreamLike],
        sinks: Mapping[str, Sink],
        on_error: OnError,
    ) -> None:
        super().__init__(loop, inputs)
        self.name, self._sinks, self._batches, self._giving = watch.watched.name, sinks, loop.batches, loop.giving
        self._feeder = Feeder(loop, self._inputs, on_error)
        self._feeder.grown = self._grown
        self._watch, watch.state, loop.note = watch, self._state, watch.note
        loop.input_names = {number: name for name, number in self._inputs.items()}
        self._stopped = False

    def __repr__(self) -> str:
        return f"<Query {self.name!r}, in this process, version {self._loop.version - 1}>"

    @property
    def progress(self) -> deque[Outcome]:
        """The outcomes of the last micro-batches."""
        return self._loop.progress

    def _state(self) -> tuple[str, str]:
        """Whether it is running, waiting for a sink or ended; and what it waits for."""
        if self._stopped:
            return "ended", ""
        return ("running", "") if self.waiting is None else ("waiting", self.waiting)

    def _expect_running(self, verb: str) -> None:
        if self._stopped:
            raise ScopeError(
                f"`{verb}` of a query that was stopped",
                instead=(("flow.on(flo.here).start(…, checkpoint=…)", "continues from its checkpoint"),),
            ).at_users_line()

    def _take(self, given: list[tuple[str, object]]) -> None:
        self._expect_running("push")
        self._loop.began = time.monotonic()
        try:
            with self._feeder.atomic():
                if self._feeder.on_error == "raise":
                    self._feeder.feed_together(given)
                else:
                    self._feeder.feed_in_turn(given)
                self._loop.commit(self._feeder.diverted.take_rows())
        except FloError as error:
            self._watch.note_error(error)
            raise error.located(Origin.here()) from error.__cause__

    def _hand_over(self, values: Mapping[int, Value]) -> None:
        self._expect_running("end")
        self._loop.began = time.monotonic()
        with self._loop.atomic():
            self._loop.push(tuple(values.get(place) for place in range(len(self._inputs))))
            self._loop.run()
            self._loop.commit({})

    def stop(self) -> None:
        """End the processes, give the checkpoint free and close the page. A later start continues from it.

        A push that waits for a sink, in another thread, raises, and changes nothing."""
        self._giving.retrying.stop()
        self._loop.executor.stop()
        self._loop.lease.release()
        self._stopped = True
        self._watch.end()
        self._watch.close()

    def __enter__(self) -> LocalQuery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
