"""The other half of the search: printed rules that were run in the same way, literally, and keep all laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

from flo.core.graph import Sequential
from flo.core.nested import Nested
from flo.core.operator import Delta, Operator, Step, Values, expect_bounded
from flo.core.stream_type import StreamTypes
from flo.values.lattice_orders import Max
from flo.values.lvar import LVarValue
from flo.values.operators.sequences import Fold
from tests.seeded.base import BOUNDED, INTEGERS, UNBOUNDED, PassOn, last, open_stream, seq
from tests.seeded.lvars import NUMBER, PrintedThreshold
from tests.seeded.nesting import PrintedNest, node, passing
from tests.seeded.printed_zsets import PrintedJoin, PrintedMap, kept
from tests.seeded.zsets import ONE, TWO, both


class Sound(NamedTuple):
    """Rules as they are printed, or with the premise that the entries of docs/deviations.md ask for."""

    rules: tuple[str, ...]
    subject: Operator
    types: StreamTypes


def add(total: int, x: int) -> int:
    return total + x


@final
@dataclass(frozen=True)
class LiteralMap(PassOn):
    """map and map-terminator, figure 14, where ⊗ is a value of its own, and no element."""

    name = "map_literal"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return self, seq(element + 1)


@final
@dataclass(frozen=True)
class LiteralFold(PassOn):
    """fold and fold-terminator, figure 14, where ⊗ is no element."""

    acc: int = 0

    name = "fold_literal"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_bounded(self, inputs[0])
        return super().type(inputs)

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return LiteralFold(self.acc + element), seq()

    def at_the_end(self) -> Delta:
        return last(self.acc)


@final
@dataclass(frozen=True)
class LiteralFoldLattice(PassOn):
    """fold-lattice and fold-lattice-terminated, figure 17."""

    name = "fold_lattice_literal"
    gives = NUMBER

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return self, LVarValue(Max(int), element)


@final
@dataclass(frozen=True)
class JoinOfSomething(Operator):
    """join-zset, if something has arrived, and join-zset-terminated, figure 21."""

    printed: PrintedJoin = PrintedJoin()  # noqa: RUF009

    name = "join_zset_of_something"
    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return self.printed.type(inputs)

    def steps(self, inputs: Values) -> Iterator[Step]:
        left, right = both(inputs)
        for step in self.printed.steps(inputs):
            if step.rule == "join-zset-terminated" or left.weights or right.weights:
                assert isinstance(step.operator, PrintedJoin)
                yield replace(step, operator=JoinOfSomething(step.operator))


@dataclass(frozen=True)
class KeepsTheEnd(PrintedNest):
    """nest-first-fixed and nest-run-fixed, figure 12, which leave [⊗] where it was."""

    name = "nest_that_keeps_the_end"

    def steps(self, values: Values) -> Iterator[Step]:
        for step in super().steps(values):
            if step.rule in ("nest-first-fixed", "nest-run-fixed"):
                ended: Any = values[0].empty().fix()
                step = replace(step, inputs=(ended,))
            yield step


SOUND = (
    Sound(("map", "map-terminator"), LiteralMap(), UNBOUNDED),
    Sound(("fold", "fold-terminator"), LiteralFold(), BOUNDED),
    Sound(("fold-lattice", "fold-lattice-terminated"), LiteralFoldLattice(), UNBOUNDED),
    Sound(
        ("lvar-threshold", "lvar-threshold-terminated"),
        PrintedThreshold((1,), excludes=True, ends=True),
        open_stream(NUMBER),
    ),
    Sound(("map-zset", "map-zset-terminated"), PrintedMap(kept), ONE),
    Sound(("join-zset", "join-zset-terminated"), JoinOfSomething(), TWO),
    Sound(
        ("nest-first", "nest-first-fixed", "nest-run-graph", "nest-run-step", "nest-run-fixed", "sequence-left"),
        KeepsTheEnd(Sequential(passing(), node(Fold(0, add)))),
        open_stream(Nested(INTEGERS)),
    ),
)
