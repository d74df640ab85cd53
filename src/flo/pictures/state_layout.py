"""Where the dots of a state graph go: a column for each number of moves, few crossings, and folds where it is crowded.

A column has the states that are reached after equally many moves (at most). If there are more states than a page can
show, the rest of a column is folded into one dot. The states of runs and the stuck ones are never folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flo.pictures.svg import PageData

MOST_DOTS = 10_000
SWEEPS = 6


@dataclass
class Dots:
    """The dots of a page: the column of each, its height in the column, and the states that it stands for."""

    columns: list[int] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    states: list[list[int]] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)

    def to_data(self) -> PageData:
        return {
            "columns": self.columns,
            "heights": self.heights,
            "folded": {dot: len(states) for dot, states in enumerate(self.states) if len(states) > 1},
            "state": [states[0] for states in self.states],
            "links": [end for link in self.links for end in link],
        }


def arrange(count: int, edges: Sequence[tuple[int, int]], kept: Iterable[int], most: int = MOST_DOTS) -> Dots:
    """Arrange so many states, numbered from 0; those that are `kept` are not folded."""
    columns = _columns(count, edges)
    dot_of, dots = _fold(columns, set(kept), most)
    dots.links = sorted({(dot_of[one], dot_of[other]) for one, other in edges if dot_of[one] != dot_of[other]})
    _set_heights(dots)
    return dots


def count_ways(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Count, for every state, the ways that lead to it from state 0."""
    ways = [1] + [0] * (count - 1)
    following = _following(count, edges)
    for state in _in_order(count, edges):
        for after in following[state]:
            ways[after] += ways[state]
    return ways


def _following(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    following: list[list[int]] = [[] for _ in range(count)]
    for one, other in edges:
        following[one].append(other)
    return following


def _in_order(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the states in topological order. Steps lower a measure, so there are no cycles."""
    following, waiting = _following(count, edges), [0] * count
    for _, other in edges:
        waiting[other] += 1
    ready = [state for state in range(count) if not waiting[state]]
    for state in ready:
        for after in following[state]:
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return ready


def _columns(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    columns, following = [0] * count, _following(count, edges)
    for state in _in_order(count, edges):
        for after in following[state]:
            columns[after] = max(columns[after], columns[state] + 1)
    return columns


def _fold(columns: Sequence[int], kept: set[int], most: int) -> tuple[list[int], Dots]:
    """Give each state a dot; in columns that are too long, one dot to all that are too many."""
    members: list[list[int]] = [[] for _ in range(1 + max(columns, default=0))]
    for state in sorted(range(len(columns)), key=lambda state: (state not in kept, state)):
        members[columns[state]].append(state)
    longest = _longest_column([len(column) for column in members], most)
    dots, dot_of = Dots(), [0] * len(columns)
    for number, column in enumerate(members):
        alone = max(longest - 1, sum(state in kept for state in column)) if len(column) > longest else len(column)
        for states in [*([state] for state in column[:alone]), *([column[alone:]] if column[alone:] else [])]:
            for state in states:
                dot_of[state] = len(dots.states)
            dots.states.append(states)
            dots.columns.append(number)
    return dot_of, dots


def _longest_column(lengths: Sequence[int], most: int) -> int:
    """Return how many dots a column may have, so that there are at most `most` in all."""
    low, high = 2, max(2, *lengths)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(middle, each) for each in lengths) <= most else (low, middle - 1)
    return low


def _set_heights(dots: Dots) -> None:
    """Sort each column by the mean height of its neighbours; columns are centred."""
    columns: list[list[int]] = [[] for _ in range(1 + max(dots.columns, default=0))]
    before: list[list[int]] = [[] for _ in dots.states]
    after: list[list[int]] = [[] for _ in dots.states]
    for dot, number in enumerate(dots.columns):
        columns[number].append(dot)
    for one, other in dots.links:
        before[other].append(one)
        after[one].append(other)
    dots.heights = [0.0] * len(dots.states)
    for column in columns:
        _stack(column, dots.heights)
    for sweep in range(SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for column in columns if sweep % 2 == 0 else reversed(columns):
            column.sort(key=lambda dot: _mean([dots.heights[each] for each in neighbours[dot]], dots.heights[dot]))
            _stack(column, dots.heights)


def _mean(heights: Sequence[float], otherwise: float) -> float:
    return sum(heights) / len(heights) if heights else otherwise


def _stack(column: Sequence[int], heights: list[float]) -> None:
    for place, dot in enumerate(column):
        heights[dot] = place - (len(column) - 1) / 2
