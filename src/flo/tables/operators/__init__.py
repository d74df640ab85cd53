"""The columnar forms of the operators, a module for each family."""

from flo.tables.operators import (  # noqa: F401
    aggregates,
    batches,
    elementwise,
    joins,
    keyed,
    keyed_in_nest,
    lattices,
    merges,
    nest,
    nested,
    ordering,
    over,
    pairs,
    per_key,
    ranking,
    results,
    sequences,
    sets,
    windows,
    zset_streams,
)
