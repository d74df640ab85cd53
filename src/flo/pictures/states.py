"""The states of a program on given data, with every step between them, as data for a page.

States are searched breadth first up to a bound. A state is a number for each place of the program, an operator with
its buffers or an output, so a page holds the text of each content once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from flo.core.collection import Value
from flo.core.errors import FloError, brief, shorten
from flo.core.graph import Node, text
from flo.core.structural import Wire
from flo.core.term import Lowering
from flo.pictures.rules import rule_html
from flo.pictures.svg import PageData
from flo.verify.exploration.arrivals import Scenario
from flo.verify.exploration.moves import BrokenStep, GraphRun, Move, find_consumed
from flo.verify.exploration.replay import take_move
from flo.verify.exploration.source import format_expression, format_value
from flo.verify.exploration.space import Space, SpaceState

MOST_STATES = 10_000
MOST_OF_A_TEXT = 400
MOST_OF_AN_OPERATOR = 1200
"""One with a body is long. The page shows the part of it that changes."""
Edge: TypeAlias = tuple[int, int, int]
"""(from, to, the number of the move)"""


@dataclass
class StateGraph:
    """The states that were found, the moves between them, and where the search was cut."""

    scenario: Scenario
    space: Space = field(init=False)
    states: list[SpaceState] = field(default_factory=list)
    numbers: dict[SpaceState, int] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    moves: list[PageData] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    """States whose moves were not looked at, as there are too many states."""
    broken: dict[int, str] = field(default_factory=dict)
    """States with a step that breaks a law, or a function that raises: the reason."""
    _known: dict[object, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = self.scenario
        self.space = Space(given.graph, given.output_types, given.names)
        self._slots = {(*path, "operator"): slot for slot, path in enumerate(self.space.paths)}

    def search(self, most: int) -> None:
        """Find the states, breadth first: at most so many."""
        frontier = deque([self._number(self.space.start(self.scenario.channels))])
        while frontier:
            number = frontier.popleft()
            state = self.states[number]
            moves = self._moves_of(number, state)
            new = {after for _, after in moves if after not in self.numbers}
            if len(self.states) + len(new) > most:
                self.open.add(number)
                continue
            frontier.extend(range(len(self.states), len(self.states) + len(new)))
            self.edges += [(number, self._number(after), self._move(state, move)) for move, after in moves]

    def _moves_of(self, number: int, state: SpaceState) -> list[tuple[Move, SpaceState]]:
        try:
            return self.space.next_moves(state)
        except BrokenStep as broken:
            self.broken[number] = f"the step {broken.move.text} breaks a law: {broken.reason}"
        except FloError as error:
            self.broken[number] = str(error).partition("\n")[0]
        return self.space.next_arrivals(state)

    def follow(self, trace: str) -> list[int]:
        """Return the edges along a trace, by their numbers. What the search has not found is added."""
        given = self.scenario
        run = GraphRun(given.graph, given.output_types, given.channels, given.names)
        states, followed = [self.space.start(given.channels)], list[int]()
        for place, name in enumerate(trace.split(), start=1):
            try:
                take_move(run, name, place)
                states.append(self.space.state(run.graph, run.outputs, run.arrived))
            except Exception:  # the last step breaks a law: what it gives may fit nowhere
                break
        known: dict[tuple[int, int], list[int]] = {}
        for number, (one, other, _) in enumerate(self.edges):
            known.setdefault((one, other), []).append(number)
        for (before, after), event in zip(pairwise(states), run.events, strict=False):
            ends = self._number(before), self._number(after)
            if ends not in known:
                move = self._add_move(("event", event), {"text": event, "path": [], "slot": -1})
                known[ends] = [len(self.edges)]
                self.edges.append((*ends, move))
            alike = [number for number in known[ends] if self.moves[self.edges[number][2]]["text"] == event]
            followed.append((alike or known[ends])[0])
        return followed

    def _number(self, state: SpaceState) -> int:
        known = self.numbers.setdefault(state, len(self.numbers))
        if known == len(self.states):
            self.states.append(state)
        return known

    def _add_move(self, key: object, described: PageData) -> int:
        known = self._known.setdefault(key, len(self.moves))
        if known == len(self.moves):
            self.moves.append(described)
        return known

    def _move(self, state: SpaceState, move: Move) -> int:
        """Return the number of a move. Steps of unordered collections are named with the elements that they take."""
        if move.step is None:
            return self._add_move(("arrival", move.text), {"text": move.text, "path": [], "slot": -1})
        path = move.rules
        slot = self._slots[path[: path.index("operator") + 1]]
        key = slot, state[slot], id(move)
        if key in self._known:
            return self._known[key]
        before, after = self.space.slots[slot].contents[state[slot]], move.step.graph
        assert isinstance(after, Node)
        pairs = zip(before.state or (), after.state or (), strict=False)
        taken = ", ".join(each for one, other in pairs for each in find_consumed(one, other))
        outputs = ", ".join("∅" if delta is None else _paper(delta) for delta in move.step.outputs)
        described = {
            "text": f"{move.text}({taken})" if taken else move.text,
            "path": list(path),
            "slot": slot,
            "to": self.space.slots[slot].number(after),
            "out": outputs,
        }
        return self._add_move(key, described)

    def outcomes(self) -> list[int]:
        """The stuck states: those without moves, except where the search was cut."""
        leaving = {before for before, _, _ in self.edges}
        return [each for each in range(len(self.numbers)) if each not in leaving and each not in self.open]

    def to_data(self) -> PageData:
        """Return the states as data for the script of a page."""
        slots = [_slot(node) for node in self.space.nodes]
        names = self.scenario.output_names
        for place in range(self.space.arrival - len(slots)):
            name = names[place] if place < len(names) else str(place + 1)
            slots.append({"name": name, "line": "", "kind": "output"})
        used = [set[int]() for _ in slots]
        for state in self.states:
            for slot, number in enumerate(state[:-1]):
                used[slot].add(number)
        for move in self.moves:
            if move["slot"] >= 0:
                used[move["slot"]].add(move["to"])
        contents = [
            {number: _content(self.space.slots[slot].contents[number]) for number in sorted(numbers)}
            for slot, numbers in enumerate(used)
        ]
        rules = sorted({rule for move in self.moves for rule in move["path"]})
        return {
            "slots": slots,
            "contents": contents,
            "states": [number for state in self.states for number in state[:-1]],
            "moves": self.moves,
            "edges": [number for edge in self.edges for number in edge],
            "open": sorted(self.open),
            "broken": self.broken,
            "outcomes": self.outcomes(),
            "rules": {rule: drawn for rule in rules if (drawn := rule_html(rule))},
        }


def _slot(node: Node) -> dict[str, str]:
    kind = "wire" if isinstance(node.operator, Wire) else "operator"
    return {"name": node.operator.called, "line": str(node.origin or ""), "kind": kind}


def _content(thing: Node | Value) -> PageData:
    """Return the buffers of an operator, plain and in the paper's notation, and the operator; or an output."""
    if isinstance(thing, Node):
        values = thing.state or ()
        return {
            "plain": [_plain(value) for value in values],
            "paper": [_paper(value) for value in values],
            "operator": shorten(format_expression(thing.operator), MOST_OF_AN_OPERATOR),
        }
    return {"plain": [_plain(thing)]}


def _plain(value: Value) -> str:
    try:
        return shorten(format_value(value), MOST_OF_A_TEXT)
    except Exception:  # what a broken step has left there may be no value
        return brief(value)


def _paper(value: Value) -> str:
    try:
        return shorten(text(Lowering()(value)), MOST_OF_A_TEXT)
    except Exception:  # it cannot be lowered
        return brief(value)
