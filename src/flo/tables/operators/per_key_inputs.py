"""What `per_key` reads, on tables: that a key is there is information, and passes every operator of the body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamTypes
from flo.tables.keyed import ENDED, KeyedRows, key_names, noticed
from flo.tables.operators.keyed import OnKeyed, keyed_delta
from flo.tables.operators.weights import NOTHING, new_rows
from flo.tables.state.trace import Trace, weighing
from flo.values.operators.per_key import PerKey


@final
@dataclass(frozen=True)
class KeysTables(OnKeyed[PerKey]):
    """The inputs of `per_key`, and which keys are new: on all of them, whichever it was that brought the key."""

    seen: Trace = field(default=NOTHING)
    over: tuple[bool, ...] = ()
    """Which inputs have ended, where not all have."""

    name = "keys_tables"
    rule = "per-key"

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        count = self.like.arity[0]
        return count, count

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return inputs

    @property
    def by_row(self) -> bool:
        return False

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        names = key_names(values[0].of)
        if values[0].of.cancels:  # keys that are there by their rows alone
            return self, tuple(keyed_delta(value.of, value.table, value.keys) for value in values)
        every = pa.concat_tables([table.select(list(names)) for value in values for table in (value.table, value.keys)])
        new = new_rows(self.seen, weighing(every, np.ones(every.num_rows, np.int64)), names)
        keys = noticed(new.table.select(list(names)))
        outputs = []
        for place, value in enumerate(values):
            ended = [noticed(keys.select(list(names)), ended=True)] if self._is_over(place) else []
            said = [keys, *ended, value.keys.filter(value.keys[ENDED])]
            outputs.append(keyed_delta(value.of, value.table, pa.concat_tables(said)))
        return replace(self, seen=self.seen.extended(new)), tuple(outputs)

    def _is_over(self, place: int) -> bool:
        return bool(self.over) and self.over[place]

    def steps(self, inputs: Values) -> Iterator[Step]:
        values: Any = inputs
        over = tuple(value.fixed() for value in values)
        if any(value.has_content() for value in values) or all(over):
            if any(value.size() for value in values):
                yield from self._forward(values)
        elif over != (self.over or (False,) * len(over)) and not values[0].of.cancels:
            table = self.seen.table()
            deltas = [
                keyed_delta(value.of, None, noticed(table.select(list(key_names(value.of))), ended=True))
                if now and not self._is_over(place) and table is not None
                else None
                for place, (value, now) in enumerate(zip(values, over, strict=True))
            ]
            rests = tuple(value.passed() if value.fixed() else value for value in values)
            yield Step(f"{self.rule}-end", rests, replace(self, over=over), tuple(deltas))

    def _forward(self, values: tuple[KeyedRows, ...]) -> Iterator[Step]:
        if any(value.has_content() for value in values):
            yield from self.taken_in(values, onwards=False)
        else:
            ends = tuple(self.ended(place) for place in range(len(values)))
            yield Step(f"{self.rule}-terminated", tuple(value.passed() for value in values), self, ends)
