"""The functions of Spark SQL that are computed on Arrow columns. Importing this declares them in `flo.sql.registry`."""

from flo.sql.functions import (
    arithmetic,
    casts,
    comparisons,
    dates,
    nested,
    patterns,
    results,
    rounding,
    strict_math,
    strict_powers,
    texts,
    timestamps,
)

__all__ = [
    "arithmetic",
    "casts",
    "comparisons",
    "dates",
    "nested",
    "patterns",
    "results",
    "rounding",
    "strict_math",
    "strict_powers",
    "texts",
    "timestamps",
]
