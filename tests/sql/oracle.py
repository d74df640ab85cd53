"""Queries over streams that change, compared with batch Spark after every delta."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

import flo
from flo.sql.catalyst import arrow_type
from flo.sql.nodes import SqlError

SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
"""Quick on a few rows."""
SCHEMAS = {
    "t": pa.schema(
        [
            pa.field("id", pa.int32(), False),
            pa.field("k", pa.int32()),
            pa.field("s", pa.string()),
            pa.field("d", pa.decimal128(10, 2)),
            pa.field("x", pa.float64()),
            pa.field("day", pa.date32()),
            pa.field("ok", pa.bool_()),
        ]
    ),
    "u": pa.schema(
        [
            pa.field("id", pa.int32(), False),
            pa.field("k", pa.int32()),
            pa.field("n", pa.int64()),
            pa.field("s", pa.string(), False),
            pa.field("y", pa.float64()),
            pa.field("at", pa.timestamp("us", "UTC")),
        ]
    ),
    "v": pa.schema([pa.field("k", pa.int32()), pa.field("d", pa.decimal128(12, 4)), pa.field("day", pa.date32())]),
    "w": pa.schema([pa.field("k", pa.int32(), False), pa.field("s", pa.string())]),
}
WORDS = ("a", "b", "b", "b", "A", "", "ab", "a%b", "_", "straße", "Ünder", "日本", "zz top")
MOST = 2**63 - 1
_BY_NAME = {
    "k": (1, 1, 1, 1, 2, 2, 3, 4, -5, 2**31 - 1),
    "s": WORDS,
    "x": (0.5, 1.25, -3.0, 2.0, 2.0, 8.75, 0.0, math.nan, math.inf),
    "y": (1e300, -1e300, 5e-324, 0.1, 0.1, 2.0, math.nan, math.inf, -math.inf),
    "n": (0, 1, 1, 2, 7, 7, 2**53 + 1, MOST),
    "day": tuple(date(2024, 2, day) for day in (27, 28, 28, 29)) + (date(1, 1, 1), date(2024, 12, 31)),
    "at": tuple(
        datetime.fromisoformat(f"{each}+00:00")
        for each in ("2024-02-28T23:59:59.999999", "1969-12-31T12:00:00", "2024-03-01T00:00:00")
    ),
    "ok": (True, True, False),
}
_DECIMALS = ("0.00", "1.10", "1.10", "-2.50", "3.33", "99999999.99")
DELTAS = 4
TABLE = re.compile(rf"\b(FROM|JOIN) ({'|'.join(SCHEMAS)})\b( q\d+)?")
"""A table in a query, with its alias."""


def _value(rng: random.Random, field: pa.Field) -> Any:
    if field.nullable and rng.random() < 0.2:
        return None
    if field.name == "id":
        return rng.randrange(12)
    if field.name == "d":
        return Decimal(rng.choice(_DECIMALS))
    return rng.choice(_BY_NAME[field.name])


def draw_deltas(seed: int) -> list[dict[str, pa.Table]]:
    """Return the changes of every table: rows that come, some of them twice, and rows that go."""
    rng = random.Random(seed)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SCHEMAS}
    deltas = []
    for number in range(DELTAS):
        delta = {}
        for name, schema in SCHEMAS.items():
            gone = [rows[name].pop(rng.randrange(len(rows[name]))) for _ in range(len(rows[name]) // 3)]
            if number == 2 and name == rng.choice(list(SCHEMAS)):
                gone, rows[name] = gone + rows[name], []
            come = [tuple(_value(rng, field) for field in schema) for _ in range(rng.choice((0, 3, 6, 9)))]
            come += [rng.choice(come) for _ in range(2) if come]
            rows[name] += come
            delta[name] = _weighted(schema, [(*row, 1) for row in come] + [(*row, -1) for row in gone])
        deltas.append(delta)
    return deltas


def _weighted(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> pa.Table:
    fields = [*schema, pa.field("_weight", pa.int64(), False)]
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    return pa.table(
        [pa.array(list(column), field.type) for column, field in zip(columns, fields, strict=True)],
        schema=pa.schema(fields),
    )


def _known(value: Any) -> Any:
    """Return a value; NaN as one that is equal to itself."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def exact(value: Any) -> Any:
    """Return a value such that equal results are equal: floats to nine digits, lists as multisets."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else 0.0 if abs(value) < 1e-9 else float(f"{value:.9g}")
    if isinstance(value, list):
        return tuple(sorted((exact(each) for each in value), key=repr))
    if isinstance(value, dict):
        return tuple(exact(each) for each in value.values())
    return value


def bag_of(table: pa.Table) -> Counter[Any]:
    """Return the rows of a table as often as they are there."""
    found: Counter[Any] = Counter()
    columns = [
        column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True) if name != "_weight"
    ]
    weights = table["_weight"].to_pylist() if "_weight" in table.column_names else [1] * table.num_rows
    rows = zip(*columns, strict=True) if columns else iter([()] * table.num_rows)
    for row, weight in zip(rows, weights, strict=True):
        found[tuple(map(exact, row))] += weight
    return found


def tables_of(text: str) -> tuple[str, ...]:
    """Return the tables that a query reads."""
    return tuple(sorted({name for _, name, _ in TABLE.findall(text)}))


def _after(text: str, number: int) -> str:
    """Return a query that reads the tables as they are after a delta."""
    return TABLE.sub(lambda found: f"{found[1]} {found[2]}_{number}{found[3] or f' AS {found[2]}'}", text)


class Batch:
    """Batch Spark with the rows of each table as they are after each delta: `t_0`, `t_1` and so on."""

    def __init__(self, spark: Any, deltas: list[dict[str, pa.Table]]) -> None:
        from pyspark.sql import SparkSession
        from pyspark.sql.pandas.types import from_arrow_schema

        self.session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
        for name, value in SETTINGS.items():
            self.session.conf.set(name, value)
        now = {name: Counter[Any]() for name in SCHEMAS}
        for number, delta in enumerate(deltas):
            for name, changes in delta.items():
                for *row, weight in zip(*(column.to_pylist() for column in changes.columns), strict=True):
                    now[name][tuple(map(_known, row))] += weight
                table = _weighted(SCHEMAS[name], [(*row, 1) for row in now[name].elements()]).drop_columns("_weight")
                frame = self.session.createDataFrame(table, from_arrow_schema(table.schema)).coalesce(1).cache()
                frame.createOrReplaceTempView(f"{name}_{number}")

    def forget(self) -> None:
        """Drop the tables from Spark's cache."""
        self.session.catalog.clearCache()

    def results(self, text: str) -> list[tuple[pa.Schema, Counter[Any]] | str]:
        """Return the rows after each delta with their types, or the name of the error."""
        texts = [_after(text, number) for number in range(DELTAS)]
        versions = [f"(SELECT {number} AS version, * FROM ({each}))" for number, each in enumerate(texts)]
        together = self._result(" UNION ALL ".join(versions))
        if isinstance(together, str):  # one of them fails
            return [self._result(each) for each in texts]
        schema, rows = together
        found = [Counter[Any]() for _ in texts]
        for (number, *row), count in rows.items():
            found[number][tuple(row)] = count
        return [(pa.schema(list(schema)[1:]), each) for each in found]

    def _result(self, text: str) -> tuple[pa.Schema, Counter[Any]] | str:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            frame = self.session.sql(text)
            kinds = [(field.name, arrow_type(field.dataType.json())) for field in frame.schema]
            return pa.schema(kinds), bag_of(frame.toArrow())
        except PySparkException as error:
            return str(error.getCondition())
        except Py4JJavaError as error:  # while rows are sent
            found = re.search(r"\[([A-Z_.]+)\]", str(error))
            return found[1] if found else str(error)


