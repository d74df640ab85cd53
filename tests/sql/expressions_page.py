"""Writes docs/sql-expressions.md from the registry: `python -m tests.sql.expressions_page`."""

from __future__ import annotations

from pathlib import Path

from flo.sql.registry import Function, Signature, functions

PAGE = Path(__file__).parent.parent.parent / "docs" / "sql-expressions.md"
HEAD = """# Expressions of Spark SQL on Arrow

Expressions before the first stateful operator of an input run in Spark itself. Those between stateful operators, such
as one above a `GROUP BY`, are computed on Arrow if they are listed here: by their class in Catalyst, the types of their
operands and their evaluation mode. Each line is compared with Spark on extreme values, errors included
(`tests/sql/test_expressions.py`).

- *integer* is TINYINT to BIGINT, *float* is FLOAT and DOUBLE, *decimal* has any precision and scale. Operands of the
  same kind are given once.
- *ANSI* raises the error that Spark raises, *LEGACY* is `spark.sql.ansi.enabled=false`, *TRY* is `try_cast`
  and `try_divide`. Classes without modes are the same in all of them.
- Strings have the default collation.
- `round` is listed for places after the point, and `abs` and `-` of decimals for up to 34 digits.

They are what queries need above joins and groups, as TPC-H and TPC-DS do, and what is one call of Arrow. Catalyst runs
all others, between two stages: among them regular expressions, logarithms and powers, functions
of timestamps in a time zone, and casts from strings. `explain` shows where.

This page is written by `python -m tests.sql.expressions_page`.
"""


def page() -> str:
    """Return the text of the page."""
    rows = ["| class | SQL | operands | modes |", "|---|---|---|---|"]
    for function in sorted(functions().values(), key=lambda each: each.name):
        if function.sql is not None:
            rows += [_row(function, modes) for modes in dict.fromkeys(each.modes for each in function.signatures)]
    return HEAD + "\n" + "\n".join(rows) + "\n"


def _row(function: Function, modes: tuple[str, ...]) -> str:
    operands = "; ".join(dict.fromkeys(_text(each) for each in function.signatures if each.modes == modes))
    sql = (function.sql or "").replace("|", "\\|")
    letters = iter("abcd")
    while "{}" in sql:
        sql = sql.replace("{}", next(letters), 1)
    return f"| {function.name} | `{sql}` | {operands} | {', '.join(modes)} |"


def _text(signature: Signature) -> str:
    """Return the kinds of the operands, and of the result if it is not implied."""
    kinds = dict.fromkeys(str(each).removesuffix(", …") for each in signature.operands)
    operands = ", ".join(kinds)
    return operands if signature.result is None else f"{operands} → {signature.result.value}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
