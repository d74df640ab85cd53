"""Through the states of a program: breadth first and all of them, or along one way that is chosen."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable

from flo.verify.exploration.space import Space, State


class Search:
    """Each state once, the nearest first, so that the way to each is as short as can be.

    Of a state its numbers are kept, the one it was reached from, and which follow it; nothing else.
    """

    def __init__(self, space: Space, start: State) -> None:
        self.space = space
        self.numbers: dict[State, int] = {start: 0}
        self.parents = array("L", [0])
        self.edges = array("L")
        self.ends = array("L")
        """Where the edges of each state end."""
        self.outcomes: dict[State, int] = {}
        """Stuck states, by their numbers."""

    def run(self, most: int, *, expected: State | None = None, over: Callable[[], bool] = lambda: False) -> bool:
        """Whether all was seen, with at most so many states and before it is over, or an end that is not expected."""
        numbers, parents, edges, following = self.numbers, self.parents, self.edges, self.space.following
        frontier = deque(numbers)
        while frontier:
            state, number = frontier.popleft(), len(self.ends)
            before = len(edges)
            for _, after in following(state, arrivals_first=True):  # so that ways are like that of all data at once
                known = numbers.get(after)
                if known is None:
                    known = len(parents)
                    if known >= most:
                        return False
                    numbers[after] = known
                    parents.append(number)
                    frontier.append(after)
                edges.append(known)
            self.ends.append(len(edges))
            if len(edges) == before:
                self.outcomes[state] = number
                if expected is not None and not self.space.same(state, expected):
                    return True
            if number % 64 == 63 and over():
                return False
        return True

    def ends_apart(self, most: int | None = None) -> list[int]:
        """The numbers of stuck states that differ in more than which nan is which; the first so many."""
        found: list[State] = []
        for state in self.outcomes:
            if not any(self.space.same(state, other) for other in found):
                found.append(state)
                if len(found) == most:
                    break
        return [self.outcomes[state] for state in found]

    def way_to(self, number: int) -> list[State]:
        """The states on a shortest way there."""
        states = list(self.numbers)
        way = [states[number]]
        while number:
            number = self.parents[number]
            way.append(states[number])
        return way[::-1]

    def way_to_break(self) -> list[State]:
        """The way to the state at which a step broke a law."""
        return self.way_to(len(self.ends))

    def schedules(self) -> int:
        """How many ways lead from the first state to a stuck one; as many lead to a state as to all that lead to it."""
        incoming = [0] * len(self.parents)
        for number in self.edges:
            incoming[number] += 1
        ways = [0] * len(incoming)
        ways[0], total, ready = 1, 0, [0]
        while ready:
            number = ready.pop()
            here, ways[number] = ways[number], 0
            edges = self.edges[self.ends[number - 1] if number else 0 : self.ends[number]]
            if not edges:
                total += here
            for after in edges:
                ways[after] += here
                incoming[after] -= 1
                if not incoming[after]:
                    ready.append(after)
        return total


def walk(space: Space, way: list[State], choose: Callable[[int], int]) -> list[State]:
    """Goes on from the end of the way to a stuck state: `choose(n)` says which of n moves comes next."""
    while found := space.following(way[-1]):
        way.append(found[choose(len(found))][1])
    return way


def arrivals(space: Space, way: list[State]) -> list[State]:
    """Goes on from the end of the way until all data has arrived, and takes no step."""
    while found := space.arriving(way[-1]):
        way.append(found[0][1])
    return way
