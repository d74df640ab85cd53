"""One graph for each law of graphs: right operators around one that is not."""

from __future__ import annotations

from dataclasses import dataclass

from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.core.structural import Wire
from flo.values.operators.elementwise import Map
from flo.values.operators.sequences import Scan
from flo.verify import laws
from flo.verify.programs.operators import CheckedProgram
from tests.seeded.arrival import CountAndReset
from tests.seeded.base import BOUNDED, UNBOUNDED, Seeded
from tests.seeded.merging import MergeByArrival
from tests.seeded.operators import Endless, Hanging, Mistyped, Swallowing


@dataclass(frozen=True)
class SeededFlow:
    """A graph that hands itself over to be checked, as a flow does."""

    graph: Graph
    types: StreamTypes

    def _checkable(self) -> CheckedProgram:
        names = ("left", "right") if len(self.types) == 2 else ("numbers",)
        return CheckedProgram("seeded", self.graph, dict(zip(names, self.types, strict=True)), ())


def node(operator: Operator) -> Node:
    return Node(None, operator)


def double(x: int) -> int:
    return 2 * x


def add(total: int, x: int) -> int:
    return total + x


def behind(left: Graph, right: Operator) -> Graph:
    return Sequential(left, node(right))


DOUBLED = node(Map(double))
TEE = node(Wire(1, (0, 0)))

GRAPHS = (
    Seeded(
        "a formatted field in the middle",
        SeededFlow(Sequential(behind(DOUBLED, Mistyped()), node(Scan(0, add))), UNBOUNDED),
        (laws.GRAPH_PRESERVATION,),
        "One stage hands on a text where the next one adds numbers. Each stage has its own tests, with rows that its "
        "author wrote by hand.",
        "1 arrives: ['2'] is no Sequence[int]",
        3,
    ),
    Seeded(
        "a polling stage",
        SeededFlow(behind(DOUBLED, Endless()), UNBOUNDED),
        (laws.GRAPH_STUCK_STATE,),
        "A stage asks a service whether there is news, and does so between all steps of all others. The program never "
        "comes to rest, so nothing is ever checkpointed.",
        "no element: the step leads to where it came from",
        1,
    ),
    Seeded(
        "a diamond that merges by arrival",
        SeededFlow(Sequential(TEE, behind(Parallel(DOUBLED, node(Scan(0, add))), MergeByArrival())), UNBOUNDED),
        (laws.DETERMINISM,),
        "A stream is used twice, and both results are put into one sequence. Which of two rows comes first is up to "
        "the scheduler.",
        "1 arrives: [1, 2] or [2, 1]",
        2,
    ),
    Seeded(
        "a count for each trigger",
        SeededFlow(behind(node(CountAndReset()), Map(double)), UNBOUNDED),
        (laws.GRAPH_EAGER_EXECUTION,),
        "Rows are counted by a trigger, and the counts are worked on. How many rows a count has depends on how many "
        "came before the first stage got its turn.",
        "1 and 1 arrive: [4] or [2, 2]",
        5,
    ),
    Seeded(
        "a total at the end of an unbounded stream",
        SeededFlow(behind(DOUBLED, Hanging()), UNBOUNDED),
        (laws.GRAPH_PROGRESS,),
        "The last stage of a pipeline waits for the end, and the first one reads a topic. All stages are busy, and "
        "the sink stays empty.",
        "no element: nothing is emitted, and [0] when the input is fixed",
        3,
    ),
    Seeded(
        "a stage that keeps the end to itself",
        SeededFlow(behind(DOUBLED, Swallowing()), BOUNDED),
        (laws.GRAPH_PROGRESS,),
        "A stage in the middle closes its file at the end and says nothing. What comes behind it waits.",
        "the input ends: the output stays open",
        3,
    ),
)
