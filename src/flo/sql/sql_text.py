"""Expressions of Spark SQL as people write them: `price * qty > 10`, for `explain` and error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flo.sql.nodes import Expr

INFIX = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "Remainder": "%",
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "And": "AND",
    "Or": "OR",
    "Like": "LIKE",
}
FUNCTIONS = {
    "HyperLogLogPlusPlus": "approx_count_distinct",
    "ApproximatePercentile": "approx_percentile",
    "HistogramNumeric": "histogram_numeric",
    "HllSketchAgg": "hll_sketch_agg",
    "CountMinSketchAgg": "count_min_sketch",
    "BitXorAgg": "bit_xor",
    "NthValue": "nth_value",
    "StddevSamp": "stddev",
    "StddevPop": "stddev_pop",
    "VarianceSamp": "variance",
    "VariancePop": "var_pop",
    "Average": "avg",
    "SumResult": "",
    "OneRow": "",
    "Cast": "",
    "KnownNotNull": "",
    "KnownFloatingPointNormalized": "",
    "NormalizeNaNAndZero": "",
}
"""Names of functions that differ from those of their classes; an empty name for what users do not write."""


def sql_text(node: Expr) -> str:
    """Return an expression as text. Conversions, and what Spark adds by itself, are left out."""
    match node.name:
        case "AttributeReference":
            return node.column.replace("==", "#")
        case "Literal":
            value = node.option("value")
            return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
        case "ScalarSubquery":
            return "(SELECT …)"
        case "IsNull" | "IsNotNull":
            return f"{_operand(node.children[0])} IS {'NOT ' if node.name == 'IsNotNull' else ''}NULL"
        case "Not":
            return f"NOT {_operand(node.children[0])}"
        case "CaseWhen" | "If":
            return _case(node)
        case "In" | "InSet":
            items = [str(each) for each in node.option("values", ())] or [sql_text(each) for each in node.children[1:]]
            return f"{_operand(node.children[0])} IN ({', '.join(items)})"
        case _ if node.name in INFIX:
            return f" {INFIX[node.name]} ".join(map(_operand, node.children))
    name = FUNCTIONS.get(node.name, node.name.lower())
    if not name:
        return sql_text(node.children[0])
    return f"{name}({', '.join(map(sql_text, node.children))})"


def _operand(node: Expr) -> str:
    text = sql_text(node)
    return f"({text})" if " " in text and not text.endswith(")") and node.name in INFIX else text


def _case(node: Expr) -> str:
    *parts, last = node.children if len(node.children) % 2 else (*node.children, None)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    written = "".join(f" WHEN {sql_text(when)} THEN {sql_text(then)}" for when, then in pairs if when and then)
    return f"CASE{written}{'' if last is None else f' ELSE {sql_text(last)}'} END"
