"""Rows of Parquet files in order: by the name of their file, and by where they stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from flo.core.errors import NameTakenError, TypeMismatch, brief
from flo.shards.tasks.input_task import MALFORMED, OFFSET, PARTITION
from flo.sql.catalyst import quoted
from flo.tables.io.diverted import SCHEMA

DIGITS = 19
"""The most digits that the number of a row has."""


def rows_of_files(frame: DataFrame, prefixes: Sequence[str] = ("",)) -> DataFrame:
    """Return the rows of Parquet files with the columns `partition` and `offset`, which give their order.

    - `frame`: what `spark.readStream.schema(…).parquet(folder)` gives, or `spark.read`.
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
    try:
        frame.select("_metadata.file_name", "_metadata.row_index")
    except AnalysisException:
        raise TypeMismatch(
            "the frame does not say in which file a row is, and where: only files of Parquet do",
            facts=(("columns", ", ".join(frame.columns)),),
            instead=(
                ("spark.readStream.schema(…).parquet(folder)", "reads such files"),
                ('order={"name": "column"}', "names a column that orders the rows of other sources"),
            ),
        ).at_users_line() from None
    name, number = sf.col("_metadata.file_name"), sf.col("_metadata.row_index")
    partition = sf.lit(None).cast("int")
    for place, prefix in reversed(list(enumerate(prefixes))):
        partition = sf.when(name.startswith(prefix), place).otherwise(partition)
    reason = sf.lit(f"the name of its file begins with none of {', '.join(map(repr, prefixes))}")
    row = sf.to_json(sf.struct(*(sf.col(quoted(each)) for each in frame.columns)))
    parts = (row, reason, name, number + 1)
    malformed = sf.struct(*(part.alias(each) for part, each in zip(parts, SCHEMA.names, strict=True)))
    return frame.select(
        "*",
        partition.alias(PARTITION),
        sf.concat(name, sf.lit(" "), sf.lpad(number.cast("string"), DIGITS, "0")).alias(OFFSET),
        sf.when(partition.isNull(), malformed).alias(MALFORMED),
    )
