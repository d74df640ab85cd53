"""The recursive examples, after each of their changes and after random ones, against networkx."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import networkx as nx
import pytest

import flo
from examples import access_rights, bill_of_materials, reachable_services, shortest_paths
from tests.quick import times
from tests.recursion.programs import Rows, add
from tests.recursion.test_random_graphs import rows_in

There = dict[str, Counter[Any]]


def reached(graph: Any, starts: Iterator[str]) -> set[str]:
    found = set(starts)
    return found.union(*(nx.descendants(graph, start) for start in found if start in graph))


def down(there: There) -> dict[str, Rows]:
    failed = (service.name for service in there["failed"])
    return {"down": {(name,) for name in reached(nx.DiGraph(list(there["calls"])), failed)}}


def best(there: There) -> dict[str, Rows]:
    graph = nx.DiGraph()
    for src, dst, km in sorted(there["roads"], key=lambda road: -road.km):
        graph.add_edge(src, dst, weight=km)
    depots = {town.name for town in there["depots"]}
    graph.add_nodes_from(depots)
    return {"best": set(nx.multi_source_dijkstra_path_length(graph, depots).items()) if depots else set()}


def needs(there: There) -> dict[str, Rows]:
    """One path after the other; an edge is there as often as its row."""
    graph = nx.MultiDiGraph()
    for (product, part, count), times_there in there["uses"].items():
        for _ in range(times_there):
            graph.add_edge(product, part, count=count)
    counts: Counter[tuple[str, str]] = Counter()
    for product in graph:
        for part in nx.descendants(graph, product):
            for path in nx.all_simple_edge_paths(graph, product, part):
                number = 1
                for edge in path:
                    number *= graph.edges[edge]["count"]
                counts[product, part] += number
    costs: Counter[str] = Counter()
    for (product, part), count in counts.items():
        for price, times_there in there["prices"].items():
            if price.part == part:
                costs[product] += count * price.cents * times_there
    return {"needs": {(*pair, count) for pair, count in counts.items()}, "costs": set(costs.items())}


def may(there: There) -> dict[str, Rows]:
    graph = nx.DiGraph(list(there["members"]))
    graph.add_nodes_from(user.name for user in there["users"])
    found = {
        (user.name, right.document)
        for user in there["users"]
        for right in there["grants"]
        if right.name in nx.descendants(graph, user.name)
    }
    return {"may": found - set(map(tuple, there["denied"]))}


EXAMPLES: dict[str, tuple[ModuleType, Callable[[There], dict[str, Rows]]]] = {
    "reachable_services": (reachable_services, down),
    "shortest_paths": (shortest_paths, best),
    "bill_of_materials": (bill_of_materials, needs),
    "access_rights": (access_rights, may),
}


def deltas(changes: Any, seed: int) -> Iterator[dict[str, Counter[Any]]]:
    """The changes of an example, and then some of its rows that come or go."""
    every: dict[str, set[Any]] = {}
    there: There = {}
    for _, given in changes:
        delta = {name: Counter(rows) for name, rows in given.items()}
        for name, rows in delta.items():
            every.setdefault(name, set()).update(rows)
            there[name] = add(there.get(name, Counter()), rows)
        yield delta
    rng = random.Random(seed)
    for _ in range(8):
        name = rng.choice(sorted(every))
        row = rng.choice(sorted(every[name]))
        delta = {name: Counter({row: -1 if there[name][row] else 1})}
        there[name] = add(there[name], delta[name])
        yield delta


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.every(test=2)
def test_an_example_follows_changes(name: str) -> None:
    module, expect = EXAMPLES[name]
    flow: flo.Flow = getattr(module, name)()
    for seed in range(times(3)):
        loop = flow.on(flo.here).loop()
        there: There = {stream.name: Counter() for stream in flow._scope.inputs}
        for delta in deltas(module.CHANGES, seed):
            loop.push(**{each: dict(rows) for each, rows in delta.items()})
            there |= {each: add(there[each], rows) for each, rows in delta.items()}
            found, wanted = loop.result(), expect(there)
            assert {output: rows_in(found[output]) for output in wanted} == wanted
