"""The operators of a program on tables, for people: how each runs, what it keeps, and where it was written."""

from __future__ import annotations

from flo.api.explain import described
from flo.columnar.plan import BY_ROW, CONVERSION, ONE_VALUE, TABLES, VALUES, plan
from flo.core.graph import Graph


def explained(name: str, graph: Graph) -> str:
    rows = [
        ("  " * each.depth + described(each.operator), each.how, "; ".join(each.keeps), str(each.node.origin or ""))
        for each in plan(graph)
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [f"flow {name}, in this process"]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append(("  " + "   ".join([*cells, row[3]])).rstrip())
    counts = {how: sum(row[1] == how for row in rows) for how in (TABLES, BY_ROW, VALUES, ONE_VALUE, CONVERSION)}
    one = f"{counts[ONE_VALUE]} on one value, " if counts[ONE_VALUE] else ""
    lines.append(
        f"{counts[TABLES]} on tables, {counts[BY_ROW]} row by row in Python, {counts[VALUES]} on values, "
        f"{one}{counts[CONVERSION]} conversions"
    )
    return "\n".join(lines)
