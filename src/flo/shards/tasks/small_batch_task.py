"""A small micro-batch in one task: all stages of a plan, one after the other, without shuffles between them.

    large    input tasks ─shuffle─> tasks of stage 1 ─shuffle─> tasks of stage 2
    small    one task:  inputs, stage 1 in all of its shards, stage 2 in all of its shards

Each shuffle has a fixed cost: tasks that start, and files that are written and read. Where few rows arrive, it is far
more than the cost of the rows.

Invariant: the shards and what they send each other are the same as in tasks of their own, so it makes no difference to
states and results which way a micro-batch went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from flo.core.errors import FloError
from flo.shards.tasks import context
from flo.shards.tasks.blobs import read_blobs, report_blob, size_of
from flo.shards.tasks.context import Code
from flo.shards.tasks.hot_keys import hot_in
from flo.shards.tasks.input_task import InputTask
from flo.shards.tasks.stage_task import StageTask, finish_writes
from flo.tables.checkpoint.folders import Writes

TOO_LARGE = "too_large"
"""The report of a micro-batch that turned out not to be small."""


@dataclass(frozen=True)
class SmallBatchTask:
    """The only task of a small micro-batch. If that turns out to be large, the task stops and reports so.

    It is the same for all micro-batches of a query: each job says which one it is."""

    input: InputTask | None
    """The task that reads rows of inputs; None if it receives blobs."""
    stages: tuple[Code, ...]
    few_bytes: int
    """The most bytes that a stage of a small micro-batch receives."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            received.append(batch)
            size += batch.get_total_buffer_size()  # `nbytes` crashes where Java leaves out offsets
            if size > 2 * self.few_bytes:  # with what is beside the data
                return iter([_TOO_LARGE])
        writes, micro_batch = Writes(), context.micro_batch()
        try:
            hot = hot_in(micro_batch.state_versions)
            moving = list(read_blobs(received) if self.input is None else replace(self.input, hot=hot).run(0, received))
            for code in self.stages:
                if size_of(moving) > self.few_bytes:
                    return iter([_TOO_LARGE])
                moving = list(StageTask(code, micro_batch).run(0, moving, writes))
            moving.append(finish_writes(writes, 0, 0, micro_batch))
        except FloError as error:
            return iter([report_blob(0, 0, error).batch()])
        finally:
            writes.close()
        return (blob.batch() for blob in moving)


_TOO_LARGE = report_blob(0, 0, {TOO_LARGE: True}).batch()
