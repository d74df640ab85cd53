"""The forms of operators on tables, a module for each family.

A form takes a delta, a table of rows with key columns and weights (±), and emits deltas. `distinct`, for example:

    in: n  ±       state: n  ±      out: n  ±
        1  +2             1  2           1  +1
        2  -1             2  0           2  -1      (2 was there once before)

Invariant: the outputs of a form add up to the output of the operator on values, however the input is cut into deltas.
What a form keeps are its dataclass fields: they are the parts of its state in a checkpoint, by name.
"""

from flo.tables.operators import (  # noqa: F401
    asof,
    clock_streams,
    clocked_windows,
    current,
    dedupe,
    elementwise,
    final,
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
    session_columns,
    sets,
    upserts,
    windows,
)
