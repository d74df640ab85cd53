"""Binding DataFrames to inputs: checks the types, selects columns, and pushes the first operators down to Catalyst.

Maps and filters that are column expressions and come first run in Catalyst, if `pushdown` lists all their functions.
Spark then reads only the columns and rows that they need, and those that must be checked for nulls where
`file_statistics` does not say that there are none.

The rows of all scans are in the same columns, so that one task can read several. A shared column holds a column of
every scan that has enough of its type, and null for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, IntegralType, StringType

from flo.columns.changes import given_schema
from flo.core.collection import Collection
from flo.core.errors import ElementError, OrderError, TypeMismatch, brief
from flo.core.operator import Operator
from flo.program.dag import Dag
from flo.shards.plan.stages import Entry, Plan
from flo.shards.tasks.input_task import MALFORMED, OFFSET, PARTITION, is_partitioned, row_collection
from flo.shards.tasks.short_decimals import is_short
from flo.spark.arrow_rows import arrow_schema, arrow_type
from flo.spark.driver.catalyst_outputs import SCAN, RowsOfOutput, rows_of_outputs
from flo.spark.driver.file_statistics import UnreadColumns, streaming_files
from flo.spark.driver.narrow_inputs import narrow_input
from flo.spark.driver.pushdown import CatalystStep, are_distinct_names, expression_of, is_pushed_down, passes_rows
from flo.spark.driver.python_errors import MISFIT
from flo.spark.driver.source_scans import SourceScan
from flo.sql.catalyst import quoted
from flo.sql.java import items_of
from flo.sql.native import Catalyst
from flo.tables.io.files import WEIGHTS, Piece
from flo.tables.io.fitting import Unfit, fit_rows
from flo.tables.operators.elementwise import FilterTables, MapTables
from flo.tables.values import Columns, is_ordered, layout_of
from flo.values.changes import shape_of
from flo.values.weighted import Bag, ZSet

ZONES = (
    ("timestamp_ntz", "Spark's type for times without a zone, such as `datetime`"),
    ('Annotated[datetime, pa.timestamp("us", "UTC")]', "for `timestamp`, whose times have a zone"),
)


@dataclass(frozen=True)
class BoundInput:
    """An input with its DataFrame: the frame to read, and the operators that are left to run on its rows."""

    frame: DataFrame
    entry: Entry
    position: str | None = None
    """The column that gives the position of a row."""
    partition: str | None = None
    """The column that gives the partition of a row, if the input is partitioned."""
    counted: bool = False
    """Whether Spark counts the rows, as `counter_name(…)`: tasks do not see those that Catalyst filters out."""
    whole_files: bool = False
    """Whether the rows are those of Parquet files, and as many."""
    checks: Entry | None = None
    """Another entry that rows must pass, too, or be diverted."""
    written: tuple[RowsOfOutput, ...] = ()
    """The outputs that Catalyst can write, if they are all that the rows are for."""
    unread: UnreadColumns | None = None
    """Columns that Spark does not read, and that must have no nulls."""


@dataclass(frozen=True)
class NativePrefix:
    """The first operators of an input, which Catalyst can run, and the entry that is left."""

    operators: tuple[Operator, ...]
    entry: Entry
    written: tuple[RowsOfOutput, ...] = ()
    """The outputs that are all that is left, if Catalyst can write them."""
    read: tuple[str, ...] = ()
    """The columns that are read, if the last of these operators leaves out the others."""

    @classmethod
    def of(cls, entry: Entry, plan: Plan) -> NativePrefix:
        operators: tuple[Operator, ...] = ()
        while isinstance(entry.type.collection, Columns) and (first := _first_expression(entry.dag)) is not None:
            operator, rest = first
            operators = operators if passes_rows(operator) else (*operators, operator)
            entry = replace(entry, dag=rest)
        written = rows_of_outputs(plan, entry)
        narrow = None if written else narrow_input(entry.dag)
        if narrow is not None:
            operator, rest = narrow
            return cls((*operators, operator), replace(entry, dag=rest), read=layout_of(operator.outputs[0]).names)
        return cls(operators, entry, written)

    def every_operator(self) -> Iterator[Operator]:
        """Yields these operators, and those before the outputs that Catalyst can write."""
        yield from self.operators
        for each in self.written:
            yield from each.operators


InputOrder: TypeAlias = str | tuple[str, str]
"""The column with the position of a row; of a partitioned input the columns with its partition and its position."""


def bind_input(
    name: str,
    frame: DataFrame,
    entry: Entry,
    native: NativePrefix | None,
    position: InputOrder | None,
    shared: frozenset[int] = frozenset(),
) -> BoundInput:
    """Binds a DataFrame to an input. Raises if its rows can never fit. `shared` are relations that others read, too."""
    of = row_collection(entry.type.collection)
    if of is None:
        raise TypeMismatch(
            f"the input `{name}` is {entry.type.collection}, which has no rows that a DataFrame could give",
            instead=(("flo.Bag[…], then key_by(…)", "an input of rows, keyed by the program"),),
        )
    partitioned = is_partitioned(entry.type.collection)
    apart, position = _partition_column(name, frame, position) if partitioned else (None, position)
    position = _expect_one(name, position)
    named, position = position, _position_column(name, of, frame, position)
    try:
        fit_rows(Piece(arrow_schema(frame.schema).empty_table()), of)
    except Unfit as error:
        instead = ZONES if "timestamp[" in str(error) else ()  # the type, not a column of that name
        rejected = ElementError(f"{{input}} does not fit: {error}", facts=(("{input}", str(of)),), instead=instead)
        rejected.input_name = f"`{name}`"
        raise rejected from None
    partition = apart or (PARTITION if position != named else None)
    if position is not None and "." in position:  # PySpark would read it as a field of a column
        plain = position.replace(".", " ")
        frame, position = frame.withColumnRenamed(position, plain), plain
    beside = [each for each in (position, WEIGHTS, partition, MALFORMED) if each is not None and each in frame.columns]
    names = [each for each in given_schema(of.element).names if each in frame.columns]
    frame = frame.select(*(sf.col(quoted(each)) for each in dict.fromkeys([*(names or frame.columns), *beside])))
    written = native.written if native is not None and not beside else ()
    runs_some = native is not None and (native.operators or written)
    if partitioned or native is None or not runs_some or MALFORMED in beside or not _has_row_types(frame, of):
        return BoundInput(frame, entry, position, apart)
    never_null = [
        field.name for field in layout_of(of).schema if not field.nullable and frame.schema[field.name].nullable
    ]
    read = _columns_read(native.operators)
    not_read = [each for each in never_null if read is not None and each not in read]
    unread = UnreadColumns.of(name, frame, not_read, shared)
    if unread is not None:
        never_null = [each for each in never_null if each not in unread.schema.names]
    whole_files = frame.isStreaming and streaming_files(frame) is not None
    frame = _with_checks(name, frame, of, never_null)
    if position is not None:  # a map may replace the column
        beside[0] = f"{position} as it came"
        frame, position = frame.withColumn(beside[0], sf.col(quoted(position))), beside[0]
    counted = any(isinstance(operator, FilterTables) for operator in native.every_operator())
    if counted:
        frame = frame.observe(counter_name(name), sf.count(sf.lit(1)))
    for operator in native.operators:
        frame = CatalystStep.of(operator, beside).over(frame)
    return BoundInput(
        frame, native.entry, position, counted=counted, whole_files=whole_files, written=written, unread=unread
    )


def _columns_read(operators: Iterable[Operator]) -> frozenset[str] | None:
    """The columns of an input that its first operators read; None if they pass all on."""
    read: frozenset[str] = frozenset()
    for operator in operators:
        read = read.union(*expression_of(operator).reads)
        if isinstance(operator, MapTables):
            return read
    return None


def counter_name(name: str) -> str:
    """The name of Spark's metric for the number of rows read from an input."""
    return f"rows of {name}"


