"""DuckDB as the oracle of window functions: the rows so far, and what SQL says of them."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb

from flo.api.aggregates import AggregateSpec
from flo.api.ordering import SortKey, sort_keys
from flo.columns.layout import Layout

_IGNORING = {"first": "first_value", "last": "last_value"}
_AGGREGATES = {
    "sum": "sum",
    "avg": "avg",
    "count_distinct": "count",
    "quantile": "quantile_cont",
    **{
        name: name
        for name in ("var_samp", "var_pop", "stddev_samp", "stddev_pop", "covar_samp", "covar_pop", "median", "corr")
    },
}
"""What SQL calls aggregates, other than the plain ones."""
_BY_POSITION = ("row_number", "ntile", "lag", "lead")


def expected(kind: Any, weights: dict[Any, int], by: list[str], order: Any, functions: dict[str, Any]) -> Counter[Any]:
    """The rows that SQL gives for these functions of columns, as `shown` shows them."""
    rows = [row for row, weight in weights.items() for _ in range(weight)]
    layout = Layout.of(kind)
    assert layout is not None
    keys = [] if order is None else sort_keys("over", order)
    chosen = ", ".join(f"{_sql(each, by, keys, layout.names)} AS {_quoted(name)}" for name, each in functions.items())
    database = connection().register("rows", layout.to_table(rows))
    database.execute("CREATE OR REPLACE TABLE given AS SELECT * FROM rows")  # its own: Arrow's NaN is another one
    found = database.sql(f"SELECT *, {chosen} FROM given").to_arrow_table()
    return Counter(shown(row) for row in zip(*(column.to_pylist() for column in found.columns), strict=True))


@cache
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1}).execute("SET TimeZone = 'UTC'")


def shown(row: Any) -> tuple[str, ...]:
    """A row as texts. Decimals and floats have nine places, so that types do not matter."""
    return tuple(map(_shown, row))


def _shown(value: Any) -> str:
    match value:
        case bool() | None:
            return repr(value)
        case int() | float() | Decimal():
            inexact = isinstance(value, float) and abs(value) > 2**50
            whole = math.isfinite(value) and value == int(value) and not inexact
            return str(int(value)) if whole else f"{float(value):.9g}"
        case datetime():
            return repr(value.astimezone(None).timestamp() if value.tzinfo else value)
        case _:
            return repr(value)


def _sql(spec: Any, by: list[str], keys: list[SortKey], names: tuple[str, ...]) -> str:
    by_position = spec.kind in _BY_POSITION or spec.rows is not None
    ties = [SortKey(name) for name in names] if by_position else []
    parts = [f"PARTITION BY {', '.join(map(_quoted, by))}"] if by else []
    if keys or ties:
        parts.append("ORDER BY " + ", ".join(map(_key, (*keys, *ties))))
    has_frame = spec.kind not in ("rank", "dense_rank", "percent_rank", "cume_dist", *_BY_POSITION)
    frame = _frame(spec, bool(keys)) if has_frame else ""
    return f"{_called(spec)} OVER ({' '.join([*parts, frame])})"


def _called(spec: Any) -> str:
    name, options = _IGNORING.get(spec.kind, spec.kind), list(spec.options)
    of = next(iter(spec.arguments), None) if isinstance(spec, AggregateSpec) else spec.of
    if spec.kind == "count":
        text = f"count({_quoted(of) if of else '*'})"
    elif isinstance(spec, AggregateSpec) and spec.kind in _AGGREGATES:
        arguments = ", ".join(map(_quoted, spec.arguments))
        distinct = "DISTINCT " if spec.kind == "count_distinct" or True in options else ""
        at = f", {options[0]}" if spec.kind == "quantile" else ""
        text = f"{_AGGREGATES[spec.kind]}({distinct}{arguments}{at})"
    elif spec.kind in ("collect", "string_agg"):
        separator = f", '{options[0]}'" if spec.kind == "string_agg" else ""
        name = "list" if spec.kind == "collect" else spec.kind
        return f"{name}({_quoted(of)}{separator}) FILTER (WHERE {_quoted(of)} IS NOT NULL)"
    else:
        values = [*([_quoted(of)] if of else []), *(map(_literal, options))]
        ignoring = " IGNORE NULLS" if spec.kind in _IGNORING else ""
        text = f"{name}({', '.join(values)}{ignoring})"
    where = getattr(spec, "where", None) if isinstance(spec, AggregateSpec) else None
    return text if where is None else f"{text} FILTER (WHERE {where})"


def _key(key: SortKey) -> str:
    nulls = "LAST" if key.nulls_last else "FIRST"
    return f"{_quoted(key.of)} {'DESC' if key.descending else 'ASC'} NULLS {nulls}"


def _frame(spec: Any, ordered: bool) -> str:
    mode, (start, end) = "RANGE", (None, 0) if ordered else (None, None)
    if spec.rows is not None:
        mode, (start, end) = "ROWS", spec.rows
    elif spec.range is not None:
        start, end = spec.range
    return f"{mode} BETWEEN {_bound(start, 'PRECEDING')} AND {_bound(end, 'FOLLOWING')}"


def _bound(bound: Any, unbounded: str) -> str:
    if bound is None:
        return f"UNBOUNDED {unbounded}"
    if bound == 0 and not isinstance(bound, timedelta):
        return "CURRENT ROW"
    behind = bound > (timedelta() if isinstance(bound, timedelta) else 0)
    return f"{_literal(abs(bound))} {'FOLLOWING' if behind else 'PRECEDING'}"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'"
        case timedelta():
            return f"INTERVAL '{value // timedelta(microseconds=1)} microseconds'"
        case _:
            return str(value)
