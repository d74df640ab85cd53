"""The text of `explain` on Spark and in workers: stages, the shuffles between them, how operators run, what they keep.

    flow sales, on Spark
      where the rows are
          → sales                             shuffled by shop   to stage 1
          → shops                             shuffled by name   to stage 1
      stage 1, 2 shards
        join(shops, "shop", "name")                                      spark.py:25
          join_zsets(shop, name, city, price)   on tables   keeps left, right
          = sold                              output

A `PlanSection` is one of these parts: where the rows are (level 0), or a stage. A row of a section is an operator, a
stream that is sent (→), or an output (=).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from flo.core.graph import Node
from flo.shards.plan.stages import KEY, KEYS, WINDOW, Delivery, Plan
from flo.shards.plan.stages import NATIVE as NATIVELY
from flo.tables.operators.fixpoint import FixpointTables
from flo.tables.operators.windows import WindowTables
from flo.tables.plan import explain_calls, format_by_verb
from flo.tables.plan import plan as planned_operators

ROW = tuple[str, str, str, str]
CELLS = tuple[str, str, tuple[str, str, str]]
"""The verb and the line of a row, and its cells."""
NATIVE = "native, in Catalyst"
WRITTEN = "written by Catalyst, if to Changes"
NARROWED = "its other columns left out, in Catalyst"
SHUFFLES = {KEYS: "shuffled by its keys", WINDOW: "shuffled by window, and the clock to all"}
WIDEST = 200
"""The most characters of an operator."""


@dataclass(frozen=True)
class PlanSection:
    """A part of the plan: what happens to rows before the first shuffle (level 0), or a stage."""

    level: int
    title: str
    operators: list[ROW]
    """Each with how it runs, what it keeps, and its line."""
    sends: list[tuple[str, str, int]]
    """Streams that it sends to later stages: the name, how it is shuffled, and the stage."""
    outputs: list[str]
    verbs: list[str]
    """For each operator the call that made it, as the user wrote it."""
    fixpoints: dict[str, str]
    """By id, the calls that made its fixpoints."""
    written: tuple[str, ...] = ()
    """The outputs that Catalyst writes, and not its tasks."""

    def rows(self) -> list[CELLS]:
        """The rows of the text."""
        verbs = zip(self.verbs, self.operators, strict=True)
        own: list[CELLS] = [(verb, where, (name, how, keeps)) for verb, (name, how, keeps, where) in verbs]
        sent: list[CELLS] = [("", "", (f"  → {name}", how, f"to stage {level}")) for name, how, level in self.sends]
        outputs = ((name, WRITTEN if name in self.written else "") for name in self.outputs)
        return [*own, *sent, *(("", "", (f"  = {name}", "output", by)) for name, by in outputs)]


def plan_blocks(
    plan: Plan,
    inputs: list[str],
    outputs: list[str],
    shards: int,
    native: set[int],
    written: frozenset[int] = frozenset(),
    read: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[PlanSection]:
    """One block for the inputs and one for each stage. `written` are the output streams that Catalyst writes. `read`
    has the columns of inputs of which it leaves out the others."""
    names = dict(enumerate(inputs)) | dict.fromkeys(plan.literals, "constant")
    blocks = []
    for level in range(len(plan.stages) + 1):
        title = f"stage {level}, {shards} shard{'s' if shards > 1 else ''}" if level else "where the rows are"
        sent = [each for each in plan.deliveries if _level_of(plan, each) == level and each.how != NATIVELY]
        sends = [(_stream_name(plan, each, names), _describe_shuffle(each), each.level) for each in sent]
        streams = plan.stages[level - 1].outputs if level else ()
        names_here = [name for name, stream in zip(outputs, plan.outputs, strict=True) if stream in streams]
        operators = list(_operators(plan, level, native))
        if not level:
            narrowed = ((_shorten(f"{name}({', '.join(columns)})"), NARROWED, "", "") for name, columns in read.items())
            operators = [*((row, "") for row in narrowed), *operators]
        rows, verbs = [row for row, _ in operators], [verb for _, verb in operators]
        by_catalyst = tuple(name for name, stream in zip(outputs, plan.outputs, strict=True) if stream in written)
        fixpoints = _fixpoints(plan, level)
        blocks.append(PlanSection(level, title, rows, sends, names_here, verbs, fixpoints, by_catalyst))
    return blocks


def explain_plan(name: str, plan: Plan, blocks: list[PlanSection], native: set[int], where: str = "on Spark") -> str:
    """The blocks as text, and why functions are called row by row."""
    lines = [f"flow {name}, {where}"]
    for block in blocks:
        rows = block.rows()
        lines.append(f"  {block.title}" if rows else f"  {block.title}: nothing")
        lines += format_by_verb(rows, "    ")
    planned = [
        each
        for _, vertex in plan.vertices
        if id(vertex.operator) not in native
        for each in planned_operators([Node(None, vertex.operator, vertex.origin)])
    ]
    lines += [f"  {line}" for line in explain_calls(planned)]
    return "\n".join(lines)


def _operators(plan: Plan, level: int, native: set[int]) -> Iterator[tuple[ROW, str]]:
    """The rows of the operators of a level, and the verbs that made them."""
    for at, vertex in plan.vertices:
        if at != level:
            continue
        for each in planned_operators([Node(None, vertex.operator, vertex.origin)]):
            place = "in one place, " if level and vertex.outputs and vertex.outputs[0].number in plan.alone else ""
            name = _shorten(each.described)
            keeps = ", ".join(kept.removesuffix(": a trace") for kept in each.keeps)
            how = NATIVE if id(vertex.operator) in native else f"{place}{each.how}"
            yield (name, how, f"keeps {keeps}" if keeps else "", str(each.node.origin or "")), each.verb


def _fixpoints(plan: Plan, level: int) -> dict[str, str]:
    """The fixpoints of a level, by id."""
    fixpoints = [vertex for at, vertex in plan.vertices if at == level and isinstance(vertex.operator, FixpointTables)]
    return {each.id: str(each.origin or each.operator.called) for each in fixpoints}


def _shorten(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _level_of(plan: Plan, delivery: Delivery) -> int:
    """The level that a delivery comes from."""
    streams = ((stage.level, stage.outputs) for stage in plan.stages)
    natives = ((each.level, (each.output,)) for each in plan.natives)
    return next((level for level, outputs in (*streams, *natives) if delivery.stream in outputs), 0)


def _stream_name(plan: Plan, delivery: Delivery, names: dict[int, str]) -> str:
    """The name of the input or operator that a stream comes from."""
    origin = plan.sources.get(delivery.stream)
    if origin is not None and len(origin) == 1:
        return names[next(iter(origin))]
    for _, vertex in plan.vertices:
        numbers = [stream.number for stream in vertex.outputs]
        if delivery.stream in numbers:
            late = isinstance(vertex.operator, WindowTables) and numbers.index(delivery.stream) == 1
            return str(getattr(vertex.operator, "like", vertex.operator).name) + (".late" if late else "")
    return "?"


def _describe_shuffle(delivery: Delivery) -> str:
    """How a stream is shuffled, in words."""
    if delivery.columns is not None:
        return f"shuffled by {', '.join(delivery.columns)}"
    if delivery.how != KEY or delivery.by is None:
        return SHUFFLES.get(delivery.how, delivery.how)
    columns = delivery.by.key_columns(delivery.place)
    before = ("reduced" if delivery.reduces else "summed") if delivery.sums_early else ""
    if columns == ():
        return f"{f'{before}, ' if before else ''}to one shard, as one group"
    how = f"{before} and shuffled" if before else "shuffled"
    spread = ", hot keys spread" if delivery.join else ""
    return f"{how} by {', '.join(columns) if columns else f'the key of {delivery.by.like.name}'}{spread}"