def describe_source(name: str, frame: DataFrame, entry: Entry, position: InputOrder | None) -> str:
    """How an input is read. A query that resumes from a checkpoint must read it in the same way."""
    how = "streaming" if frame.isStreaming else "read whole"
    partition = None
    if is_partitioned(entry.type.collection):
        partition, position = _partition_column(name, frame, position)
    position = _position_column(name, row_collection(entry.type.collection), frame, _expect_one(name, position))
    if position is None:
        return f"{name}: {how}"
    each = f" within each `{partition}`" if partition else ""
    return f"{name}: {how}, in the order of `{position}` {frame.schema[position].dataType.simpleString()}{each}"


def _expect_one(name: str, position: InputOrder | None) -> str | None:
    """The column that orders an input that is not partitioned."""
    if position is not None and not isinstance(position, str):
        raise OrderError(
            f"`order` of the input `{name}` names {len(position)} columns; only a Partitioned input has a partition",
            instead=(("flo.Partitioned[…]", "a log that has an order within each partition"),),
        )
    return position


def _partition_column(name: str, frame: DataFrame, order: InputOrder | None) -> tuple[str, str]:
    """The columns with the partition and the position of a row: those named, or Kafka's."""
    if order is None and {PARTITION, OFFSET} <= set(frame.columns):
        order = (PARTITION, OFFSET)
    if not isinstance(order, tuple) or len(order) != 2:
        raise OrderError(
            f"the input `{name}` is Partitioned, but it is not known which columns have the partition and the position "
            "of a row",
            facts=(("order", brief(order)), ("columns", ", ".join(frame.columns))),
            instead=((f'order={{"{name}": ("partition", "offset")}}', "the names of both"),),
        )
    partition, position = order
    if partition not in frame.columns:
        raise ElementError(f"the input `{name}` has no column `{partition}`, which `order` names")
    if not isinstance(frame.schema[partition].dataType, IntegralType):
        kind = frame.schema[partition].dataType.simpleString()
        raise ElementError(f"the column `{partition}` of the input `{name}` is {kind}; partitions must be integers")
    return partition, position


