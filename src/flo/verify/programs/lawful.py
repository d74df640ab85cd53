"""The laws that bind single steps, tried on every step: preservation, one result; and, as everywhere, the measure."""

from __future__ import annotations

from flo.core.derivation import StreamTypes
from flo.core.errors import FloError
from flo.core.graph import Graph, Node, Parallel, Sequential
from flo.core.labels import label
from flo.core.semantics import GraphStep
from flo.core.term import Lowerable, Lowering
from flo.core.typing import derive
from flo.verify.exploration.moves import Broken, Move
from flo.verify.exploration.shown import shown_all
from flo.verify.exploration.space import Space


class LawfulSpace(Space):
    """The states of a graph; every step is tried for the laws that bind single steps."""

    def __init__(self, graph: Graph, types: StreamTypes, names: tuple[str, ...]) -> None:
        self.judged: list[tuple[StreamTypes, StreamTypes]] = []
        super().__init__(graph, self._judge(graph, types), names)
        self.lawful: set[tuple[int, int]] = set()

    def _judge(self, graph: Graph, types: StreamTypes) -> StreamTypes:
        """The types on both sides of every operator, left to right."""
        match graph:
            case Node():
                self.judged.append((types, derive(graph, types).outputs))
                return self.judged[-1][1]
            case Sequential(left, right):
                return self._judge(right, self._judge(left, types))
            case Parallel(left, right):
                count = left.arity[0]
                return self._judge(left, types[:count]) + self._judge(right, types[count:])

    def forget(self) -> None:
        super().forget()
        self.lawful = set()

    def small_steps(self, node: Node, times: int = 2) -> list[GraphStep]:
        """The steps, which must be the same each time."""
        found = super().small_steps(node)
        for _ in range(times - 1):
            again = super().small_steps(node)
            if found != again:
                pairs = zip(found, again, strict=False)
                one, other = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
                rule = node.operator.name if one is None else one.rule
                reason = f"{functions_of(node)} gives one result the first time and another the second"
                raise Broken("function", reason, Move(rule, rule), (_result(one, found), _result(other, again)))
        return found

    def entered(self, slot: int, number: int, move: Move) -> None:
        if (slot, number) in self.lawful:
            return
        thing = self.slots[slot].things[number]
        if isinstance(thing, Node):
            types, outputs = self.judged[slot]
            try:
                found = derive(thing, types).outputs
            except FloError as error:
                raise Broken("preservation", str(error).splitlines()[0], move) from None
            if found != outputs:
                raise Broken("preservation", f"the type of the outputs becomes {', '.join(map(str, found))}", move)
        else:
            output = self.output_types[slot - len(self.nodes)]
            reason = output.collection.mismatch(thing)
            if reason is not None:
                raise Broken("preservation", f"an output of type {output} holds {shown_all([thing])}: {reason}", move)
        self.lawful.add((slot, number))


def _result(step: GraphStep | None, steps: list[GraphStep]) -> str:
    if step is None:
        return f"{len(steps)} steps"
    emitted = shown_all(output for output in step.outputs if output is not None)
    return f"{emitted}, left {step.graph}"


def functions_of(node: Node) -> str:
    """The user's functions in the operator, for people."""
    lowering = Lowering()
    lowering(node.operator)
    supplied = [item for item in lowering.names.values() if callable(item) and not isinstance(item, (type, Lowerable))]
    return " or ".join(f"`{label(item)}`" for item in supplied) or f"`{node.operator.name}`"
