"""The laws of the paper as data: name, section, statement and advice for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Law:
    """`statement` is what holds of everything legal; `instead` is what to do where it does not."""

    name: str
    paper: str
    statement: str
    instead: str = ""

    def __str__(self) -> str:
        return self.name


FIX_FIXES = Law("fix fixes", "§3.2", "fixed(fix(c)), and fix leaves a fixed value as it is")
RIGHT_IDENTITY = Law("the empty delta is a right identity", "§3.2", "c ++ ∅ = c")
CLOSURE = Law("types are closed under ++", "§3.2", "c ∈ τ and d ∈ τ give c ++ d ∈ τ")
LIFTING = Law("lifting inverts lowering", "§3.2", "⟦⌊c⌋⟧ = c")
ABSORPTION = Law("a fixed value absorbs every delta", "§3.2", "fixed(c) if and only if c ++ d = c for every d")

COLLECTION_LAWS = (FIX_FIXES, RIGHT_IDENTITY, CLOSURE, LIFTING, ABSORPTION)

A_FUNCTION = Law(
    "one result",
    "§3.4",
    "the same arguments give the same result",
    "use nothing random, no clock and no global state: put such values into the elements",
)
COMMUTATIVE = Law(
    "commutative",
    "§6",
    "f(f(a, x), y) = f(f(a, y), x)",
    "sort first, or use a function that ignores the order: a sum, a maximum, a union",
)
ASSOCIATIVE = Law(
    "associative",
    "§6.2",
    "f(f(a, b), c) = f(a, f(b, c))",
    "keep parts that can be combined, such as a sum and a count instead of a mean",
)
IDEMPOTENT = Law(
    "idempotent", "§6.2", "f(f(a, x), x) = f(a, x)", "a function that ignores repetition: a maximum or a union"
)
MONOTONE = Law(
    "monotone", "§6.2", "a ⊑ b gives f(a) ⊑ f(b)", "a function that only grows with its argument, or a bounded input"
)
ADDITIVE = Law("additive", "§6.3", "f(…, v + w) = f(…, v) + f(…, w)", "lambda element, weight: weight * n")
INVERSE = Law("inverse", "§6.3", "g(f(a, x), x) = a", "a function that subtracts exactly what the other has added")

FUNCTION_LAWS = (A_FUNCTION, COMMUTATIVE, ASSOCIATIVE, IDEMPOTENT, MONOTONE, ADDITIVE, INVERSE)

JOIN_ASSOCIATIVE = Law("the join is associative", "§6.2", "(a ⊔ b) ⊔ c = a ⊔ (b ⊔ c)")
JOIN_COMMUTATIVE = Law(
    "the join is commutative", "§6.2", "a ⊔ b = b ⊔ a", "a join that ignores the order, such as max or union"
)
JOIN_IDEMPOTENT = Law(
    "the join is idempotent",
    "§6.2",
    "a ⊔ a = a",
    "a join that ignores repetition, such as max; flo.GCounter counts",
)
BOTTOM_IS_LEAST = Law("⊥ is the identity", "§6.2", "⊥ ⊔ a = a")

LATTICE_LAWS = (BOTTOM_IS_LEAST, JOIN_IDEMPOTENT, JOIN_COMMUTATIVE, JOIN_ASSOCIATIVE)

PRESERVATION = Law(
    "preservation",
    "§3.4",
    "a step leaves inputs, operator and outputs in their types",
    "emit values of the type that `type` gives",
)
MEASURE = Law(
    "the measure falls",
    "§3.4",
    "every step lowers `measure`",
    "consume something of the input at each step, or define a `measure` that falls",
)
STUCK_STATE = Law(
    "stuck state",
    "Lemma 3.1",
    "after finitely many steps none is enabled",
    "give every rule a premise that its own step makes false",
)
CONFLUENCE = Law(
    "confluence",
    "§3.4",
    "whichever steps are taken, one stuck state is reached",
    "make the rules exclude each other, or make their order irrelevant",
)
EAGER_EXECUTION = Law(
    "eager execution",
    "Definition 3.1",
    "the stuck state does not depend on when data arrives",
    "emit only results that later data cannot change (a threshold, the end of a bounded input), or retract them later",
)
OUTPUT_MAXIMALITY = Law(
    "streaming progress: outputs are maximal",
    "Definitions 3.2 and 3.3",
    "fixing the unbounded inputs changes nothing but that the outputs are fixed",
    "do not wait for the end of an unbounded input: take a bounded one, or emit as you go",
)
BOUNDED_OUTPUTS = Law(
    "streaming progress: bounded outputs are fixed",
    "Definition 3.3",
    "when the bounded inputs have ended, so have the bounded outputs",
    "pass the end on",
)
CHECKPOINT = Law(
    "checkpoint",
    "§3.2",
    "an operator that is restored from a checkpoint equals the saved one, and continues as it would have",
    "keep the state in the fields, as data: numbers, texts, tuples, values of collections",
)
ADVANCE = Law(
    "advance",
    "§3.1",
    "`advance` reaches the stuck state that the steps reach",
    "leave `advance` out, and the steps are taken one by one",
)

OPERATOR_LAWS = (
    PRESERVATION,
    MEASURE,
    STUCK_STATE,
    CONFLUENCE,
    EAGER_EXECUTION,
    OUTPUT_MAXIMALITY,
    BOUNDED_OUTPUTS,
    ADVANCE,
    CHECKPOINT,
)

GRAPH_PRESERVATION = Law("graph preservation", "Lemma 4.1", "a step leaves the graph and its outputs in their types")
GRAPH_STUCK_STATE = Law("graph stuck state", "Lemma 4.2", "after finitely many steps none is enabled")
DETERMINISM = Law(
    "determinism",
    "Definition 4.1",
    "whichever operator steps first, one stuck state is reached",
    "check each operator: one of them races",
)
GRAPH_EAGER_EXECUTION = Law(
    "eager execution of graphs",
    "Definition 4.2",
    "the stuck state does not depend on when data arrives",
    EAGER_EXECUTION.instead,
)
GRAPH_PROGRESS = Law(
    "streaming progress of graphs",
    "Lemma 4.4",
    "bounded outputs are fixed, and the end of the unbounded inputs changes nothing but that the outputs are fixed",
    OUTPUT_MAXIMALITY.instead,
)

GRAPH_LAWS = (GRAPH_PRESERVATION, GRAPH_STUCK_STATE, DETERMINISM, GRAPH_EAGER_EXECUTION, GRAPH_PROGRESS, ADVANCE)
