"""Rows of files in order, with their partition and offset: by the names of files, and by where rows stand in them.

Spark reads large files in splits, each in one task, from its first row to its last. The offset of a row is a text that
sorts in the order of the rows:

    file         split from byte   row      offset
    a.json       0                 first    a.json 0000000000000000000 0000000000000000000
    a.json       0                 second   a.json 0000000000000000000 0000000000000000001
    a.json       134217728         first    a.json 0000000000134217728 0000000000000000000
    b.parquet                      third    b.parquet 0000000000000000002

Files of Parquet know the number of each row. For the others a task counts the rows of each split (`number_rows`).
Invariant: the order of offsets does not depend on how Spark packs splits into tasks, nor on where it cuts files.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from flo.core.errors import NameTakenError, TypeMismatch, brief
from flo.shards.tasks.input_task import MALFORMED, OFFSET, PARTITION
from flo.spark.tasks.row_numbers import number_rows
from flo.sql.catalyst import quoted
from flo.tables.io.diverted import SCHEMA

DIGITS = 19
"""The most digits that the number of a row or of a byte has."""
FILE, SPLIT, NUMBER = "_metadata.file_name", "_metadata.file_block_start", "_metadata.row_index"
CORRUPT = "spark.sql.columnNameOfCorruptRecord"
"""The setting of Spark for the column in which its parsers put a line that they cannot read."""


def rows_of_files(frame: DataFrame, prefixes: Sequence[str] = ("",)) -> DataFrame:
    """Return the rows of files with the columns `partition` and `offset`, which give their order.

    - `frame`: what `spark.readStream.schema(…).json(folder)` gives, or `spark.read`; for `csv`, `parquet`, `orc`,
      `text` and `avro` too. If it has Spark's column for malformed lines, `_corrupt_record`, these lines do not fit.
    - `prefixes`: a partition for each, numbered from 0: the files whose names begin with it. By default all files are
      one partition. A row of any other file does not fit.

    The files of a partition are in the order of their names, and must arrive in it.
    """
    if isinstance(prefixes, str) or not prefixes or not all(isinstance(each, str) for each in prefixes):
        raise TypeMismatch(f"`prefixes` must be a list of texts; got {brief(prefixes)}").at_users_line()
    both = [(one, other) for one, other in permutations(prefixes, 2) if other.startswith(one)]
    if both:
        raise TypeMismatch(
            f"a file whose name begins with {both[0][1]!r} begins with {both[0][0]!r} too"
        ).at_users_line()
    taken = [name for name in (PARTITION, OFFSET, MALFORMED) if name in frame.columns]
    if taken:
        raise NameTakenError(f"the rows have a column `{taken[0]}`, which says where a row stands").at_users_line()
    if not _has(frame, FILE):
        raise TypeMismatch(
            "the frame does not say in which file a row is: it does not read files, or has lost the column `_metadata`",
            facts=(("columns", ", ".join(frame.columns)),),
            instead=(
                ("spark.readStream.schema(…).json(folder)", "reads files"),
                ('order={"name": "column"}', "names a column that orders the rows of other sources"),
            ),
        ).at_users_line()
    places = (sf.col(FILE).alias("file"), *_places(frame))
    rows = frame.select("*", sf.struct(*places).alias(OFFSET))
    corrupt = str(frame.sparkSession.conf.get(CORRUPT))
    columns = [name for name in frame.columns if name != corrupt]
    partition = _partition(sf.col(f"{OFFSET}.file"), prefixes)
    unreadable = sf.col(quoted(corrupt)) if corrupt in frame.columns else sf.lit(None).cast("string")
    outside = sf.lit(f"the name of its file begins with none of {', '.join(map(repr, prefixes))}")
    reason = sf.when(unreadable.isNotNull(), "Spark cannot parse it").when(partition.isNull(), outside)
    as_text = sf.to_json(sf.struct(*(sf.col(quoted(each)) for each in columns)))
    parts = (sf.coalesce(unreadable, as_text), reason, _file(rows), sf.col(f"{OFFSET}.row") + 1)
    malformed = sf.struct(*(part.alias(name) for part, name in zip(parts, SCHEMA.names, strict=True)))
    return rows.select(
        *(sf.col(quoted(each)) for each in columns),
        partition.alias(PARTITION),
        sf.concat_ws(" ", f"{OFFSET}.file", *(_digits(name) for name in _numbers(rows))).alias(OFFSET),
        sf.when(reason.isNotNull(), malformed).alias(MALFORMED),
    )


def _has(frame: DataFrame, column: str) -> bool:
    try:
        frame.select(column)
    except AnalysisException:
        return False
    return True


def _places(frame: DataFrame) -> list[Column]:
    """Where a row stands in its file: its number, or where its split begins and its number there."""
    if _has(frame, NUMBER):
        return [sf.col(NUMBER).alias("row")]
    count: Any = arrow_udf(number_rows, "long")  # type: ignore[call-overload]  # its stubs know no iterators
    numbers = count.asNondeterministic()(sf.col(FILE), sf.col(SPLIT))  # no filter may come before it
    return [sf.col(SPLIT).alias("split"), numbers.alias("row")]


def _numbers(rows: DataFrame) -> list[str]:
    """The numbers in the offsets."""
    return [name for name in rows.schema[OFFSET].dataType.names if name != "file"]  # type: ignore[attr-defined]


def _digits(name: str) -> Column:
    return sf.lpad(sf.col(f"{OFFSET}.{name}").cast("string"), DIGITS, "0")


def _file(rows: DataFrame) -> Column:
    """The file in which a diverted row has its number; with the first byte of the split, if that is not the first."""
    name = sf.col(f"{OFFSET}.file")
    if "split" not in _numbers(rows):
        return name
    split = sf.col(f"{OFFSET}.split")
    return sf.when(split == 0, name).otherwise(sf.concat(name, sf.lit(", from byte "), split.cast("string")))


def _partition(name: Column, prefixes: Sequence[str]) -> Column:
    """The partition of a file, or null."""
    partition = sf.lit(None).cast("int")
    for place, prefix in reversed(list(enumerate(prefixes))):
        partition = sf.when(name.startswith(prefix), place).otherwise(partition)
    return partition
