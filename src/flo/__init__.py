"""Flo: streaming pipelines that cannot hang and cannot race.

An implementation of the paper "Flo: a Semantic Foundation for Progressive Stream Processing".
"""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flo import verify
from flo.api.aggregates import (
    arg_max,
    arg_min,
    avg,
    bool_and,
    bool_or,
    collect,
    corr,
    count,
    count_distinct,
    covar_pop,
    covar_samp,
    first,
    grouping_id,
    last,
    linear,
    max,
    median,
    min,
    mode,
    quantile,
    stddev_pop,
    stddev_samp,
    string_agg,
    sum,
    var_pop,
    var_samp,
)
from flo.api.body import Loop
from flo.api.clock_verbs import min_clock
from flo.api.flow import Flow, Here, register_engine, register_sql
from flo.api.functions import greatest, hash, least, md5, regexp_extract, sha256, split_part, try_cast
from flo.api.ordering import asc, desc
from flo.api.running import FlowLoop, Result
from flo.api.stream import Clock, Stream, Windowed
from flo.api.window_functions import (
    cume_dist,
    dense_rank,
    first_value,
    lag,
    last_value,
    lead,
    nth_value,
    ntile,
    percent_rank,
    rank,
    row_number,
)
from flo.core import data as _data  # noqa: F401  # registers how plain Python data is lowered
from flo.core.collection import Collection, Value
from flo.core.display import register_pictures
from flo.core.errors import (
    BoundednessError,
    CheckpointError,
    CollectionError,
    DeferError,
    ElementError,
    FixpointError,
    FloError,
    FunctionError,
    LawError,
    NameTakenError,
    NotationError,
    OrderError,
    Origin,
    ScopeError,
    ThresholdError,
    TypeMismatch,
    UnknownNameError,
    UnknownVerbError,
    UnreachableError,
    UnusedInputError,
)
from flo.core.event_loop import ByHand, FirstEnabled, RandomSchedule, RoundRobin
from flo.core.graph import Graph, names, parse, show
from flo.core.nested import Nested
from flo.core.operator import Operator, Step
from flo.core.stream_type import Bounded, StreamType, Unbounded
from flo.core.tracebacks import shorten_tracebacks
from flo.values.changes import Delete, delete
from flo.values.event_time import TimeWindow
from flo.values.exact import Int128
from flo.values.keyed import Keyed
from flo.values.lattice import BOTTOM, TOP, Lattice
from flo.values.lattice_orders import And, Flat, Max, Min, NaturalSum, Or
from flo.values.lattice_structures import GCounter, MapUnion, PNCounter, Product, SetUnion, Versioned
from flo.values.lvar import LVar
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.columns.row_types import rows
    from flo.shards.plan.rewrites import rewrites
    from flo.shards.sinks.sinks import Changes
    from flo.shards.sinks.upserts import Upsert


def _progress(name: str, total: int | None) -> object:
    from flo.local.run_progress import RunProgress  # needs rich, which tasks on Spark do not

    return RunProgress(name, total)


def _on_tables(flow: Flow, place: Here, workers: int | None = None) -> object:
    from flo.local.here import OnHere  # loads Arrow, which programs on values do not need

    return OnHere(flow, place, workers)


def _on_spark(flow: Flow, session: Any, workers: int | None = None) -> object:
    from flo.spark.on_spark import OnSpark  # needs pyspark

    if workers is not None:
        raise TypeMismatch(
            "`workers` are processes of this machine; Spark has its own",
            instead=(("flow.on(flo.here, workers=2)", "runs on this machine"), ("shards=…", "of `start`, on Spark")),
        ).at_users_line()
    return OnSpark(flow, session)


def _sql(text: str, streams: Any) -> Any:
    from flo.sql.query import sql_stream

    return sql_stream(text, streams)


def _pictures() -> Any:
    from flo import pictures

    return pictures


register_sql(_sql)
register_pictures(_pictures)
register_engine(lambda place: isinstance(place, Here), _on_tables)
register_engine(lambda place: type(place).__module__.startswith("pyspark."), _on_spark)
here = Here(_progress)
"""This process, as a place to run on tables: `flow.on(flo.here).run(…)`."""

__version__ = "0.1.0"


_ON_DEMAND = {
    "rewrites": "flo.shards.plan.rewrites",
    "rows": "flo.columns.row_types",
    "Changes": "flo.shards.sinks.sinks",
    "Upsert": "flo.shards.sinks.upserts",
}
"""What needs Arrow, which programs on values do not load."""


def __getattr__(name: str) -> Any:
    """Load what needs Arrow on demand."""
    if name in _ON_DEMAND:
        return getattr(import_module(_ON_DEMAND[name]), name)
    raise _unknown(name)


