"""`Stream[C, B]`: a stream of collection C and boundedness B, with the verbs of every collection.

Type checkers see which verbs a stream has: each says on which collection and boundedness it works, through the type of
its `self`. The same is checked again when the program is built.
"""

from __future__ import annotations

from flo.api.base import B_co, C_co
from flo.api.combine_verbs import CombineVerbs
from flo.api.element_verbs import ElementVerbs
from flo.api.keyed_verbs import KeyedVerbs
from flo.api.lattice_verbs import LatticeVerbs
from flo.api.nested_verbs import NestedVerbs
from flo.api.sequence_verbs import SequenceVerbs
from flo.api.window_verbs import WindowVerbs
from flo.api.zset_verbs import ZSetVerbs


class Stream(
    ElementVerbs[C_co, B_co],
    CombineVerbs[C_co, B_co],
    SequenceVerbs[C_co, B_co],
    WindowVerbs[C_co, B_co],
    LatticeVerbs[C_co, B_co],
    ZSetVerbs[C_co, B_co],
    KeyedVerbs[C_co, B_co],
    NestedVerbs[C_co, B_co],
):
    """(C, B): made by `Flow.input` and by the verbs; never by hand."""
