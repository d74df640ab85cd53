"""The type variables of the verbs, each with one meaning: `Stream[C, B]` is a stream of collection C and boundedness B.

D and E are other collections, and T and U are elements: of this stream, and of another one or of the result.
"""

from __future__ import annotations

from typing import TypeVar

from flo.core.collection import Collection
from flo.core.stream_type import Unbounded

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")
"""The result of a function."""
K = TypeVar("K")
"""A key."""
V = TypeVar("V")
W = TypeVar("W")
"""Values of lattice variables."""
C = TypeVar("C", bound=Collection)
C2 = TypeVar("C2", bound=Collection)
C3 = TypeVar("C3", bound=Collection)
D = TypeVar("D", bound=Collection)
E = TypeVar("E", bound=Collection)
B = TypeVar("B", bound=Unbounded)
B2 = TypeVar("B2", bound=Unbounded)
B3 = TypeVar("B3", bound=Unbounded)

T_co = TypeVar("T_co", covariant=True)
C_co = TypeVar("C_co", bound=Collection, covariant=True)
C_contra = TypeVar("C_contra", bound=Collection, contravariant=True)
B_co = TypeVar("B_co", bound=Unbounded, covariant=True)
