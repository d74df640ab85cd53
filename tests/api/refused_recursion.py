"""Wrong programs with recursion: bodies without a meaning, and relations of other types. Texts are in tests/golden."""

from __future__ import annotations

# mypy: ignore-errors
# pyright: basic, reportAttributeAccessIssue=false
from typing import NamedTuple

import narwhals as nw

import flo


class Edge(NamedTuple):
    src: str
    dst: str


class Path(NamedTuple):
    src: str
    dst: str
    length: int


def _edges():
    flow = flo.Flow("recursion")
    return flow, flow.input("edges", flo.ZSet[Edge])


def _further(reach, edges):
    return reach.join(edges, on="dst", other_on="src").select(src="src", dst="dst_right")


def fixpoint_that_ignores_its_argument():
    _, edges = _edges()
    edges.fixpoint(lambda reach, edges: edges.filter(nw.col("src") != "a"))


def fixpoint_of_another_type():
    _, edges = _edges()
    edges.fixpoint(lambda reach, edges: edges.union(_further(reach, edges)).with_columns(length=nw.lit(1)))


def fixpoint_with_a_column_of_another_type():
    _, edges = _edges()
    edges.fixpoint(lambda paths, edges: edges.with_columns(length=nw.lit("one")).union(paths), of=flo.ZSet[Path])


def fixpoint_of_a_bag():
    flow = flo.Flow("recursion")
    edges = flow.input("edges", flo.Bag[Edge])
    edges.fixpoint(lambda reach, edges: edges.union(reach))


def fixpoint_of_relations_that_are_sets():
    flow, edges = _edges()
    flow.fixpoint(reach=flo.Set[Edge], body=lambda reach: edges.union(reach))


def fixpoint_without_relations():
    flow, edges = _edges()
    flow.fixpoint(body=lambda: edges)


def fixpoint_with_a_sequence():
    _, edges = _edges()
    edges.fixpoint(lambda reach, edges: edges.union(reach.to_bag().sort().to_zset()))


def fixpoint_with_a_program_for_each_key():
    _, edges = _edges()
    edges.fixpoint(
        lambda reach, edges: edges.union(
            reach.key_by("src").per_key(lambda rows: rows.distinct()).entries().map(lambda e: e[1])
        )
    )


def fixpoint_in_a_fixpoint():
    _, edges = _edges()
    edges.fixpoint(lambda reach, edges: reach.fixpoint(lambda inner: edges.union(inner).union(reach)))


def fixpoint_of_the_flow_in_a_fixpoint():
    flow, edges = _edges()

    def body(reach):
        return flow.fixpoint(inner=flo.ZSet[Edge], body=lambda inner: edges.union(inner).union(reach))

    edges.fixpoint(body)


def fixpoint_of_a_body_without_arguments():
    _, edges = _edges()
    edges.fixpoint(lambda: edges)


def fixpoint_of_a_body_with_too_many_arguments():
    _, edges = _edges()
    edges.fixpoint(lambda reach, edges, more: edges.union(reach))


def fixpoint_of_a_relation_without_an_argument():
    flow, edges = _edges()
    flow.fixpoint(one=flo.ZSet[Edge], other=flo.ZSet[Edge], body=lambda one: edges.union(one))


def fixpoint_that_returns_too_few_relations():
    flow, edges = _edges()
    flow.fixpoint(one=flo.ZSet[Edge], other=flo.ZSet[Edge], body=lambda one, other: edges.union(one).union(other))


def fixpoint_of_no_rounds():
    _, edges = _edges()
    edges.fixpoint(lambda reach, edges: edges.union(reach), most_rounds=0)


def fixpoint_that_does_not_end_in_one_round():
    flow, edges = _edges()
    flow.output("reach", edges.fixpoint(lambda reach, edges: edges.union(_further(reach, edges)), most_rounds=1))
    flow.run(edges=[Edge("a", "b"), Edge("b", "c")])


def fixpoint_that_does_not_end():
    flow = flo.Flow("recursion")
    paths = flow.input("paths", flo.ZSet[Path])

    def longer(all_paths, paths):
        further = all_paths.join(paths, on="dst", other_on="src")
        return paths.union(further.select(src="src", dst="dst_right", length=nw.col("length") + nw.col("length_right")))

    flow.output("paths", paths.fixpoint(longer, most_rounds=50))
    flow.run(paths=[Path("a", "b", 1), Path("b", "a", 1)])