def _position_column(name: str, of: Collection, frame: DataFrame, position: str | None) -> str | None:
    """The column that gives the position of a row: the one named, or for a sequence the offset of its source."""
    if position is None and shape_of(getattr(of, "element", None)) is not None:
        return None  # a table: changes of different keys need no order
    if is_ordered(of) and position is None and {PARTITION, OFFSET} <= set(frame.columns):
        return OFFSET
    if is_ordered(of) and position is None:
        raise OrderError(
            f"the input `{name}` is a Sequence, but the rows of a DataFrame have no order",
            instead=(
                (f'order={{"{name}": "offset"}}', "the column that gives the position of a row"),
                ("flo.Bag[…]", "a collection without order"),
            ),
        )
    if position is not None and position not in frame.columns:
        raise ElementError(f"the input `{name}` has no column `{position}`, which `order` names")
    if position is not None and not _is_orderable(arrow_type(frame.schema[position].dataType)):
        raise ElementError(
            f"the column `{position}` of the input `{name}` is {frame.schema[position].dataType.simpleString()}, "
            "which cannot order its rows; expected numbers, dates, times or strings"
        )
    return position


def _is_orderable(kind: pa.DataType) -> bool:
    t = pa.types
    return any(test(kind) for test in (t.is_integer, t.is_floating, t.is_decimal, t.is_temporal, t.is_string))


def _first_expression(dag: Dag) -> tuple[Any, Dag] | None:
    """The only operator that reads the input and the rest, if Catalyst may run that operator."""
    readers = [vertex for vertex in dag.vertices if dag.inputs[0] in vertex.inputs]
    if len(readers) != 1 or dag.inputs[0] in dag.outputs:
        return None
    operator = readers[0].operator
    if is_pushed_down(operator) or passes_rows(operator):
        rest = [vertex for vertex in dag.vertices if vertex is not readers[0]]
        return operator, Dag(list(readers[0].outputs), rest, dag.outputs)
    return None


def _has_row_types(frame: DataFrame, of: Collection) -> bool:
    """Whether the columns have exactly the types of the rows. Then only nulls and weights may not fit."""
    layout, schema = layout_of(of), arrow_schema(frame.schema)
    wanted = list(layout.schema)
    if has_weights(frame, of):
        wanted.append(pa.field(WEIGHTS, pa.int64()))
    same = all(field.name in schema.names and schema.field(field.name).type == field.type for field in wanted)
    by_bytes = all(each.dataType == StringType() for each in frame.schema if isinstance(each.dataType, StringType))
    return same and by_bytes and are_distinct_names(frame.columns) and all(cell.among is None for cell in layout.cells)


