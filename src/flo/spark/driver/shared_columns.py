"""The rows of all inputs in the same columns, so that one task can read several inputs.

A shared column holds a column of every input that has enough of its type, and null for the other inputs. So there are
as many columns of a type as the input with the most of them has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from flo.sql.catalyst import quoted

INPUT = "input"
"""The first column, before those that are shared: the number of the input."""


def share_columns(types: Iterable[Iterable[Hashable]]) -> list[list[int]]:
    """For each input, given by the types of its columns, the indices of these among the shared columns."""
    indices: dict[tuple[Hashable, int], int] = {}
    shared: list[list[int]] = []
    for own in types:
        counts = Counter[Hashable]()
        shared.append([])
        for kind in own:
            counts[kind] += 1
            shared[-1].append(indices.setdefault((kind, counts[kind]), len(indices)))
    return shared


def in_shared_columns(frames: list[DataFrame], indices: list[list[int]]) -> list[DataFrame]:
    """The rows of the inputs in the shared columns, after the number of the input."""
    types = {
        index: field.dataType
        for frame, own in zip(frames, indices, strict=True)
        for field, index in zip(frame.schema, own, strict=True)
    }
    aligned = []
    for number, (frame, own) in enumerate(zip(frames, indices, strict=True)):
        names = dict(zip(own, frame.columns, strict=True))
        columns = [
            (sf.col(quoted(names[index])) if index in names else sf.lit(None).cast(kind)).alias(str(index))
            for index, kind in sorted(types.items())
        ]
        aligned.append(frame.select(sf.lit(number).alias(INPUT), *columns))
    return aligned
