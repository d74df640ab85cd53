"""Every class of operators declares what it can do: engines ask the class, and know none by name."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pytest

import flo.shards.plan.planning  # noqa: F401  (it has operators of its own)
from flo.core.operator import Deltas, Operator
from flo.tables.operator import Cut, Grouping, OnTables, Placement, kept, operators_on_tables, undeclared
from flo.tables.operators.weights import NOTHING
from flo.tables.state.trace import Trace
from flo.values.operators.elementwise import Map

SHIPPED = sorted(
    (kind for kind in operators_on_tables().values() if kind.__module__.startswith("flo.")), key=lambda kind: kind.name
)


@pytest.mark.parametrize("kind", SHIPPED, ids=lambda kind: kind.name)
def test_an_operator_on_tables_declares_what_it_can_do(kind: type[OnTables[Operator]]) -> None:
    assert undeclared(kind) == []


@pytest.mark.parametrize("kind", SHIPPED, ids=lambda kind: kind.name)
def test_what_is_declared_fits_together(kind: type[OnTables[Operator]]) -> None:
    parts = [part.name for part in kind.parts()]
    for place, part in enumerate(kind.parts()):
        if part.cut is Cut.BY_ROW:
            assert part.rows_of in parts[:place], "the rows of a part that is cut before it"
        if part.cut in (Cut.BY_KEY, Cut.BY_GROUP, Cut.BY_ROW, Cut.BY_STREAM):
            assert kind.placement is Placement.BY_KEY
    if kind.placement is Placement.ANYWHERE:
        assert parts == [], "rows that may be anywhere have no state that others could need"
    if kind.placement is Placement.BY_KEY and kind.cut is not Cut.BY_STREAM:
        says = (kind.key_numbers, kind.key_columns) != (OnTables.key_numbers, OnTables.key_columns)
        assert says, "it must say which key its rows have"
    if kind.keeps_positions:
        assert kind.placement is Placement.ANYWHERE


@dataclass(frozen=True)
class Nothing(OnTables[Map]):
    """Declares nothing."""

    def consume(self, *tables: pa.Table) -> tuple[Operator, Deltas]:
        return self, (None,)


@dataclass(frozen=True)
class Half(Nothing):
    """Does not say by which key its rows are kept."""

    seen: Trace = kept(NOTHING, Cut.BY_KEY)
    rows: Trace = field(default=NOTHING)

    placement = Placement.BY_KEY
    grouping = Grouping.NONE
    keeps_positions = False


def test_a_class_that_forgets_a_declaration_is_caught() -> None:
    assert undeclared(Nothing) == ["placement", "grouping", "keeps_positions"]
    assert undeclared(Half) == ["how `rows` is cut"]


def test_state_in_one_place_need_not_be_cut() -> None:
    class Alone(Half):
        placement = Placement.ONE_PLACE

    assert undeclared(Alone) == []
