"""Errors for verbs, items and operators that a stream does not have, with what the user may mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from flo.core.errors import UnknownVerbError

if TYPE_CHECKING:
    from flo.api.scope import AnyBase

MEANT = {
    **dict.fromkeys(("where", "query"), "filter(…)"),
    **dict.fromkeys(("withColumn", "withColumns", "assign", "mutate", "with_column"), "with_columns(name=…)"),
    **dict.fromkeys(("withColumnRenamed", "renamed", "toDF"), 'rename({"old": "new"})'),
    **dict.fromkeys(("groupBy", "groupby", "aggregate"), "group_by(…).agg(…)"),
    **dict.fromkeys(("orderBy", "order_by", "sort_values", "sort_by"), "top(n, order_by=…), or over(order_by=…)"),
    **dict.fromkeys(("dropDuplicates", "drop_duplicates", "unique", "unique_by"), "distinct(on=…)"),
    **dict.fromkeys(("dropDuplicatesWithinWatermark", "deduplicate"), 'dedupe("id", "at", keep=…), or distinct(on=…)'),
    **dict.fromkeys(("unionAll", "union_all", "concat", "unionByName", "append"), "union(other)"),
    **dict.fromkeys(("subtract", "exceptAll", "except_all", "difference_all"), "except_(other, all=…)"),
    **dict.fromkeys(("intersectAll", "intersect_all"), "intersect(other, all=True)"),
    **dict.fromkeys(("crossJoin", "cross_join"), 'join(other, how="cross")'),
    **{f"{how}_join": f'join(other, …, how="{how}")' for how in ("left", "right", "full", "semi", "anti")},
    **{f"{how}_outer_join": f'join(other, …, how="{how}")' for how in ("left", "right", "full")},
    "inner_join": "join(other, …)",
    **dict.fromkeys(("outer_join", "outerJoin"), 'join(other, …, how="full")'),
    **dict.fromkeys(("leftOuterJoin", "merge_asof", "asof_join"), "join(other, on=…, how=…), or join_asof(…)"),
    **dict.fromkeys(("head", "fetch"), "limit(n)"),
    **dict.fromkeys(("window", "partitionBy", "partition_by"), "over(partition_by=…).with_columns(…)"),
    **dict.fromkeys(("flatMap", "flatmap"), "flat_map(…), or explode(…) of a list column"),
    **dict.fromkeys(("selectExpr", "project"), "select(…)"),
    **dict.fromkeys(("withWatermark", "with_watermark", "watermark"), "clock(time, lateness=…)"),
    **dict.fromkeys(("writeStream", "write", "to_table", "foreachBatch"), "flow.output(name, …)"),
    "count_by": "group_by(…).agg(n=flo.count())",
    **{
        f"{kind}_by": f"group_by(…).agg({kind}=flo.{kind}(…))"
        for kind in ("sum", "avg", "min", "max", "count_distinct")
    },
    "aggregate_by": "group_by(…).agg(name=flo.linear(of, finish))",
    **{kind: f"agg({kind}=flo.{kind}(…))" for kind in ("avg", "min", "max", "count_distinct")},
    **dict.fromkeys(("cast", "astype"), 'with_columns(x=nw.col("x").cast(…))'),
    **dict.fromkeys(("fillna", "fill_null"), 'with_columns(x=nw.col("x").fill_null(…))'),
    **dict.fromkeys(("dropna", "drop_nulls"), 'filter(~nw.col("x").is_null())'),
    **dict.fromkeys(
        ("with_row_index", "with_row_count", "row_number"), "over(order_by=…).with_columns(n=flo.row_number())"
    ),
    **dict.fromkeys(("tail", "nlargest"), "limit(n, order_by=flo.desc(…))"),
    **dict.fromkeys(("collect", "show", "to_pandas", "toPandas", "to_arrow", "to_polars"), "flow.output(name, …)"),
    **dict.fromkeys(("pivot", "unstack"), "group_by(…).agg(a=flo.sum(…, where=…), b=…)"),
    **dict.fromkeys(("unpivot", "melt"), "select(…).union(…)"),
    **dict.fromkeys(("rolling", "group_by_dynamic", "resample"), "tumbling(size, time), sliding(…), or over(…)"),
    **dict.fromkeys(("event_when_at_least", "event_when_reached"), "threshold(…)"),
    **dict.fromkeys(("write_parquet", "write_csv", "to_parquet", "sink_parquet", "to_csv"), "flow.output(name, …)"),
    **dict.fromkeys(("createOrReplaceTempView", "createTempView"), "flow.sql(…)"),
    **dict.fromkeys(("pipe", "transform"), "f(stream), a call of your function"),
    **dict.fromkeys(("persist", "cache", "lazy", "isEmpty", "is_empty"), "flow.output(name, …)"),
}
"""Names from other libraries or of aggregates, and the verb that does the same here."""


def unknown_verb(stream: AnyBase, name: str) -> AttributeError:
    """Return the error for a verb that does not exist, with the one that the user may mean."""
    if name.startswith("_"):
        return AttributeError(f"a stream has no attribute `{name}`", name=name)
    kind = type(stream)
    verbs = [each for each in dir(kind) if "_verbs" in str(getattr(getattr(kind, each), "__module__", ""))]
    verbs = [each for each in verbs if not each.startswith("_")]
    if name in _columns_of(stream):
        return UnknownVerbError(
            f"a stream has no verb `{name}`", instead=((f'nw.col("{name}")', "the column"),)
        ).at_users_line()
    close = get_close_matches(name, verbs, n=1, cutoff=0.75)
    meant = MEANT.get(name) or (f"{close[0]}(…)" if close else None)
    why = "the verb for this" if name in MEANT else "the closest name" if meant else "shows all verbs"
    return UnknownVerbError(
        f"a stream has no verb `{name}`", instead=((meant or "help(flo.Stream)", why),)
    ).at_users_line()


def no_items(stream: AnyBase, item: object) -> UnknownVerbError:
    """Return the error for `stream[item]`, with what the user may mean."""
    if isinstance(item, str):
        instead = [(f'nw.col("{item}")', "the column, in an expression"), (f'select("{item}")', "a stream of it alone")]
    elif isinstance(item, list) and all(isinstance(each, str) for each in item):
        instead = [(f"select({', '.join(map(_quoted, item))})", "a stream of these columns")]
    elif isinstance(item, int):
        instead = [("flow.run(…), or loop.pull(…)", "the elements of an output")]
    else:
        instead = [("filter(…)", "the rows for which a condition holds"), ("limit(n)", "some rows")]
    return UnknownVerbError(
        f"{stream.described_name} is a stream, which has no items", instead=tuple(instead)
    ).at_users_line()


def no_length(stream: AnyBase) -> UnknownVerbError:
    """Return the error for `len(stream)`, with what the user may mean."""
    return UnknownVerbError(
        f"{stream.described_name} is a stream, which has no length",
        instead=(("agg(n=flo.count())", "of a z-set: the number of its rows, which follows changes"),),
    ).at_users_line()


def _quoted(text: str) -> str:
    return f'"{text}"'


def no_operators(stream: AnyBase) -> UnknownVerbError:
    """Return the error for an operator on a stream, with what the user may mean."""
    column = next(iter(_columns_of(stream)), None)
    example = f'nw.col("{column}") > 3' if column else "lambda x: x > 3"
    return UnknownVerbError(
        f"{stream.described_name} is a stream, which has no operators such as `>` and `+`",
        instead=((f"filter({example})", "a condition on each row"),),
    ).at_users_line()


def _columns_of(stream: AnyBase) -> Iterable[str]:
    """Return the names of the columns of a stream's rows; none if they are not rows."""
    kind = getattr(getattr(vars(stream).get("type"), "collection", None), "element", None)
    if not isinstance(kind, type):
        return ()
    from flo.columns.cell import fields_of

    return fields_of(kind) or ()
