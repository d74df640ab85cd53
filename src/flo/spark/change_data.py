"""Change data as inputs: upserts by primary key, Delta's change data feed, and Debezium's envelopes.

A feed that has the old row beside the new one needs no state: the old row gets the weight -1, and the new one +1. Of an
upsert the old row is not known, so Flo keeps the rows by their keys, as `flow.table` does.

A change that cannot be read ends the query with an error that shows it. Nothing of its micro-batch is committed, so
nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from flo.core.errors import ElementError, NameTakenError, TypeMismatch, UnknownNameError
from flo.spark.driver.python_errors import BAD_CHANGE, ROW
from flo.sql.catalyst import quoted
from flo.tables.io.files import WEIGHTS
from flo.values.changes import DELETED

TYPE = "_change_type"
FEED = (TYPE, "_commit_version", "_commit_timestamp")
"""The columns that Delta adds to its change data feed."""
ADDED, REMOVED = ("insert", "update_postimage"), ("delete", "update_preimage")
BEFORE, AFTER, OPERATION, PAYLOAD = "before", "after", "op", "payload"
"""The fields of an envelope of Debezium. With a schema beside it, it is in the field `payload`."""
CORRUPT = "_corrupt"
"""The field that Spark fills with a text that is not the JSON that it expects."""
SHOWN = 500
"""The most characters of a row that an error shows."""


@dataclass(frozen=True)
class Upserts:
    """Rows that replace those with the same key, as an input of `flo.spark.views`.

    - `key`: the column, or the columns, that identify a row. They are never null.
    - `order_by`: the column that orders the changes of a key: the largest value counts, whenever it arrives. Without it
      later micro-batches count, and two different changes of a key in one micro-batch are an error.
    - `deleted`: a condition on the columns of the frame. Where it is true, the row of the key is deleted; where it is
      null, it is not. By default the column `_deleted`, if the frame has one.
    """

    frame: DataFrame
    key: str | Sequence[str]
    order_by: str | None = None
    deleted: Column | str | None = None

    @property
    def schema(self) -> StructType:
        """The columns of a row."""
        return StructType([field for field in self.frame.schema.fields if field.name != DELETED])

    def changes(self) -> DataFrame:
        """The rows, with a column that says which keys are deleted."""
        if self.deleted is None:
            return self.frame
        condition = sf.expr(self.deleted) if isinstance(self.deleted, str) else self.deleted
        return self.frame.withColumn(DELETED, condition)


def changes_of_delta(frame: DataFrame) -> DataFrame:
    """Return the rows of Delta's change data feed with their weights.

    `insert` and `update_postimage` add a row, `delete` and `update_preimage` remove one.
    """
    if TYPE not in frame.columns:
        raise UnknownNameError(
            f"the frame has no column `{TYPE}`, which Delta's change data feed has",
            facts=(("columns", ", ".join(frame.columns)),),
            instead=(('spark.readStream.format("delta").option("readChangeFeed", "true")', "reads the feed"),),
        ).at_users_line()
    _expect_no_weights(frame.columns)
    known = sf.col(TYPE)
    bad = _raise(sf.concat(sf.lit(f"`{TYPE}` is "), sf.coalesce(known, sf.lit("null"))), sf.to_json(sf.struct("*")))
    weight = sf.when(known.isin(*ADDED), sf.lit(1)).when(known.isin(*REMOVED), sf.lit(-1)).otherwise(bad)
    return frame.withColumn(WEIGHTS, weight.cast("long")).drop(*FEED)


def changes_of_debezium(frame: DataFrame, schema: StructType | str, column: str | None = "value") -> DataFrame:
    """Return the rows of Debezium's envelopes with their weights.

    - `schema`: the columns of a row, as a `StructType` or a text such as `"id long, name string"`.
    - `column`: the column with the envelopes, JSON or a struct with `before`, `after` and `op`. None if these are
      columns of the frame.

    The operations `c` and `r` add the row `after`, `d` removes `before`, and `u` does both. A null envelope, which
    follows a deletion in Kafka, is skipped.
    """
    envelopes = _Envelopes.of(frame, schema, column)
    given, rows, text = envelopes.parts, envelopes.rows, envelopes.text
    removed, added = (BEFORE, given.before, -1), (AFTER, given.after, 1)
    absent = "`{}` of the operation {} is null: the database must log whole rows, or use upserts_of_debezium"
    changes = sf.when(given.problem.isNotNull(), _raise(given.problem, text))
    for name, sides in {"c": [added], "r": [added], "u": [removed, added], "d": [removed]}.items():
        is_this = given.operation == name
        for side, row, _ in sides:
            changes = changes.when(is_this & row.isNull(), _raise(sf.lit(absent.format(side, name)), text))
        weighed = (sf.struct(row.alias("row"), sf.lit(weight).cast("long").alias(WEIGHTS)) for _, row, weight in sides)
        changes = changes.when(is_this, sf.array(*weighed))
    exploded = envelopes.frame.select(sf.explode(changes.otherwise(given.unknown(text))).alias("change"))
    return exploded.select(*(f"change.row.{quoted(name)}" for name in rows.names), f"change.{WEIGHTS}")


def upserts_of_debezium(
    frame: DataFrame,
    schema: StructType | str,
    key: str | Sequence[str],
    column: str | None = "value",
    order_by: str | None = None,
) -> Upserts:
    """Return Debezium's envelopes as upserts, for a database that does not log old rows: the row `after` replaces the
    one with its key, and `d` deletes the key in `before`.

    - `schema`, `column`: as in `changes_of_debezium`.
    - `key`: the column, or the columns, of the primary key.
    - `order_by`: the column of the frame that orders the changes of a key, such as Kafka's `offset`. It becomes a
      column of the rows. Without it, two different changes of a key in one micro-batch are an error.
    """
    envelopes = _Envelopes.of(frame, schema, column)
    given, text = envelopes.parts, envelopes.text
    if order_by is not None and order_by not in frame.columns:
        columns = ", ".join(frame.columns)
        raise UnknownNameError(f"the frame has no column `{order_by}`", facts=(("columns", columns),)).at_users_line()
    if order_by in envelopes.rows.names:
        raise NameTakenError(f"`{order_by}` is a column of the frame and of the rows").at_users_line()
    order = [] if order_by is None else [quoted(order_by)]
    change = sf.when(given.problem.isNotNull(), _raise(given.problem, text))
    for names, row, side in ((("c", "r", "u"), given.after, AFTER), (("d",), given.before, BEFORE)):
        asked = given.operation.isin(*names)
        absent = sf.concat(sf.lit(f"`{side}` of the operation "), given.operation, sf.lit(" is null"))
        change = change.when(asked & row.isNull(), _raise(absent, text)).when(asked, row)
    rows = envelopes.frame.select(
        change.otherwise(given.unknown(text)).alias("row"),
        (given.operation == "d").alias(DELETED),
        *order,
    )
    return Upserts(rows.select("row.*", *order, DELETED), key, order_by)


@dataclass(frozen=True)
class _Envelopes:
    """The envelopes of a frame: the columns of their rows, their parts, and the text that errors show."""

    frame: DataFrame
    rows: StructType
    parts: _Envelope
    text: Column

    @classmethod
    def of(cls, frame: DataFrame, schema: StructType | str, column: str | None) -> _Envelopes:
        rows = schema if isinstance(schema, StructType) else _parsed(schema)
        _expect_no_weights(rows.names)
        if column is not None and column not in frame.columns:
            raise UnknownNameError(
                f"the frame has no column `{column}`, which shall have the envelopes",
                facts=(("columns", ", ".join(frame.columns)),),
                instead=(("column=…", "names another one; None if `before`, `after` and `op` are columns"),),
            ).at_users_line()
        if column is None:
            missing = [name for name in (BEFORE, AFTER, OPERATION) if name not in frame.columns]
            if missing:
                raise UnknownNameError(f"the frame has no column `{missing[0]}` of an envelope").at_users_line()
            given, kind = sf.struct(BEFORE, AFTER, OPERATION), frame.select(BEFORE, AFTER, OPERATION).schema
            return cls(frame, rows, _Envelope.of_struct(given, kind, rows), sf.to_json(given))
        data_type = frame.schema[column].dataType
        given = sf.col(quoted(column))
        frame = frame.where(given.isNotNull())
        if isinstance(data_type, StructType):
            return cls(frame, rows, _Envelope.of_struct(given, data_type, rows), sf.to_json(given))
        if isinstance(data_type, (StringType, BinaryType)):
            text = given.cast("string")
            return cls(frame, rows, _Envelope.of_json(text, rows), text)
        raise TypeMismatch(
            f"the column `{column}` is {data_type.simpleString()}; "
            "expected JSON, or a struct with `before`, `after` and `op`"
        ).at_users_line()


@dataclass(frozen=True)
class _Envelope:
    """The parts of an envelope. `problem` is the reason why it cannot be read, or null."""

    before: Column
    after: Column
    operation: Column
    problem: Column

    def unknown(self, text: Column) -> Column:
        """Ends the query: the operation is none of Debezium's."""
        return _raise(sf.concat(sf.lit("its operation is "), sf.coalesce(self.operation, sf.lit("missing"))), text)

    @classmethod
    def of_json(cls, text: Column, rows: StructType) -> _Envelope:
        """The envelope in a text, or in its field `payload`."""
        for field in rows:
            if _has_times(field.dataType) and not isinstance(field.dataType, TimestampType):
                raise TypeMismatch(
                    f"`{field.name}` has times inside of {field.dataType.simpleString()}, which JSON does not tell",
                    instead=(("long", "in the schema; then timestamp_micros(…) in the query"),),
                ).at_users_line()
        wire = StructType([StructField(each.name, _wire_type(each.dataType)) for each in rows])
        envelope = [StructField(BEFORE, wire), StructField(AFTER, wire), StructField(OPERATION, StringType())]
        whole = StructType([*envelope, StructField(PAYLOAD, StructType(envelope)), StructField(CORRUPT, StringType())])
        read = sf.from_json(text, whole, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT})
        payload = read[PAYLOAD]
        before, after, operation = (
            sf.when(payload.isNotNull(), payload[each]).otherwise(read[each]) for each in (BEFORE, AFTER, OPERATION)
        )
        problem = sf.when(read[CORRUPT].isNotNull(), sf.lit("it is not JSON with the columns of the schema"))
        for field in rows:
            if isinstance(field.dataType, TimestampType):
                for row in (before, after):
                    time = row[field.name]
                    wrong = time.isNotNull() & time.try_cast("timestamp").isNull()
                    problem = problem.when(wrong, sf.lit(f"`{field.name}` is not a time with a zone"))
        return cls(_row(before, rows), _row(after, rows), operation, problem)

    @classmethod
    def of_struct(cls, given: Column, kind: StructType, rows: StructType) -> _Envelope:
        """The envelope in a struct."""
        if OPERATION not in kind.names:
            raise UnknownNameError(f"the envelope has no field `{OPERATION}`").at_users_line()
        for side in (BEFORE, AFTER):
            of = kind[side].dataType if side in kind.names else None
            for field in rows:
                known = of[field.name].dataType if isinstance(of, StructType) and field.name in of.names else None
                if known != field.dataType:
                    raise TypeMismatch(
                        f"`{side}.{field.name}` of the envelope is {known.simpleString() if known else 'missing'}",
                        facts=(("expected", field.dataType.simpleString()),),
                    ).at_users_line()
        none = sf.lit(None).cast("string")
        return cls(_row(given[BEFORE], rows), _row(given[AFTER], rows), given[OPERATION], none)