def make_flow(text: str, schemas: Mapping[str, pa.Schema] = SCHEMAS) -> Any:
    """Return a flow with a query over tables."""
    flow = flo.Flow("random")
    streams = {name: flow.input(name, flo.ZSet[flo.rows(schema)]) for name, schema in schemas.items()}
    flow.output("out", flow.sql(text, **streams))
    for name, stream in streams.items():  # the optimiser may find that a table is not needed
        flow.output(f"rows of {name}", stream)
    return flow


def maintained(text: str, deltas: list[dict[str, pa.Table]], tables: tuple[str, ...]) -> list[Any]:
    """Return the rows of a query after each delta with their types, or the name of the error."""
    flow = make_flow(text, {name: SCHEMAS[name] for name in tables})
    loop, now, found = flow.on(flo.here).loop(), Counter[Any](), []
    for delta in deltas:
        try:
            loop.push(**{name: delta[name] for name in tables})
            loop.run()  # an aggregate of no rows is a row
            changes = loop.pull("out")
        except flo.FloError as error:
            return [*found, condition(error)]
        for row, weight in bag_of(changes).items():
            now[row] += weight
            if not now[row]:
                del now[row]
        schema = pa.schema([field for field in changes.schema if field.name != "_weight"])
        found.append((schema, Counter(now)))
    return found


def condition(error: BaseException) -> str:
    """Return the name that Spark gives an error. Raises if it is none of Spark's."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, SqlError):
            return cause.condition
        cause = cause.__cause__ or cause.__context__
    raise error


def difference(text: str, deltas: list[dict[str, pa.Table]], tables: tuple[str, ...], expected: list[Any]) -> str:
    """Return how the maintained rows of a query differ from those of batch Spark; empty if they do not."""
    got = maintained(text, deltas, tables)
    for number, (mine, spark) in enumerate(zip(got, expected, strict=False)):
        if isinstance(spark, str) or isinstance(mine, str):
            return "" if mine == spark else f"delta {number}: {_short(mine)}; Spark has {_short(spark)}"
        if [(field.name, plain(field.type)) for field in mine[0]] != [
            (field.name, plain(field.type)) for field in spark[0]
        ]:
            return f"types: {mine[0]}; Spark has {spark[0]}"
        if mine[1] != spark[1]:
            more, less = list((mine[1] - spark[1]).items()), list((spark[1] - mine[1]).items())
            return f"delta {number}: {len(more)} wrong: {more[:3]}; {len(less)} missing: {less[:3]}"
    return "" if len(got) == len(expected) else "it ended early"


def _short(found: Any) -> str:
    return found if isinstance(found, str) else f"{sum(found[1].values())} rows"


def plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without the nullability of items."""
    if pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, plain(field.type)) for field in kind])
    return kind
