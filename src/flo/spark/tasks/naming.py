"""Tasks with names, which Spark's pages show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class NamedTask:
    """A task under a name of ours. Spark shows the name of the function that it runs."""

    name: str
    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.task(batches)