_MEANT = {
    **dict.fromkeys(("mean", "average"), 'flo.avg("x")'),
    **dict.fromkeys(("len", "size", "count_star"), "flo.count()"),
    **dict.fromkeys(("n_unique", "countDistinct", "nunique"), 'flo.count_distinct("x")'),
    **dict.fromkeys(("std", "stddev"), 'flo.stddev_samp("x")'),
    **dict.fromkeys(("var", "variance"), 'flo.var_samp("x")'),
    **dict.fromkeys(("collect_list", "array_agg", "list_agg"), 'flo.collect("x", order_by=…)'),
    "collect_set": 'flo.collect("x", distinct=True)',
    **dict.fromkeys(("listagg", "group_concat"), 'flo.string_agg("x", ",")'),
    **dict.fromkeys(("max_by", "argmax"), 'flo.arg_max("x", by="y")'),
    **dict.fromkeys(("min_by", "argmin"), 'flo.arg_min("x", by="y")'),
    **dict.fromkeys(("every", "all"), 'flo.bool_and("x")'),
    **dict.fromkeys(("some", "any"), 'flo.bool_or("x")'),
    **dict.fromkeys(("percentile", "percentile_cont"), 'flo.quantile("x", 0.9)'),
}
"""Aggregates of other libraries, and the one that does the same here."""


_OF_NARWHALS = ("col", "lit", "when", "coalesce", "concat_str", "struct", "exclude", "selectors", "format")
"""Expressions that other libraries have beside their aggregates."""


def _unknown(name: str) -> AttributeError:
    """Return the error for a name that there is not, with what the user may mean."""
    meant = _MEANT.get(name) or (f"nw.{name}" if name in _OF_NARWHALS else None)
    if meant is None and not name.startswith("_"):  # tools ask for names such as `__wrapped__`
        names = {each.lower(): each for each in __all__}
        for close in get_close_matches(name.lower(), names, n=1, cutoff=0.7):
            return UnknownVerbError(
                f"flo has no `{name}`", instead=((f"flo.{names[close]}", "the closest name"),), where=Origin.here()
            )
    if meant is None:
        return AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    why = "the aggregate for this" if name in _MEANT else "of Narwhals: import narwhals as nw"
    return UnknownVerbError(f"flo has no `{name}`", instead=((meant, why),), where=Origin.here())


__all__ = [
    "verify",
    "BOTTOM",
    "TOP",
    "And",
    "Bag",
    "Bounded",
    "BoundednessError",
    "ByHand",
    "Changes",
    "CheckpointError",
    "Clock",
    "Collection",
    "CollectionError",
    "DeferError",
    "Delete",
    "ElementError",
    "FirstEnabled",
    "Flat",
    "FloError",
    "Flow",
    "FlowLoop",
    "FixpointError",
    "FunctionError",
    "GCounter",
    "Graph",
    "Int128",
    "Keyed",
    "LVar",
    "Lattice",
    "LawError",
    "Loop",
    "MapUnion",
    "Max",
    "Min",
    "NameTakenError",
    "NaturalSum",
    "Nested",
    "NotationError",
    "Operator",
    "Or",
    "OrderError",
    "PNCounter",
    "Partitioned",
    "Product",
    "RandomSchedule",
    "Result",
    "RoundRobin",
    "ScopeError",
    "Sequence",
    "Set",
    "SetUnion",
    "Step",
    "Stream",
    "StreamType",
    "ThresholdError",
    "TimeWindow",
    "TypeMismatch",
    "Unbounded",
    "UnknownNameError",
    "UnknownVerbError",
    "UnreachableError",
    "UnusedInputError",
    "Upsert",
    "Value",
    "Versioned",
    "Windowed",
    "ZSet",
    "arg_max",
    "arg_min",
    "avg",
    "bool_and",
    "bool_or",
    "collect",
    "corr",
    "count",
    "count_distinct",
    "covar_pop",
    "covar_samp",
    "first",
    "grouping_id",
    "asc",
    "desc",
    "delete",
    "greatest",
    "hash",
    "least",
    "md5",
    "regexp_extract",
    "rewrites",
    "sha256",
    "split_part",
    "try_cast",
    "here",
    "last",
    "linear",
    "max",
    "median",
    "min",
    "min_clock",
    "mode",
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "names",
    "nth_value",
    "ntile",
    "parse",
    "quantile",
    "rows",
    "show",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "var_pop",
    "var_samp",
    "percent_rank",
    "rank",
    "row_number",
]

for _name in __all__:
    _kind = globals().get(_name)
    if isinstance(_kind, type) and issubclass(_kind, FloError):
        _kind.__module__ = __name__  # as users know it, and tracebacks show it
shorten_tracebacks()
