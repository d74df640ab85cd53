"""The columnar forms of the operators, a module for each family."""

from flo.columnar.operators import (  # noqa: F401
    aggregates,
    bodies,
    elementwise,
    extremes,
    folds,
    joins,
    joins_partners,
    nest,
    sets,
    topk,
    windows,
)
