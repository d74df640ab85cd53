"""docs/expressions.md, made of the examples that the tests run.

python -m tests.relational.expressions_table     writes the page
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.type_names import type_name
from tests.relational.expression_examples import EXAMPLES, SECTIONS, Example, Maybe, Row
from tests.relational.refused_expressions import REFUSED, SHOWN

PAGE = Path(__file__).parents[2] / "docs" / "expressions.md"
INTRODUCTION = """\
# Expressions

`python -m tests.relational.expressions_table` writes this page. The tests run every example on values and on tables,
with nulls and extreme values. They compare the results with DuckDB or, where SQL differs, with the result that the
last column describes.

Expressions are those of [Narwhals](https://narwhals-dev.github.io/narwhals/), plus a few functions that it does not
have: `flo.split_part`, `flo.regexp_extract`, `flo.hash`, `flo.md5`, `flo.sha256`, `flo.try_cast`, `flo.greatest` and
`flo.least`. They work wherever a verb takes columns, and mean the same on values, on tables and on Spark.

```python
from typing import NamedTuple

import narwhals as nw

import flo


class Visit(NamedTuple):
    path: str
    seconds: str | None


flow = flo.Flow("visits")
visits = flow.input("visits", flo.ZSet[Visit])
flow.output(
    "parts",
    visits.select(
        shop=flo.split_part("path", "/", 2),
        item=flo.regexp_extract("path", r"item=(\\d+)", 1),
        seconds=flo.try_cast("seconds", nw.Int64).fill_null(0),
    ),
)
for row in flow.run(visits=[Visit("/north/?item=12", "7"), Visit("/south/", "n/a")])["parts"]:
    print(row)
```

```text
Row(shop='north', item='12', seconds=7)
Row(shop='south', item=None, seconds=0)
```

## Rules

- A string is the name of a column where a column is expected, and a constant where a value is compared or replaced:
  `nw.col("s") == "x"`. In `then`, `otherwise`, `coalesce` and `concat_str`, a constant is `nw.lit("x")`.
- The type of a result, and whether it can be null, follow from the expression and the types of the columns alone.
- Integers are computed in 64 bits. A result that leaves the range is an error that names the row and the expression. So
  is a `cast` that fails. `flo.try_cast` gives null instead.
- A branch of `when` is only computed for the rows that take it, so it cannot fail for others.
- Regular expressions are those of [RE2](https://github.com/google/re2/wiki/Syntax): `\\d` and `\\w` are ASCII, and
  there is no lookahead or lookbehind.
- Functions that need other rows, such as sums, ranks and shifts, are rejected. Use aggregates and verbs for them.

In the tables, `a` and `b` are integers, `x` and `y` floats, `d` decimals, `s` and `t` strings, `p` and `q` bools, `day`
dates, `at` times, `z` times in Berlin, `lasts` durations, `items` and `tags` lists, and `who` rows with `name` and
`age`. The column "null" says when the result can be null: `operand` if an operand is null, `never`, or `also` if it can
be null even when no operand is. The types assume operands that are not null.
"""
REFUSALS = """\
## Rejected when the program is built

Flo rejects everything that it can know to be wrong before the first row: columns that do not exist, types that do not
match, constants that do not fit, invalid regular expressions, formats, intervals and zones, and a filter that is not a
bool. The error names what is wrong.

| expression | the error |
| --- | --- |
"""
FROM_SQL = """\
## From SQL

The same examples, sorted by their SQL. [Verbs, aggregates and joins](relational.md#from-sql) have their own table.

| SQL | Flo |
| --- | --- |
"""


def page() -> str:
    parts = [INTRODUCTION]
    for title, examples in SECTIONS.items():
        parts.append(f"## {title}\n\n| expression | SQL | type | null | |\n| --- | --- | --- | --- | --- |\n")
        parts[-1] += "".join(map(line, examples))
    refused = (f"| {code(shown(text))} | {REFUSED[text].replace('|', chr(92) + '|')} |\n" for text in SHOWN)
    parts.append(REFUSALS + "".join(refused))
    in_order = sorted((each for each in EXAMPLES if each.sql), key=lambda each: each.sql.lower().lstrip("'(-"))
    parts.append(FROM_SQL + "".join(f"| {code(each.sql)} | {code(each.shown)} |\n" for each in in_order))
    return "\n".join(parts)


def line(example: Example) -> str:
    sql = code(example.sql) if example.sql else ""
    cells = (code(example.shown), sql, code(type_text(example)), null_text(example), example.why)
    return f"| {' | '.join(cells)} |\n"


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def shown(text: str) -> str:
    return Example(text, "").shown


def bound(example: Example, row: Any) -> Expression:
    layout = Layout.of(row)
    assert layout is not None
    return Expression({"result": example.expression}, (layout,))


def type_text(example: Example) -> str:
    """The type of the result of rows without nulls."""
    kind = bound(example, Row).layout.cells[0].kind
    while get_args(kind) and hasattr(kind, "__metadata__"):
        kind = get_args(kind)[0]
    text = "Row" if hasattr(kind, "_columns") else type_name(kind).replace("datetime.", "")
    return re.sub(r"Optional\[([^\[\]]*)\]", r"\1 | None", text)  # equal types are written in two ways


def null_text(example: Example) -> str:
    """When the result is null, from the types alone."""
    if bound(example, Row).schema.field(0).nullable:
        return "also"
    return "operand" if bound(example, Maybe).schema.field(0).nullable else "never"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