def has_weights(frame: DataFrame, of: Collection) -> bool:
    """Whether the frame has a weight column. Without one every row is an insertion."""
    return isinstance(of, (Bag, ZSet)) and WEIGHTS in frame.columns and WEIGHTS not in layout_of(of).names


def _with_checks(name: str, frame: DataFrame, of: Collection, never_null: list[str]) -> DataFrame:
    """The same frame, which raises where a row has null in one of these columns, or a weight that is not one. Python
    never sees the rows that Catalyst filters out."""
    checks = [(sf.col(quoted(column)).isNull(), f"`{column}` is null") for column in never_null]
    if has_weights(frame, of):
        checks.append((sf.col(WEIGHTS).isNull(), f"`{WEIGHTS}` is null"))
    if has_weights(frame, of) and isinstance(of, Bag):
        checks.append((sf.col(WEIGHTS) < 1, f"`{WEIGHTS}` is less than 1, the lowest weight in a Bag"))
    if not checks:
        return frame
    fits: Any = sf
    for misfit, reason in checks:
        fits = fits.when(misfit, sf.raise_error(sf.lit(MISFIT.format(name, reason))))
    # Catalyst takes the condition for nondeterministic, so it moves no other filter before it
    return frame.where(fits.otherwise(sf.spark_partition_id() >= 0))


def send_integers(scan: SourceScan) -> SourceScan:
    """The scan with the digits of short decimals, as integers, in their place."""
    short = [is_short(field.type) for field in arrow_schema(scan.frame.schema)]
    if not any(short):
        return scan
    spark = scan.frame.sparkSession
    catalyst, plan = Catalyst(spark), scan.frame._jdf.queryExecution().analyzed()
    columns = [
        catalyst.named(catalyst.expressions.UnscaledValue(each), each.name()) if is_decimal else each
        for each, is_decimal in zip(items_of(plan.output()), short, strict=True)
    ]
    rows = catalyst.logical.Project(catalyst.list(columns), plan)
    return replace(scan, frame=DataFrame(catalyst.frame(spark, rows), spark))


def share_columns(types: Iterable[Iterable[Hashable]]) -> list[list[int]]:
    """For each scan, given by the types of its columns, the indices of these among the shared columns."""
    indices: dict[tuple[Hashable, int], int] = {}
    shared: list[list[int]] = []
    for own in types:
        counts = Counter[Hashable]()
        shared.append([])
        for kind in own:
            counts[kind] += 1
            shared[-1].append(indices.setdefault((kind, counts[kind]), len(indices)))
    return shared


def in_shared_columns(scans: list[SourceScan], indices: list[list[int]]) -> dict[str, DataFrame]:
    """For each input, the rows of its scan in the shared columns, after the number of the scan. They come with the
    first input that reads them: the others have no more rows."""
    types = {
        index: field.dataType
        for scan, own in zip(scans, indices, strict=True)
        for field, index in zip(scan.frame.schema, own, strict=True)
    }
    frames: dict[str, DataFrame] = {}
    for number, (scan, own) in enumerate(zip(scans, indices, strict=True)):
        first, *others = scan.inputs
        given = dict(zip(own, scan.frame.columns, strict=True))
        frames[first] = _aligned(scan.frame, number, types, given)
        if scan.empty is not None:
            frames |= dict.fromkeys(others, _aligned(scan.empty, number, types, {}))
    return frames


def _aligned(frame: DataFrame, number: int, types: Mapping[int, DataType], names: Mapping[int, str]) -> DataFrame:
    """The rows of a scan in the shared columns: those for which it has a name, and nulls."""
    columns = [
        (sf.col(quoted(names[index])) if index in names else sf.lit(None).cast(kind)).alias(str(index))
        for index, kind in sorted(types.items())
    ]
    return frame.select(sf.lit(number).alias(SCAN), *columns)
