"""A generator of random expressions of SQL: values, conditions, aggregates and window functions of some columns."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass

import pyarrow as pa

_KINDS = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.bool_(): "boolean",
    pa.timestamp("us", "UTC"): "timestamp",
}
CONSTANTS = {
    "int": ("0", "1", "2", "3", "-5"),
    "bigint": ("0L", "1L", "2L", "9007199254740993L"),
    "decimal": ("1.10", "0.00", "-2.50", "7.125"),
    "double": ("0.5D", "2.0D", "-3.0D", "double('NaN')", "1e300D"),
    "string": ("'a'", "'b'", "''", "'ab'", "'日本'"),
    "date": ("DATE'2024-02-28'", "DATE'2024-02-29'", "DATE'1999-12-31'"),
    "timestamp": ("TIMESTAMP'2024-03-01 00:00:00'", "TIMESTAMP'1970-01-01 00:00:00'"),
    "boolean": ("true", "false"),
}
SUMMED = ("k", "d", "x", "n")
"""Columns whose sum is the same in every order."""
COMPARED = ("=", "=", "<", "<=", ">", ">=", "<>", "<=>")


@dataclass(frozen=True)
class Col:
    """A column that can be used: how it is written, its kind, and the base column that its values are of."""

    text: str
    kind: str
    base: str = ""


def kind_of(field: pa.Field) -> str:
    return "decimal" if pa.types.is_decimal(field.type) else _KINDS[field.type]


class Expressions(ABC):
    """Draws expressions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    @abstractmethod
    def subquery_predicate(self, columns: tuple[Col, ...], depth: int) -> str:
        """Return a condition with a subquery."""

    def pick(self, columns: tuple[Col, ...], kind: str) -> str:
        """Return a column of a kind, or a constant."""
        of_kind = [each.text for each in columns if each.kind == kind]
        if of_kind and self.chance(0.85):
            return self.rng.choice(of_kind)
        return self.rng.choice(CONSTANTS[kind])

    def value(self, columns: tuple[Col, ...], kind: str, depth: int = 1) -> str:
        """Return an expression of a kind."""
        if depth <= 0 or self.chance(0.5):
            return self.pick(columns, kind)
        if self.chance(0.3):
            return self._conditional(columns, kind, depth)
        one, other = (self.value(columns, kind, depth - 1) for _ in range(2))
        match kind:
            case "int":
                return self.rng.choice(
                    (
                        f"({one} % 7)",
                        f"length({self.value(columns, 'string', depth - 1)})",
                        f"year({self.value(columns, 'date', depth - 1)})",
                        f"month({self.value(columns, 'date', depth - 1)})",
                        f"datediff({self.value(columns, 'date', 0)}, {self.value(columns, 'date', 0)})",
                        f"least({one}, {other})",
                        f"({one} - 1)" if self.chance(0.3) else f"greatest({one}, {other})",
                    )
                )
            case "bigint":
                return self.rng.choice(
                    (
                        f"CAST({self.value(columns, 'int', depth - 1)} AS BIGINT)",
                        f"({one} % 10)",
                        f"greatest({one}, {other})",
                    )
                )
            case "decimal":
                return self.rng.choice(
                    (f"({one} + {other})", f"({one} * {other})", f"round({one}, 1)", f"({one} - {other})")
                )
            case "double":
                return self.rng.choice(
                    (
                        f"({one} + {other})",
                        f"({one} * 2)",
                        f"abs({one})",
                        f"CAST({self.pick(columns, 'int')} AS DOUBLE)",
                        f"({self.pick(columns, 'int')} / {self.pick(columns, 'int')})",  # may fail
                    )
                )
            case "string":
                return self.rng.choice(
                    (
                        f"upper({one})",
                        f"concat({one}, {other})",
                        f"substring({one}, 2, 3)",
                        f"lower({one})",
                        f"coalesce({one}, {other})",
                    )
                )
            case "date":
                return f"date_add({one}, {self.rng.randrange(-3, 40)})"
            case "boolean":
                return f"({self.predicate(columns, 0)})"
        return f"coalesce({one}, {other})"

    def _conditional(self, columns: tuple[Col, ...], kind: str, depth: int) -> str:
        one, other = (self.value(columns, kind, depth - 1) for _ in range(2))
        condition = self.predicate(columns, 0)
        return self.rng.choice(
            (
                f"CASE WHEN {condition} THEN {one} ELSE {other} END",
                f"CASE WHEN {condition} THEN {one} END",
                f"coalesce({one}, {other})",
                f"nullif({one}, {other})",
                f"if({condition}, {one}, {other})",
            )
        )

    def kind(self, columns: tuple[Col, ...]) -> str:
        return self.rng.choice([each.kind for each in columns])

    def predicate(self, columns: tuple[Col, ...], depth: int) -> str:
        if depth > 0 and self.chance(0.45):
            return self.subquery_predicate(columns, depth)
        if self.chance(0.2):
            one, other = self.predicate(columns, depth - 1), self.predicate(columns, depth - 1)
            return f"({one} {self.rng.choice(('AND', 'OR'))} {other})"
        kind = self.kind(columns)
        one = self.value(columns, kind, 1)
        choice = self.rng.random()
        if choice < 0.12:
            return f"{one} IS {self.rng.choice(('', 'NOT '))}NULL"
        if choice < 0.22:
            items = ", ".join(self.rng.choice(CONSTANTS[kind]) for _ in range(self.rng.choice((1, 3, 12))))
            return f"{one} {self.rng.choice(('', 'NOT '))}IN ({items}{self.rng.choice(('', '', ', NULL'))})"
        if choice < 0.3 and kind == "string":
            return f"{one} LIKE '{self.rng.choice(('a%', '%b', '_', '%', 'a_%', 'A'))}'"
        if choice < 0.36:
            return f"NOT ({one} {self.rng.choice(COMPARED)} {self.value(columns, kind, 0)})"
        if choice < 0.44:
            return f"{one} BETWEEN {self.value(columns, kind, 0)} AND {self.value(columns, kind, 0)}"
        return f"{one} {self.rng.choice(COMPARED)} {self.value(columns, kind, 1)}"

    def aggregate(self, columns: tuple[Col, ...]) -> tuple[str, str]:
        each = self.rng.choice(columns)
        summed = [
            column
            for column in columns
            if column.base in SUMMED and column.kind in ("int", "bigint", "decimal", "double")
        ]
        simple = [
            ("count(*)", "bigint"),
            (f"count({each.text})", "bigint"),
            (f"count(DISTINCT {each.text})", "bigint"),
            (f"min({each.text})", each.kind),
            (f"max({each.text})", each.kind),
            (f"count_if({self.predicate(columns, 0)})", "bigint"),
            (f"bool_or({self.predicate(columns, 0)})", "boolean"),
            (f"every({self.predicate(columns, 0)})", "boolean"),
        ]
        if summed:
            of = self.rng.choice(summed)
            total = {"int": "bigint"}.get(of.kind, of.kind)
            mean = "decimal" if of.kind == "decimal" else "double"
            simple += [
                (f"sum({of.text})", total),
                (f"sum({of.text})", total),
                (f"avg({of.text})", mean),
                (f"sum(DISTINCT {of.text})", total),
            ]
            if of.base in ("k", "d"):
                function = self.rng.choice(("stddev_samp", "var_pop", "stddev_pop", "variance"))
                simple += [
                    (f"{function}({of.text})", "double"),
                    (f"percentile({of.text}, 0.25)", "double"),
                    (f"median({of.text})", "double"),
                ]
        text, kind = self.rng.choice(simple)
        if self.chance(0.15):
            text += f" FILTER (WHERE {self.predicate(columns, 0)})"
        return text, kind

    def window(self, columns: tuple[Col, ...]) -> tuple[str, str]:
        """Return a window function over an order of all columns, and its kind."""
        order = list(columns)
        self.rng.shuffle(order)
        keys = ", ".join(
            f"{each.text}{self.rng.choice(('', ' DESC'))}{self.rng.choice(('', '', ' NULLS LAST', ' NULLS FIRST'))}"
            for each in order
        )
        some = self.rng.choice(order)
        by = f"PARTITION BY {self.rng.choice(columns).text} " if self.chance(0.7) else ""
        total = f"({by}ORDER BY {keys})"
        part = f"({by}ORDER BY {some.text}{self.rng.choice(('', ' DESC'))})"
        each = self.rng.choice(columns)
        summed = [
            column
            for column in columns
            if column.base in SUMMED and column.kind in ("int", "bigint", "decimal", "double")
        ]
        match self.rng.randrange(8):
            case 0:
                return f"row_number() OVER {total}", "int"
            case 1:
                return f"{self.rng.choice(('rank', 'dense_rank'))}() OVER {part}", "int"
            case 2:
                return f"{self.rng.choice(('percent_rank', 'cume_dist'))}() OVER {part}", "double"
            case 3:
                return (
                    f"{self.rng.choice(('lag', 'lead'))}({each.text}, {self.rng.randrange(3)}) OVER {total}",
                    each.kind,
                )
            case 4:
                return f"ntile({self.rng.randrange(1, 4)}) OVER {total}", "int"
            case 5:
                frame = self.rng.choice(
                    (
                        "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                        "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
                        "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                    )
                )
                over = f"({by}ORDER BY {keys} {frame})"
                function = self.rng.choice(("min", "max", "count", "first_value", "last_value"))
                kind = "bigint" if function == "count" else each.kind
                return f"{function}({each.text}) OVER {over}", kind
            case 6 if (some.base == "id" or some.kind in ("decimal", "date")) and summed:  # k + 1 may overflow
                of = self.rng.choice(summed)
                frame = self.rng.choice(
                    (
                        "1 PRECEDING AND 2 FOLLOWING",
                        "UNBOUNDED PRECEDING AND 1 FOLLOWING",
                        "CURRENT ROW AND 3 FOLLOWING",
                    )
                )
                over = f"({by}ORDER BY {some.text}{self.rng.choice(('', ' DESC'))} RANGE BETWEEN {frame})"
                return f"{self.rng.choice(('sum', 'avg'))}({of.text}) OVER {over}", {"int": "bigint"}.get(
                    of.kind, of.kind
                )
        if summed:
            of = self.rng.choice(summed)
            return f"sum({of.text}) OVER {self.rng.choice((part, f'({by.strip()})'))}", {"int": "bigint"}.get(
                of.kind, of.kind
            )
        return f"count(*) OVER {part}", "bigint"
