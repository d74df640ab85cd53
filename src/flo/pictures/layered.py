"""Layered layout of a directed acyclic graph, after Sugiyama: ranks, orders with few crossings, coordinates.

Links point downwards. A link over several ranks goes through a thin box in each rank between, so that it has a way of
its own: no link runs through a box, and no two boxes overlap.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

BESIDE = 22.0
"""Between two boxes of a rank."""
BELOW, MOST_BELOW = 24.0, 64.0
"""Between two ranks: more where links go far to the side."""
SWEEPS, PLACINGS = 12, 24


@dataclass(eq=False)
class Box:
    """A node: its size, its ports, and its place after the layout. `x` is its middle, `top` its upper edge."""

    width: float
    height: float
    ins: int = 1
    outs: int = 1
    rank: int = 0
    x: float = 0.0
    top: float = 0.0
    is_thin: bool = False
    """Whether it only keeps the way free for a link."""
    is_stream: bool = False
    """Whether links to it have no tip."""

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    def port(self, index: int, count: int) -> float:
        """How far a port is from the middle."""
        return self.width * ((index + 1) / (count + 1) - 0.5)


@dataclass(eq=False)
class Link:
    """An edge from a port of a box to a port of another one, and its corners after the layout."""

    source: Box
    target: Box
    out: int = 0
    into: int = 0
    corners: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """A rank after the layout: where it begins and ends. Between two rows there are only links."""

    top: float
    bottom: float


@dataclass(frozen=True)
class Diagram:
    """The size of the picture and its rows; the boxes and links have got their places."""

    width: float
    height: float
    rows: tuple[Row, ...]


def lay_out(boxes: Sequence[Box], links: Sequence[Link]) -> Diagram:
    """Place the boxes, which are in topological order, and the corners of the links."""
    if not boxes:
        return Diagram(0, 0, ())
    _assign_ranks(boxes, links)
    parts = {link: _cut(link) for link in links}
    short = [part for each in parts.values() for part in each]
    thin = (part.target for each in parts.values() for part in each[:-1])
    ranks: list[list[Box]] = [[] for _ in range(1 + max(box.rank for box in boxes))]
    for box in (*boxes, *thin):
        ranks[box.rank].append(box)
    above, below = _neighbours(short)
    ranks = _reduce_crossings(ranks, above, below)
    _place_across(ranks, above, below)
    rows = _place_down(ranks, below)
    for link, cut in parts.items():
        link.corners = _corners(cut, rows)
    width = max(box.x + box.width / 2 for box in boxes)
    return Diagram(max(width, *(x for link in links for x, _ in link.corners), 0), rows[-1].bottom, tuple(rows))


def _assign_ranks(boxes: Sequence[Box], links: Sequence[Link]) -> None:
    """Put every box below all that it reads; and a chain that begins with an input just above its reader."""
    incoming: dict[Box, list[Box]] = {box: [] for box in boxes}
    outgoing: dict[Box, list[Box]] = {box: [] for box in boxes}
    for link in links:
        incoming[link.target].append(link.source)
        outgoing[link.source].append(link.target)
    from_above: dict[Box, bool] = {}
    for box in boxes:
        sources = incoming[box]
        box.rank = 1 + max((source.rank for source in sources), default=-1)
        only = len(sources) == 1 and from_above[sources[0]] and len(outgoing[sources[0]]) == 1
        from_above[box] = only or not sources
    for box in reversed(boxes):
        if from_above[box] and outgoing[box]:
            box.rank = min(target.rank for target in outgoing[box]) - 1


def _cut(link: Link) -> list[Link]:
    """Cut a link into parts from rank to rank, with thin boxes between."""
    between = [Box(6, 0, rank=rank, is_thin=True) for rank in range(link.source.rank + 1, link.target.rank)]
    chain = [link.source, *between, link.target]
    parts = [Link(one, other) for one, other in pairwise(chain)]
    parts[0].out, parts[-1].into = link.out, link.into
    return parts


def _neighbours(links: Iterable[Link]) -> tuple[dict[Box, list[Link]], dict[Box, list[Link]]]:
    above: dict[Box, list[Link]] = {}
    below: dict[Box, list[Link]] = {}
    for link in links:
        above.setdefault(link.target, []).append(link)
        below.setdefault(link.source, []).append(link)
    return above, below


def _reduce_crossings(
    ranks: list[list[Box]], above: dict[Box, list[Link]], below: dict[Box, list[Link]]
) -> list[list[Box]]:
    """Sort each rank by the mean place of its neighbours, down and up again; return the orders with least crossings."""
    best, least = [list(rank) for rank in ranks], _count_crossings(ranks, below)
    for sweep in range(SWEEPS):
        if not least:
            break
        down = sweep % 2 == 0
        for index in range(1, len(ranks)) if down else range(len(ranks) - 2, -1, -1):
            fixed = {box: place for place, box in enumerate(ranks[index - 1 if down else index + 1])}
            own = {box: place for place, box in enumerate(ranks[index])}
            means = {
                box: _mean_place(box, (above if down else below).get(box, ()), fixed, own[box]) for box in ranks[index]
            }
            ranks[index].sort(key=means.__getitem__)
        crossings = _count_crossings(ranks, below)
        if crossings < least:
            best, least = [list(rank) for rank in ranks], crossings
    return best


def _mean_place(box: Box, links: Sequence[Link], fixed: dict[Box, int], own: int) -> float:
    places = []
    for link in links:
        if link.target is box:
            places.append(fixed[link.source] + (link.out + 1) / (link.source.outs + 1))
        else:
            places.append(fixed[link.target] + (link.into + 1) / (link.target.ins + 1))
    return sum(places) / len(places) if places else own + 0.5


def _count_crossings(ranks: list[list[Box]], below: dict[Box, list[Link]]) -> int:
    total = 0
    for rank, following in pairwise(ranks):
        place = {box: index for index, box in enumerate(following)}
        ends: list[tuple[int, int]] = []
        for box in rank:
            here = sorted(below.get(box, ()), key=lambda link: (link.out, place[link.target], link.into))
            for link in here:
                end = (place[link.target], link.into)
                total += len(ends) - bisect_right(ends, end)
                insort(ends, end)
    return total


def _place_across(ranks: list[list[Box]], above: dict[Box, list[Link]], below: dict[Box, list[Link]]) -> None:
    """Move each rank as near to its neighbours as its order and the widths allow, down and up, until it is calm."""
    for rank in ranks:
        for box, x in zip(rank, _spread([0.0] * len(rank), [1.0] * len(rank), rank), strict=True):
            box.x = x
    for sweep in range(PLACINGS):
        both = sweep >= PLACINGS // 2
        for rank in ranks if sweep % 2 == 0 else reversed(ranks):
            wanted, weights = [], []
            for box in rank:
                ups, downs = above.get(box, ()), below.get(box, ())
                links = (*ups, *downs) if both else ups if sweep % 2 == 0 else downs
                xs = [_wanted_x(box, link) for link in links]
                wanted.append(sum(xs) / len(xs) if xs else box.x)
                straight = box.is_thin and all(link.source.is_thin for link in ups)
                weights.append(8.0 if straight else 1.0 if xs else 0.05)
            for box, x in zip(rank, _spread(wanted, weights, rank), strict=True):
                box.x = x
    for rank in ranks:
        _straighten(rank, above, below)
    leftmost = min(box.left for rank in ranks for box in rank)
    for rank in ranks:
        for box in rank:
            box.x -= leftmost


def _straighten(rank: list[Box], above: dict[Box, list[Link]], below: dict[Box, list[Link]]) -> None:
    """Move the boxes of a chain, where one link leads from box to box, below each other."""
    wanted, weights = [], []
    for box in rank:
        ups = above.get(box, [])
        chained = len(ups) == 1 and len(below[ups[0].source]) == 1
        wanted.append(_wanted_x(box, ups[0]) if chained else box.x)
        weights.append(10.0 if chained else 1.0)
    for box, x in zip(rank, _spread(wanted, weights, rank), strict=True):
        box.x = x


def _wanted_x(box: Box, link: Link) -> float:
    """Where the box would have to be for the link to be vertical."""
    start = link.source.port(link.out, link.source.outs)
    end = link.target.port(link.into, link.target.ins)
    return link.source.x + start - end if link.target is box else link.target.x + end - start


def _spread(wanted: Sequence[float], weights: Sequence[float], rank: Sequence[Box]) -> list[float]:
    """Return the places nearest to the wanted ones (least squares) in which no two boxes of the rank overlap.

    Without the distances between neighbours this is isotonic regression: places that are out of order are pooled.
    """
    distances = [(one.width + other.width) / 2 + BESIDE for one, other in pairwise(rank)]
    offsets = list(accumulate(distances, initial=0.0))
    pools: list[tuple[float, float, int]] = []  # mean, weight, count
    for place, offset, weight in zip(wanted, offsets, weights, strict=False):
        mean, total, count = place - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other, more, others = pools.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + others
        pools.append((mean, total, count))
    means = (mean for mean, _, count in pools for _ in range(count))
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _place_down(ranks: list[list[Box]], below: dict[Box, list[Link]]) -> list[Row]:
    rows, top = [], 0.0
    for rank in ranks:
        height = max((box.height for box in rank), default=0.0)
        for box in rank:
            box.top = top
        rows.append(Row(top, top + height))
        far = max((abs(link.source.x - link.target.x) for box in rank for link in below.get(box, ())), default=0.0)
        top += height + min(MOST_BELOW, max(BELOW, far / 6))
    return rows


def _corners(parts: Sequence[Link], rows: Sequence[Row]) -> list[tuple[float, float]]:
    """The way of a link: straight through rows, so that it meets no box, and askew between them."""
    first, last = parts[0], parts[-1]
    start = first.source.x + first.source.port(first.out, first.source.outs)
    end = last.target.x + last.target.port(last.into, last.target.ins)
    corners = [(start, first.source.top + first.source.height), (start, rows[first.source.rank].bottom)]
    for part in parts[:-1]:
        row = rows[part.target.rank]
        corners += [(part.target.x, row.top), (part.target.x, row.bottom)]
    return [*corners, (end, rows[last.target.rank].top), (end, last.target.top)]
