"""Columns of Parquet files that a query does not read, and that must have no nulls: the statistics of the files say so.

    row type           auction  price  url            all of them never null
    the query reads    auction  price                 Spark checks them as it reads them
    statistics         url: 0 nulls in each row group of the files of the micro-batch

A null where the row type has none is an error, whether the column is read or not: on values, on tables and with
`on_error="divert"` it is one, too. To read a column only to find no null in it can cost as much as the query. So the
driver reads the footers of the files of a micro-batch in place of it.

Invariant: a column is either checked by Spark in each row, or no row of a micro-batch has null in it when it starts.
Where a file does not say enough (it is not on this disk, has no statistics, has nulls, or its column has another type),
or there are very many files, Spark reads its columns in a job of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from flo.core.errors import EngineError
from flo.shards.plan.rewrites import rewrites
from flo.spark.arrow_rows import arrow_schema
from flo.spark.driver.python_errors import misfit_error
from flo.spark.session import has_own_thread
from flo.sql.catalyst import quoted
from flo.sql.java import Java, items_of

MOST_FILES = 1_000
"""Of more files, as in a first micro-batch, Spark reads the columns: the driver reads footers one by one."""


@dataclass(frozen=True)
class UnreadColumns:
    """Columns of an input, which are those of streaming Parquet files and which nothing reads."""

    input: str
    schema: pa.Schema
    """Their names and types."""
    relation: int
    """The number that Spark has given the first column of the files."""

    @classmethod
    def of(cls, name: str, frame: DataFrame, columns: list[str], shared: frozenset[int] = frozenset()) -> Self | None:
        """Return these columns of an input; None if Spark may make them of something else than the files, or if it is
        not certain which files of a micro-batch are those of the input. `shared` are relations that several read."""
        if not columns or not rewrites.file_statistics or not frame.isStreaming or not has_own_thread():
            return None
        relation = streaming_files(frame)
        if relation is None:
            return None
        schema = arrow_schema(frame.schema)
        number = _number(relation.output())
        if number in shared or any(pa.types.is_nested(schema.field(each).type) for each in columns):
            return None
        return cls(name, pa.schema([schema.field(each) for each in columns]), number)

    def expect_no_nulls(self, spark: SparkSession, execution: Java) -> None:
        """Raise if a row of a micro-batch has null in one of them. `execution` is that of the micro-batch."""
        for relation in _relations(execution.logical(), self.relation):
            files = _files_of(relation)
            if len(files) > MOST_FILES or not all(map(self._has_no_nulls, files)):
                self._expect_in_rows(DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark))

    def _has_no_nulls(self, file: str | None) -> bool:
        """Whether the statistics of a file say that there are no nulls in these columns."""
        if file is None:
            return False
        try:
            footer = pq.read_metadata(file)
            own, places = footer.schema.to_arrow_schema(), {}
            for place in range(footer.num_columns):
                places[footer.schema.column(place).path] = place
        except (OSError, pa.ArrowException):
            return False  # Spark says what is wrong with it
        if any(each.name not in places or _plain(own.field(each.name).type) != each.type for each in self.schema):
            return False
        parts = [footer.row_group(number) for number in range(footer.num_row_groups)]
        every = [part.column(places[name]).statistics for part in parts if part.num_rows for name in self.schema.names]
        return all(each is not None and each.has_null_count and each.null_count == 0 for each in every)

    def _expect_in_rows(self, rows: DataFrame) -> None:
        """Raise if a row of the files has null in one of the columns."""
        are_null = [sf.col(quoted(name)).isNull() for name in self.schema.names]
        flags = rows.select(*(sf.max(each) for each in are_null)).collect()
        for name, has_null in zip(self.schema.names, flags[0], strict=True):
            if has_null:
                raise misfit_error(self.input, f"`{name}` is null")


def streaming_files(frame: DataFrame) -> Java | None:
    """The streaming Parquet files that a DataFrame has all rows of, as they are."""
    node = frame._jdf.queryExecution().analyzed()
    while node.nodeName() == "Project":
        if any(each.nodeName() != "AttributeReference" for each in items_of(node.projectList())):
            return None
        node = node.child()
    is_parquet = node.nodeName() == "StreamingRelation" and node.dataSource().className().lower() == "parquet"
    return node if is_parquet else None


def count_rows(relation: Java) -> int | None:
    """How many rows the Parquet files of a relation have; None if the driver cannot read all footers."""
    files = _files_of(relation)
    try:
        known = len(files) <= MOST_FILES and None not in files
        return sum(int(pq.read_metadata(file).num_rows) for file in files) if known else None
    except (OSError, pa.ArrowException):
        return None


def shared_relations(frames: Iterable[DataFrame]) -> frozenset[int]:
    """Return the numbers of the relations that several DataFrames read: Spark may read other files for each."""
    plans = [frame._jdf.queryExecution().analyzed() for frame in frames]
    leaves = [leaf.output() for plan in plans for leaf in items_of(plan.collectLeaves())]
    counts = Counter(_number(output) for output in leaves if output.nonEmpty())
    return frozenset(number for number, count in counts.items() if count > 1)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type that a column of a file has to Spark, which knows nothing of how Arrow holds it in memory."""
    t = pa.types
    kind = kind.value_type if t.is_dictionary(kind) else kind
    if t.is_large_string(kind) or t.is_string_view(kind):
        return pa.string()
    return pa.binary() if t.is_large_binary(kind) or t.is_binary_view(kind) else kind


def _number(output: Java) -> int:
    return int(output.head().exprId().id())


def _relations(plan: Java, number: int) -> list[Java]:
    """Return the files of a micro-batch that take the place of a relation of a streaming query: none without rows."""
    relations = list(_find_relations(plan, number))
    if not relations:
        raise EngineError("the plan of a micro-batch does not have the files of the query: is it another Spark?")
    return [leaf.relation() for leaf in relations[0] if leaf.nodeName() == "LogicalRelation"]


def _find_relations(plan: Java, number: int) -> Iterator[list[Java]]:
    """Yield the leaves below each node that gives the columns of the relation."""
    name = plan.nodeName()
    if name in ("Project", "LocalRelation") and plan.output().nonEmpty() and _number(plan.output()) == number:
        yield items_of(plan.collectLeaves())
        return
    for child in items_of(plan.children()):
        yield from _find_relations(child, number)


def _files_of(relation: Java) -> list[str | None]:
    """Return the paths of files on this disk; None in place of one that is elsewhere, or whose path gives columns."""
    if not relation.partitionSchema().isEmpty():
        return [None]
    urls = [urlparse(each) for each in relation.location().inputFiles()]
    return [unquote(each.path) if each.scheme == "file" else None for each in urls]
