"""fold_lattice in the body of `per_key`: the rows of a delta become one value for each of their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.groups import Groups
from flo.tables.keyed import ENDED, KeyedRows, key_layout, keys_in
from flo.tables.operators.lattices import FoldLatticeTables
from flo.tables.operators.per_key import WithForm, every_key
from flo.values.keyed import KeyedValue
from flo.values.operators.lattices import FoldLattice


@final
@dataclass(frozen=True)
class FoldLatticeOfEveryKey(WithForm[FoldLattice]):
    """The join of all rows of each key, which is one Python value."""

    form: FoldLatticeTables

    name = "fold_lattice_of_every_key"

    @property
    def by_row(self) -> bool:
        return self.form.by_row

    def take_in(self, *values: KeyedRows) -> tuple[Operator, Deltas]:
        (value,), of = values, self.outputs[0]
        layout, bottom = key_layout(value.of), of.inner.bottom()  # type: ignore[attr-defined]
        entries: dict[Any, Any] = dict.fromkeys(layout.to_elements(keys_in(value.of, value.keys)), bottom)
        rows = Groups.of(value.table, self.keys)
        keys = layout.to_elements(keys_in(value.of, rows.keys.table))
        starts = np.cumsum(rows.counts) - rows.counts
        for key, start, count in zip(keys, starts.tolist(), rows.counts.tolist(), strict=True):
            _, (entries[key],) = self.form.consume(rows.rows.slice(start, count))
        for key in layout.to_elements(keys_in(value.of, value.keys.filter(value.keys[ENDED]))):
            entries[key] = entries[key].fix()
        return self, (KeyedValue.of(entries),)


@every_key(FoldLattice)
def fold_lattice(like: FoldLattice, inputs: StreamTypes) -> Operator | None:
    return FoldLatticeOfEveryKey(like, FoldLatticeTables(like))
