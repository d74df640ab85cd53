"""A program on Spark, for people: its stages, what moves between them and by which key, how each operator runs and what
it keeps."""

from __future__ import annotations

from collections.abc import Iterator

from flo.api.explain import describe_operator
from flo.core.graph import Node
from flo.spark.plan.stages import KEY, KEYS, WINDOW, Delivery, Plan
from flo.tables.operators.windowing import TimeWindowTables
from flo.tables.plan import plan as operators

ROW = tuple[str, str, str, str]
NATIVE = "native, in Catalyst"
SAID = {KEYS: "shuffled by its keys", WINDOW: "shuffled by window, and the clock to all"}
WIDEST = 36
"""How much of an operator is shown."""


def explained(name: str, plan: Plan, inputs: list[str], outputs: list[str], shards: int, native: set[int]) -> str:
    """One block for the inputs and for every stage: operators first, then what they send on."""
    names = dict(enumerate(inputs)) | dict.fromkeys(plan.literals, "constant")
    blocks: list[tuple[str, list[ROW]]] = []
    for level in range(len(plan.stages) + 1):
        title = f"stage {level}, {shards} shards" if level else "where the rows are"
        rows = [*_operators(plan, level, native)]
        sent = [each for each in plan.deliveries if _level_of(plan, each) == level]
        rows += [("  → " + _called(plan, each, names), _way(each), f"to stage {each.level}", "") for each in sent]
        streams = plan.stages[level - 1].outputs if level else ()
        rows += [(f"  = {o}", "output", "", "") for o, s in zip(outputs, plan.outputs, strict=True) if s in streams]
        blocks.append((title, rows))
    widths = [max((len(row[column]) for _, rows in blocks for row in rows), default=0) for column in range(3)]
    lines = [f"flow {name}, on Spark"]
    for title, rows in blocks:
        lines.append(f"  {title}" if rows else f"  {title}: nothing")
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            lines.append(("    " + "   ".join([*cells, row[3]])).rstrip())
    return "\n".join(lines)


def _operators(plan: Plan, level: int, native: set[int]) -> Iterator[ROW]:
    for at, vertex in plan.vertices:
        if at != level:
            continue
        for each in operators(Node(None, vertex.operator, vertex.origin)):
            place = "in one place, " if level and vertex.outputs and vertex.outputs[0].number in plan.alone else ""
            name = _short("  " * each.depth + describe_operator(each.operator))
            keeps = ", ".join(kept.removesuffix(": a trace") for kept in each.keeps)
            how = NATIVE if id(vertex.operator) in native else f"{place}{each.how}"
            yield name, how, f"keeps {keeps}" if keeps else "", str(each.node.origin or "")


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _level_of(plan: Plan, delivery: Delivery) -> int:
    return next((stage.level for stage in plan.stages if delivery.stream in stage.outputs), 0)


def _called(plan: Plan, delivery: Delivery, names: dict[int, str]) -> str:
    """The input that a stream is, or the operator that gives it."""
    origin = plan.sources.get(delivery.stream)
    if origin is not None and len(origin) == 1:
        return names[next(iter(origin))]
    for _, vertex in plan.vertices:
        numbers = [stream.number for stream in vertex.outputs]
        if delivery.stream in numbers:
            late = isinstance(vertex.operator, TimeWindowTables) and numbers.index(delivery.stream) == 1
            return str(getattr(vertex.operator, "like", vertex.operator).name) + (".late" if late else "")
    return "?"


def _way(delivery: Delivery) -> str:
    if delivery.how != KEY or delivery.by is None:
        return SAID.get(delivery.how, delivery.how)
    columns = delivery.by.key_columns(delivery.place)
    if columns == ():
        return "to one shard, as one group"
    return f"shuffled by {', '.join(columns)}" if columns else f"shuffled by the key of {delivery.by.like.name}"
