"""All lattices that Flo ships, and what a lattice of one's own is made from."""

from __future__ import annotations

from flo.values.lattice_base import BOTTOM, TOP, Bottom, Custom, Lattice, Top
from flo.values.lattice_counters import GCounter, PNCounter
from flo.values.lattice_orders import And, Flat, Max, Min, NaturalSum, Or
from flo.values.lattice_structures import MapUnion, Product, SetUnion, Versioned

__all__ = [
    "BOTTOM",
    "TOP",
    "And",
    "Bottom",
    "Custom",
    "Flat",
    "GCounter",
    "Lattice",
    "MapUnion",
    "Max",
    "Min",
    "NaturalSum",
    "Or",
    "PNCounter",
    "Product",
    "SetUnion",
    "Top",
    "Versioned",
]
