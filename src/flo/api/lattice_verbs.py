"""Verbs that make lattice variables, and read them deterministically (§6.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from flo.api.arguments import call_located, expect_function, expect_optional, expect_reason, lattice_of, value_of
from flo.api.columns import Columns
from flo.api.scope import B, B_co, C_co, StreamBase, T, V, W
from flo.core.stream_type import Bounded
from flo.values.lattice import Lattice
from flo.values.lattice_orders import NaturalSum, Or
from flo.values.lvar import LVar
from flo.values.operators.lattices import FoldLattice, SumLattice
from flo.values.operators.lvars import Above, LVarToSequence, MapLattice, Threshold
from flo.values.operators.lvars import event_when_above as at_threshold
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set

if TYPE_CHECKING:
    from flo.api.stream import Stream


class LatticeVerbs(StreamBase[C_co, B_co]):
    def fold_lattice(
        self: LatticeVerbs[Sequence[T] | Bag[T] | Set[T], B],
        lattice: Lattice[V] | type[Lattice[V]],
        f: Callable[[T], V] | Columns | None = None,
    ) -> Stream[LVar[Lattice[V]], B]:
        """Return one growing value: the join of all elements, or of `f(element)`."""
        function = expect_optional("fold_lattice", "f", f, self)
        return self._then(FoldLattice(lattice_of("fold_lattice", lattice, self, function), function))

    def sum_lattice(self: LatticeVerbs[Sequence[V] | Bag[V], B]) -> Stream[LVar[NaturalSum], B]:
        """Return one growing value: the largest running sum."""
        return self._then(SumLattice())

    def threshold(self: LatticeVerbs[LVar[Lattice[V]], B], *thresholds: V) -> Stream[Sequence[V], B]:
        """Return the one threshold that the value reaches, once: the value is at least that. It must be impossible to
        reach two of them."""
        return self._then(Threshold(thresholds))

    def event_when_above(self: LatticeVerbs[LVar[Lattice[V]], B], threshold: V) -> Stream[Sequence[V], B]:
        """Return the threshold, once, when the value is above it."""
        return self._then(at_threshold(threshold))

    def above(self: LatticeVerbs[LVar[Lattice[V]], B], threshold: V) -> Stream[LVar[Or], B]:
        """Return whether the value is above the threshold: false, and then true forever."""
        return self._then(Above(threshold, strict=True))

    def at_least(self: LatticeVerbs[LVar[Lattice[V]], B], threshold: V) -> Stream[LVar[Or], B]:
        """Return whether the value has reached the threshold: false, and then true forever."""
        return self._then(Above(threshold))

    def map_monotone(
        self: LatticeVerbs[LVar[Lattice[V]], B],
        f: Callable[[V], W],
        lattice: Lattice[W] | type[Lattice[W]],
        *,
        monotone: str | None = None,
    ) -> Stream[LVar[Lattice[W]], B]:
        """Apply a function that never decreases when the value grows. It is tested on examples.

        `monotone="why"` records your reason, which `flo.verify.check` tries to refute; the run checks it too.
        """
        target = call_located(Lattice.from_annotation, lattice)
        reason = expect_reason("map_monotone", "monotone", monotone)
        f = expect_function("map_monotone", "f", f, value_of(self), columns=False)
        return self._then(MapLattice(f, target, monotone=reason))

    def to_sequence(self: LatticeVerbs[LVar[Lattice[V]], Bounded]) -> Stream[Sequence[V], Bounded]:
        """Return the final value. The stream must be bounded: otherwise it would depend on when it is read."""
        return self._then(LVarToSequence())
