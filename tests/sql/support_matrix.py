"""docs/sql-support.md: which queries of TPC-H and TPC-DS are maintained, and of what they are made.

python -m tests.sql.support_matrix    # writes the page anew
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema

import flo
from flo.sql import plan
from flo.sql.catalyst import UnsupportedQueryError, stand_in
from flo.sql.compiler import Compiler
from flo.sql.plan_reader import read_frame
from flo.sql.query import planned, planning_session
from tests.sql.tpc import Suite, spark_text, tpcds, tpch

PAGE = Path(__file__).parents[2] / "docs" / "sql-support.md"
SCALE = 0.01

INTRODUCTION = """\
# TPC-H and TPC-DS as maintained views

`python -m tests.sql.support_matrix` writes this page. It plans every query with Spark and compiles it for Flo. "yes"
says that Flo maintains the query: rows may be inserted, deleted and updated, and nothing is computed anew. A query that
cannot be maintained is rejected when it is compiled, with the reason.

The tests compare the rows of all 22 queries of TPC-H with those of batch Spark after every micro-batch, in one process
and on Spark with 1 and 3 shards, and those of TPC-DS in one process (`make thorough`).

The texts are those of DuckDB. Two things are changed. Where the last `LIMIT` may choose among rows that are equal in
its order, all columns are added to the order, so that there is one right answer. Columns of equal names get different
ones. DuckDB's dialect is translated with sqlglot where Spark does not read it.
"""
PARTS = {
    plan.Join: "join",
    plan.Aggregate: "aggregate",
    plan.WindowFunctions: "window",
    plan.Union: "union",
    plan.Expand: "expand",
    plan.Generate: "generate",
    plan.Limit: "limit",
}


@dataclass(frozen=True)
class Support:
    """What is known of a query: the tables it reads, the operators it is made of, and why it is rejected, if it is."""

    number: int
    tables: tuple[str, ...]
    parts: Counter[str]
    rejected: str | None

    def row(self) -> str:
        made = ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for name, count in sorted(self.parts.items()))
        verdict = "yes" if self.rejected is None else f"no: {self.rejected}"
        return f"| {self.number} | {verdict} | {', '.join(self.tables)} | {made} |"


def assess(spark: Any, suite: Suite, numbers: Iterable[int] | None = None) -> Iterator[Support]:
    """Yield what is known of each query of a suite."""
    with planning_session(spark) as planner:
        inputs = {
            stand_in(planner, name, from_arrow_schema(table.schema)): name for name, table in suite.tables.items()
        }
        for number in numbers or suite.queries:
            yield _support(planner, suite, inputs, number)


def _support(planner: Any, suite: Suite, inputs: dict[int, str], number: int) -> Support:
    text = spark_text(planner, suite.queries[number])
    tables = tuple(suite.tables_in(text))
    try:
        relation = read_frame(planned(planner, text), inputs)
        flow = flo.Flow("query")
        read = plan.scans(relation)
        streams = {name: flow.input(name, flo.ZSet[flo.rows(suite.tables[name].schema)]) for name in sorted(read)}
        names = tuple(each.column for each in relation.columns)
        flow.output("rows", Compiler(streams, planner, flow._scope).query(relation, names))
    except UnsupportedQueryError as error:
        return Support(number, tables, Counter(), f"{error.node}: {error.summary}")
    return Support(number, tables, Counter(_parts(relation)), None)


def _parts(relation: plan.Relation) -> Iterator[str]:
    if type(relation) in PARTS and not (isinstance(relation, plan.Limit) and relation.count is None):
        yield PARTS[type(relation)]
    for below in plan.relations_in(relation):
        yield from _parts(below)


def section(suite: Suite, found: list[Support]) -> str:
    """Return the part of the page about a suite."""
    maintained = sum(each.rejected is None for each in found)
    head = ["| query | maintained | reads | made of |", "|---|---|---|---|"]
    title = f"## {suite.name}: {maintained} of {len(found)} are maintained\n"
    return "\n".join([title, *head, *(each.row() for each in found)])


def page(spark: Any) -> str:
    suites = tpch(SCALE), tpcds(SCALE)
    return "\n".join([INTRODUCTION, *(f"{section(suite, list(assess(spark, suite)))}\n" for suite in suites)])


def main() -> None:
    from flo.spark.session import embedded

    spark = embedded("support matrix", cores=2)
    try:
        PAGE.write_text(page(spark), encoding="utf-8")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
