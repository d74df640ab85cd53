"""Everything in the paper that has a name or a number: rules, figures, definitions, lemmas, functions, operators.

Names only. `docs/paper-map.md` says where each has its home and which test shows it; `tests/test_paper_map.py` keeps
that true; `tests/conftest.py` reports how often each rule was used.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    kind: str
    name: str
    place: str

    @property
    def is_rule(self) -> bool:
        return self.kind in ("small step", "typing rule")

    @property
    def test(self) -> str:
        """What the test of a rule is called."""
        return "test_" + self.name.replace("-", "_")


def _items(kind: str, place: str, names: str) -> tuple[Item, ...]:
    return tuple(Item(kind, name.strip(), place) for name in names.split(","))


SMALL_STEPS = (
    *_items("small step", "§4, figure 6", "sequence-left, sequence-right, par-left, par-right, operator"),
    *_items("small step", "§5.4, figure 12", "nest-first, nest-first-fixed, nest-run-graph, nest-run-step"),
    *_items("small step", "§5.4, figure 12", "nest-run-fixed, read-defer-emit"),
    *_items("small step", "§6.1, figure 14", "map, map-terminator, fold, fold-terminator"),
    *_items("small step", "§6.1, figure 15", "window-first, window, window-emit"),
    *_items("small step", "§6.2, figure 17", "fold-lattice, fold-lattice-terminated"),
    *_items("small step", "§6.2, figure 18", "lvar-threshold, lvar-threshold-terminated"),
    *_items("small step", "§6.3, figure 20", "map-zset, map-zset-terminated"),
    *_items("small step", "§6.3, figure 21", "join-zset, join-zset-terminated"),
)

TYPING_RULES = (
    *_items("typing rule", "§3.3, figure 2", "reflexive-subtype, bound-subtype"),
    *_items("typing rule", "§4, figure 5; §5.3, figure 10", "sequence, par, operator"),
    *_items("typing rule", "§5.3, figure 10", "read-defer-value-type, read-defer-no-value-type, write-defer-type"),
    *_items("typing rule", "§5.3, figure 10", "nest-type, nest-with-copy-type"),
    *_items("typing rule", "§6.1, figure 14", "map-type, fold-type"),
    *_items("typing rule", "§6.1, figure 15", "window-type"),
    *_items("typing rule", "§6.2, figure 17", "fold-lattice-type"),
    *_items("typing rule", "§6.2, figure 18", "lvar-threshold-type"),
)

DEFINITIONS = (
    *_items("definition", "§3.5", "Eager Execution of operators"),
    *_items("definition", "§3.6", "Output Maximality, Streaming Progress"),
    *_items("definition", "§4.2", "Determinism, Eager Execution of graphs"),
)

LEMMAS = (
    *_items("lemma", "§3.4", "Operator Stuck State"),
    *_items("lemma", "§4", "Graph Preservation"),
    *_items("lemma", "§4.1", "Graph Stuck State"),
    *_items("lemma", "§4.2", "Determinism and Eager Execution of graphs"),
    *_items("lemma", "§4.3", "Streaming Progress for Graphs"),
    *_items("lemma", "§5.5", "well-formedness of nest, preservation of nest, determinism of nest"),
    *_items("lemma", "§5.5", "eager execution of nest, streaming progress of nest"),
)

FIGURES = tuple(
    Item("figure", name, f"{section}, figure {number}")
    for number, (name, section) in enumerate(
        (
            ("the event loop", "§3.1"),
            ("stream types and subtyping", "§3.3"),
            ("a dataflow graph and its decomposition", "§4"),
            ("the grammar for graphs", "§4"),
            ("type semantics for graphs", "§4"),
            ("small-step semantics for graphs", "§4"),
            ("ordered sequence of streams", "§5.1"),
            ("reachability within a fixed radius", "§5.2"),
            ("reachability with a dynamic radius", "§5.2"),
            ("type semantics with defer contexts", "§5.3"),
            ("visualization of nest and defer", "§5.4"),
            ("small-step semantics for nest", "§5.4"),
            ("ordered sequences", "§6.1"),
            ("Flink operators", "§6.1"),
            ("the window operator", "§6.1"),
            ("LVars", "§6.2"),
            ("the fold_lattice operator", "§6.2"),
            ("the threshold operator", "§6.2"),
            ("z-sets", "§6.3"),
            ("the map operator on z-sets", "§6.3"),
            ("the join operator on z-sets", "§6.3"),
        ),
        start=1,
    )
)

NOTIONS = (
    *_items("notion", "§3.2", "collection language L^C, concatenation ++, empty delta ∅, fix, fixed"),
    *_items("notion", "§3.2", "lifting ⟦·⟧, lowering ⌊·⌋, collection type, typing function type^C"),
    *_items("notion", "§3.2", "first condition on L^C: ⟦e⟧ ∈ type(e) and ⌊⟦e⟧⌋ = e"),
    *_items("notion", "§3.2", "second condition on L^C: fixed(fix(c)) and c ++ ∅ = c"),
    *_items("notion", "§3.2", "third condition on L^C: types are closed under ++"),
    *_items("notion", "§3.3", "boundedness flag"),
    *_items("notion", "§3.4", "operator language L^O, small step →δ, partial order ≺, stuck state"),
    *_items("notion", "§3.4", "step with outputs →^O, typing of configurations ⊢^→"),
    *_items("notion", "§3.4", "condition on L^O: ≺ is finite and downwards-closed"),
    *_items("notion", "§3.4", "condition on L^O: →^O is confluent, condition on L^O: types are preserved"),
    *_items("notion", "§3.4", "condition on L^O: steps go down in ≺"),
    *_items("notion", "§4", "graph language L^G, inputs, setinput, small step →Δ, step with outputs →"),
    *_items("notion", "§5.3", "defer contexts R and W"),
    *_items("notion", "§5.4", "collect_defer, set_defer"),
)

OPERATORS = (
    *_items("operator", "§2.2", "batch"),
    *_items("operator", "§2.3", "scan, sum_lattice, event_when_above"),
    *_items("operator", "§4", "filter"),
    *_items("operator", "§5.2", "join, tee, repeat_nested, zip, last, nest_once, union"),
    *_items("operator", "§5.2, §5.3", "nest, read_defer, write_defer"),
    *_items("operator", "§6.1", "map, fold, window"),
    *_items("operator", "§6.2", "fold_lattice, thresh, to_sequence"),
    *_items("operator", "§6.3", "map on z-sets, natural join ⋈"),
)

RULES = SMALL_STEPS + TYPING_RULES
ITEMS = RULES + DEFINITIONS + LEMMAS + FIGURES + NOTIONS + OPERATORS
