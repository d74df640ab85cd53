"""The seeded bugs: collections, operators, functions, lattices and graphs that break a law. A checker must find each.

There is one for each law, one for each printed rule of the paper that falls short and can be run, and one for each of
the classic mistakes of streaming programs. Those of printed rules carry the number of their entry in
docs/deviations.md.

All small-step rules of figures 12, 14, 15, 17, 18, 20 and 21 were run as they are printed, on every small input and in
every schedule; those of graphs (figure 6) run in each of them. What falls short is here and in docs/deviations.md. What
was found right, literally or with the premise that an entry asks for, is in `sound`.
"""

from __future__ import annotations

from tests.seeded.arrival import ARRIVAL
from tests.seeded.base import Seeded
from tests.seeded.collections import COLLECTIONS
from tests.seeded.functions import FUNCTIONS, LATTICES
from tests.seeded.graphs import GRAPHS
from tests.seeded.lvars import LVARS
from tests.seeded.merging import MERGING
from tests.seeded.nesting import NESTING
from tests.seeded.operators import OPERATORS
from tests.seeded.printed import PRINTED
from tests.seeded.printed_zsets import PRINTED_ZSETS
from tests.seeded.sizes import SIZES
from tests.seeded.zsets import ZSET_MISTAKES

SEEDED: tuple[Seeded, ...] = (
    *COLLECTIONS,
    *FUNCTIONS,
    *LATTICES,
    *OPERATORS,
    *ARRIVAL,
    *MERGING,
    *ZSET_MISTAKES,
    *LVARS,
    *PRINTED,
    *PRINTED_ZSETS,
    *NESTING,
    *GRAPHS,
    *SIZES,
)

NOT_SUBJECTS: dict[int, str] = {
    6: "a union of a map and ⊗ is undefined, so there is nothing that could be stepped",
    13: "`fix` is one function of all nested streams; with another one, all operators on them would have to be others",
    15: "about what `++` takes: a delta that is no value cannot be pushed at all",
    19: "about the set that the law ranges over; Flo asks it of deltas that fit",
    20: "about the typing function of expressions, which Flo does not have",
    21: "about ⊥, which is missing among the parts of a collection language",
    23: "about the configurations that the law ranges over; Flo asks it of those that a program reaches",
    24: "about equality of Python objects, which no law compares with itself: Flo does not check it",
    25: "about subtyping, which Flo widens: more programs are typed, and none steps otherwise",
    30: "about the event loop, and who receives what it sends",
    32: "about a delta that `++` has no case for: there is no value to go on with",
    34: "about memory: the printed rule keeps more than it needs, and breaks no law",
    35: "about which operator of a graph steps first: an operator alone does not see the others",
}
"""Entries of docs/deviations.md that no check can be given, and why."""

__all__ = ["NOT_SUBJECTS", "SEEDED", "Seeded"]
