"""A generator of random SQL over the tables of `oracle`. Results do not depend on the order of rows.

Where an order decides (LIMIT, window functions), rows are ordered by all columns, so that rows that are equal in the
order are equal. Sums are of numbers that add up to the same in every order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.sql.oracle import SCHEMAS, tables_of
from tests.sql.random_expressions import CONSTANTS, Col, Expressions, kind_of


@dataclass(frozen=True)
class Rel:
    """A relation with an alias, and its columns by name."""

    text: str
    columns: tuple[Col, ...]


class Generator(Expressions):
    """Draws a query from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(random.Random(seed))
        self.aliases = 0

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    # Relations

    def table(self, name: str | None = None) -> tuple[str, tuple[Col, ...]]:
        name = name or self.rng.choice(("t", "t", "u", "u", "v", "w"))
        return name, tuple(Col(field.name, kind_of(field), field.name) for field in SCHEMAS[name])

    def source(self, depth: int) -> Rel:
        alias = self.alias()
        if depth > 0 and self.chance(0.25):
            text, columns = self.query(depth - 1, few=True)
            return Rel(f"({text}) {alias}", self._of(alias, columns))
        if self.chance(0.04):
            return Rel(
                f"(VALUES (1, 'a', 1.10), (2, 'b', NULL), (NULL, 'a', 3.33)) AS {alias}(k, s, d)",
                (Col(f"{alias}.k", "int", "k"), Col(f"{alias}.s", "string", "s"), Col(f"{alias}.d", "decimal", "d")),
            )
        if self.chance(0.03):
            return Rel(f"range(3) AS {alias}(k)", (Col(f"{alias}.k", "bigint", "k"),))
        name, columns = self.table()
        return Rel(f"{name} {alias}", self._of(alias, columns))

    @staticmethod
    def _of(alias: str, columns: tuple[Col, ...]) -> tuple[Col, ...]:
        return tuple(Col(f"{alias}.{each.text}", each.kind, each.base) for each in columns)

    def sources(self, depth: int) -> tuple[str, tuple[Col, ...]]:
        """Return a FROM clause with joins, and the columns that it has."""
        first = self.source(depth)
        text, columns = first.text, first.columns
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 1, 2, 3))):
            other = self.source(depth)
            how = self.rng.choice(
                (
                    "JOIN",
                    "JOIN",
                    "LEFT JOIN",
                    "RIGHT JOIN",
                    "FULL JOIN",
                    "LEFT SEMI JOIN",
                    "LEFT ANTI JOIN",
                    "CROSS JOIN",
                )
            )
            if how == "CROSS JOIN":
                text += f" CROSS JOIN {other.text}"
            else:
                text += f" {how} {other.text} ON {self.join_condition(columns, other.columns, depth)}"
            if how not in ("LEFT SEMI JOIN", "LEFT ANTI JOIN"):
                columns = columns + other.columns
        return text, columns

    def join_condition(self, left: tuple[Col, ...], right: tuple[Col, ...], depth: int) -> str:
        pairs = [(a, b) for a in left for b in right if a.kind == b.kind]
        if not pairs:
            return self.predicate(left + right, 0)
        parts = []
        for _ in range(self.rng.choice((1, 1, 2))):
            a, b = self.rng.choice(pairs)
            sign = self.rng.choice(("=", "=", "=", "=", "<=>", "<", "<>"))
            parts.append(f"{a.text} {sign} {b.text}")
        if self.chance(0.25):
            parts.append(self.predicate(left + right, 0))
        return " AND ".join(parts)

    # Subqueries

    def subquery_predicate(self, columns: tuple[Col, ...], depth: int) -> str:
        inner = self.source(0)
        pairs = [(a, b) for a in columns for b in inner.columns if a.kind == b.kind]
        if not pairs:
            return self.predicate(columns, 0)
        mine, theirs = self.rng.choice(pairs)
        where = []
        if self.chance(0.6):
            where.append(self.predicate(inner.columns, 0))
        correlated = self.chance(0.5)
        if correlated:
            a, b = self.rng.choice(pairs)
            where.append(f"{a.text} = {b.text}")
        tail = f" WHERE {' AND '.join(where)}" if where else ""
        match self.rng.randrange(6):
            case 0:
                return f"{mine.text} IN (SELECT {theirs.text} FROM {inner.text}{tail})"
            case 1:
                return f"{mine.text} NOT IN (SELECT {theirs.text} FROM {inner.text}{tail})"
            case 2:
                return f"EXISTS (SELECT 1 FROM {inner.text}{tail})"
            case 3:
                return f"NOT EXISTS (SELECT * FROM {inner.text}{tail})"
            case 4:
                two = self.rng.choice(pairs)
                both = f"SELECT {theirs.text}, {two[1].text} FROM {inner.text}{tail}"
                return f"({mine.text}, {two[0].text}) {self.rng.choice(('', 'NOT '))}IN ({both})"
        function = self.rng.choice(("max", "min"))
        value = f"(SELECT {function}({theirs.text}) FROM {inner.text}{tail})"
        found = f"{mine.text} {self.rng.choice(('=', '<', '>='))} {value}"
        return f"({found} OR {self.predicate(columns, 0)})" if self.chance(0.3) else found

    def scalar(self, columns: tuple[Col, ...]) -> tuple[str, str]:
        """Return a scalar subquery in a SELECT list, and its kind."""
        inner = self.source(0)
        pairs = [(a, b) for a in columns for b in inner.columns if a.kind == b.kind]
        theirs = self.rng.choice(inner.columns)
        tail = ""
        if pairs and self.chance(0.6):
            a, b = self.rng.choice(pairs)
            tail = f" WHERE {a.text} = {b.text}"
        if self.chance(0.4):
            return f"(SELECT count(*) FROM {inner.text}{tail})", "bigint"
        return f"(SELECT max({theirs.text}) FROM {inner.text}{tail})", theirs.kind

    # Queries

    def query(self, depth: int, *, few: bool = False) -> tuple[str, tuple[Col, ...]]:
        """Return a query, and the columns of its result."""
        choice = self.rng.random()
        if choice < 0.36:
            text, columns = self.select(depth, few)
        elif choice < 0.66:
            text, columns = self.grouped(depth)
        elif choice < 0.82:
            text, columns = self.windowed(depth)
        elif choice < 0.94:
            text, columns = self.set_operation(depth)
        else:
            text, columns = self.with_cte(depth)
        if self.chance(0.12):
            return self.limited(text, columns)
        return text, columns

    def tail(self, columns: tuple[Col, ...], depth: int) -> str:
        return f" WHERE {self.predicate(columns, depth)}" if self.chance(0.6) else ""

    def select(self, depth: int, few: bool = False) -> tuple[str, tuple[Col, ...]]:
        text, columns = self.sources(depth)
        chosen: list[tuple[str, str, str]] = []
        for _ in range(self.rng.randrange(1, 4 if few else 6)):
            if self.chance(0.5):
                each = self.rng.choice(columns)
                chosen.append((each.text, each.kind, each.base))
            elif depth > 0 and self.chance(0.25):
                chosen.append((*self.scalar(columns), ""))
            else:
                kind = self.kind(columns)
                chosen.append((self.value(columns, kind, 2), kind, ""))
        distinct = "DISTINCT " if self.chance(0.2) else ""
        listed = ", ".join(f"{each} AS c{place}" for place, (each, _, _) in enumerate(chosen))
        found = tuple(Col(f"c{place}", kind, base) for place, (_, kind, base) in enumerate(chosen))
        return f"SELECT {distinct}{listed} FROM {text}{self.tail(columns, depth)}", found

    def grouped(self, depth: int) -> tuple[str, tuple[Col, ...]]:
        text, columns = self.sources(depth)
        keys = []
        for _ in range(self.rng.choice((0, 1, 1, 1, 2, 2))):
            each = self.rng.choice(columns)
            keys.append(
                (each.text, each.kind, each.base)
                if self.chance(0.7)
                else (self.value(columns, each.kind, 1), each.kind, "")
            )
        keys = [
            key
            for key in dict.fromkeys(keys)
            if not key[0].startswith(("'", "DATE", "TIMESTAMP")) and key[0][0].isalpha()
        ]
        keys = [key for key in keys if any(column.text in key[0] for column in columns)]
        results = [self.aggregate(columns) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        listed = [f"{key} AS g{place}" for place, (key, _, _) in enumerate(keys)]
        listed += [f"{each} AS a{place}" for place, (each, _) in enumerate(results)]
        found = [Col(f"g{place}", kind, base) for place, (_, kind, base) in enumerate(keys)]
        found += [Col(f"a{place}", kind) for place, (_, kind) in enumerate(results)]
        tail = self.tail(columns, depth)
        if keys:
            written = ", ".join(key for key, _, _ in keys)
            if self.chance(0.15):
                how = self.rng.choice(("ROLLUP", "CUBE"))
                tail += f" GROUP BY {how}({written})"
                listed.append("grouping_id() AS gid")
                found.append(Col("gid", "bigint"))
            else:
                tail += f" GROUP BY {written}"
        if self.chance(0.25):
            having, kind = self.aggregate(columns)
            tail += f" HAVING {having} {self.rng.choice(('>', '<=', '<>'))} {self.rng.choice(CONSTANTS[kind])}"
        return f"SELECT {', '.join(listed)} FROM {text}{tail}", tuple(found)

    def windowed(self, depth: int) -> tuple[str, tuple[Col, ...]]:
        text, columns = self.query(depth - 1, few=True) if depth > 0 and self.chance(0.4) else self._plain()
        alias = self.alias()
        columns = self._of(alias, columns)
        results = [self.window(columns) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        if len(results) > 1:  # which of two equal rows gets which results is not determined
            text = f"SELECT DISTINCT * FROM ({text})"
        own = ", ".join(f"{each.text} AS c{place}" for place, each in enumerate(columns))
        listed = ", ".join(f"{each} AS w{place}" for place, (each, _) in enumerate(results))
        found = [Col(f"c{place}", each.kind, each.base) for place, each in enumerate(columns)]
        found += [Col(f"w{place}", kind) for place, (_, kind) in enumerate(results)]
        made = f"SELECT {own}, {listed} FROM ({text}) {alias}"
        if self.chance(0.2):
            place = self.rng.randrange(len(found))
            outer = self.alias()
            columns = tuple(found)
            made = f"SELECT * FROM ({made}) {outer} WHERE {self.predicate((found[place],), 0)}"
        return made, tuple(found)

    def _plain(self) -> tuple[str, tuple[Col, ...]]:
        name, columns = self.table()
        return f"SELECT * FROM {name}", columns

    def set_operation(self, depth: int) -> tuple[str, tuple[Col, ...]]:
        base, columns = self.table()
        chosen = [self.rng.choice(columns) for _ in range(self.rng.choice((1, 1, 2)))]
        kinds = [each.kind for each in chosen]
        parts = [self._select_kinds(kinds, chosen, base, columns, depth)]
        for _ in range(self.rng.choice((1, 1, 2))):
            parts.append(self.rng.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")))
            name, other = self.table()
            parts.append(self._select_kinds(kinds, None, name, other, depth))
        found = tuple(Col(f"c{place}", kind) for place, kind in enumerate(kinds))
        return " ".join(parts), found

    def _select_kinds(
        self, kinds: list[str], chosen: list[Col] | None, name: str, columns: tuple[Col, ...], depth: int
    ) -> str:
        values = [each.text for each in chosen] if chosen else [self.pick(columns, kind) for kind in kinds]
        listed = ", ".join(f"{each} AS c{place}" for place, each in enumerate(values))
        return f"(SELECT {listed} FROM {name}{self.tail(columns, 0)})"

    def with_cte(self, depth: int) -> tuple[str, tuple[Col, ...]]:
        text, columns = self.query(max(depth - 1, 0), few=True)
        name, one, other = self.alias(), self.alias(), self.alias()
        left, right = self._of(one, columns), self._of(other, columns)
        condition = self.join_condition(left[:2], right[:2], 0)
        listed = ", ".join(f"{each.text} AS c{place}" for place, each in enumerate((*left, right[0])))
        found = tuple(Col(f"c{place}", each.kind, each.base) for place, each in enumerate((*left, right[0])))
        how = self.rng.choice(("JOIN", "LEFT JOIN"))
        return f"WITH {name} AS ({text}) SELECT {listed} FROM {name} {one} {how} {name} {other} ON {condition}", found

    def limited(self, text: str, columns: tuple[Col, ...]) -> tuple[str, tuple[Col, ...]]:
        order = list(columns)
        self.rng.shuffle(order)
        keys = ", ".join(
            f"{each.text}{self.rng.choice(('', ' DESC'))}{self.rng.choice(('', ' NULLS LAST'))}" for each in order
        )
        offset = f" OFFSET {self.rng.randrange(1, 3)}" if self.chance(0.3) else ""
        return f"SELECT * FROM ({text}) ORDER BY {keys} LIMIT {self.rng.randrange(1, 6)}{offset}", columns


def draw_query(seed: int) -> tuple[str, tuple[str, ...]]:
    """Return a random query, and the tables that it reads."""
    generator = Generator(seed)
    while True:
        text, _ = generator.query(2)
        if tables_of(text) and len(text) < 2_500:
            return text, tables_of(text)
