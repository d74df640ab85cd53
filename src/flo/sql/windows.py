"""Window functions of Spark SQL as those of Flo."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from flo.api import aggregates, window_functions
from flo.api.ordering import asc, desc
from flo.sql import plan
from flo.sql.catalyst import Unsupported
from flo.sql.nodes import Node, column, replace_nodes

RANKS = {
    "RowNumber": "row_number",
    "Rank": "rank",
    "DenseRank": "dense_rank",
    "PercentRank": "percent_rank",
    "CumeDist": "cume_dist",
}


def add_windows(compiler: Any, stream: Any, relation: plan.Window) -> Any:
    """Return the rows with the results of window functions."""
    raise Unsupported("Window", "window functions are not compiled yet")


__all__ = [
    "RANKS",
    "Any",
    "Node",
    "add_windows",
    "aggregates",
    "asc",
    "column",
    "desc",
    "pa",
    "replace_nodes",
    "window_functions",
]
