"""The forms of operators on tables, a module for each family."""

from flo.tables.operators import (  # noqa: F401
    asof,
    clock_streams,
    clocked_windows,
    elementwise,
    group_by,
    interval_joins,
    joins,
    keyed,
    lattices,
    nest,
    ordering,
    over,
    pairs,
    per_key,
    results,
    retain,
    sequences,
    sets,
    upserts,
    windows,
)