def _row(given: Column, rows: StructType) -> Column:
    """The row of a side of an envelope; null if the side is."""
    columns = [_converted(given[each.name], each.dataType).alias(each.name) for each in rows]
    return sf.when(given.isNotNull(), sf.struct(*columns))


def _converted(given: Column, kind: DataType) -> Column:
    return given.try_cast("timestamp") if isinstance(kind, TimestampType) else given


def _expect_no_weights(columns: list[str]) -> None:
    if WEIGHTS in columns:
        raise NameTakenError(f"the rows have a column `{WEIGHTS}`, which is for the weights of changes").at_users_line()


def _raise(reason: Column, row: Column) -> Column:
    """Ends the query with an error about a change."""
    return sf.raise_error(sf.concat(sf.lit(BAD_CHANGE), reason, sf.lit(ROW), sf.substring(row, 1, SHOWN)))


def _wire_type(kind: DataType) -> DataType:
    """The type that JSON is read as: times as texts, because Spark would read a number as seconds."""
    return StringType() if isinstance(kind, TimestampType) else kind


def _has_times(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_times(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _has_times(kind.elementType)
    if isinstance(kind, MapType):
        return _has_times(kind.keyType) or _has_times(kind.valueType)
    return isinstance(kind, TimestampType)


def _parsed(text: object) -> StructType:
    if not isinstance(text, str):
        raise TypeMismatch(f"`schema` must be a StructType or a text; got {type(text).__name__}").at_users_line()
    try:
        kind = StructType.fromDDL(text)
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise ElementError(f"`schema` cannot be parsed: {first}").at_users_line() from None
    return kind if isinstance(kind, StructType) else StructType([StructField("value", kind)])
