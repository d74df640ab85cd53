"""Graphs as text in the paper's notation, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flo.core.errors import FloError, NotationError, TypeMismatch, UnknownNameError
from flo.core.graph import (
    Node,
    Parallel,
    Sequential,
    inputs,
    names,
    node,
    parallel,
    parse,
    sequence,
    setinput,
    show,
    text,
)
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.operator import concat_all
from flo.core.semantics import small_steps
from flo.core.structural import Source, Wire, identity
from flo.core.term import Lifting, Lowering
from flo.core.typing import derive, initial
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.pairs import Zip
from flo.values.operators.sequences import Fold, Scan, Take
from flo.values.sequence import Sequence
from flo.values.weighted import Bag
from tests.core.graphs import INTS, RUNNING_TOTAL, add, even, increment, programs, unbounded
from tests.harness import refusal
from tests.quick import tried

SUPPLIED = {"f": increment, "g": even}
F, G = Node(None, Map(increment)), Node(None, Filter(even))


def round_trip(graph):
    return parse(show(graph), names(graph))


@given(programs(), st.randoms(use_true_random=False))
@tried(24)
def test_random_graphs_come_back(example, random):
    """Elided, typed, and in the middle of a run."""
    graph, types, chunks = example
    assert parse(show(graph), names(graph)) == graph
    state, _ = initial(graph, types)
    assert round_trip(state) == state
    for deltas in chunks:
        state = setinput(state, concat_all(inputs(state), deltas))
        for _ in range(3):
            steps = list(small_steps(state))
            if steps:
                state = random.choice(steps).graph
        assert round_trip(state) == state
    elided = parse(show(state, states=False), names(state))
    assert show(elided) == show(elided, states=False)


def test_elided_graphs_come_back_through_terms():
    graph = Sequential(F, Parallel(G, node(Take(2), INTS.value([1]))))
    lowering = Lowering()
    assert Lifting(lowering.names)(lowering(graph)) == graph


def test_the_grammar_for_graphs():
    assert parse("{_}[map(f)]", SUPPLIED) == F
    assert parse("{_}[map(f)]; {_}[filter(g)]", SUPPLIED) == Sequential(F, G)
    assert parse("{_}[map(f)] | {_}[filter(g)]", SUPPLIED) == Parallel(F, G)
    assert parse("{[]}[map(f)]", SUPPLIED) == node(Map(increment), INTS.bottom())
    assert parse("{}[source(c, [⊗, 2, 1])]", {"c": INTS}) == Node((), Source(INTS, INTS.value([1, 2]).fix()))
    assert parse("{[], [2, 1]}[zip]") == node(Zip(), INTS.bottom(), INTS.value([1, 2]))


def test_the_newest_element_is_on_the_left():
    assert str(node(Take(3), INTS.value([1, 2, 3]))) == "{[3, 2, 1]}[take(3)]"
    assert str(node(Take(3), INTS.value([1]).fix())) == "{[⊗, 1]}[take(3)]"
    assert str(node(Take(3), INTS.value([]).fix())) == "{[⊗]}[take(3)]"
    assert str(node(Take(3), INTS.value([]).fix().passed())) == "{⊗}[take(3)]"


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        ("A; B; C", "(A; B); C"),
        ("A | B | C", "(A | B) | C"),
        ("A | B; C", "(A | B); C"),
        ("A; B | C", "A; (B | C)"),
        ("A | B; C | D", "(A | B); (C | D)"),
        ("((A))", "A"),
        (" A\n;\tB ", "A;B"),
    ],
)
def test_precedence(shown, meant):
    """`|` binds tighter than `;`, and both group to the left."""
    operators = {letter: f"{{_}}[take({number})]" for number, letter in enumerate("ABCD")}

    def read(pattern):
        return parse("".join(operators.get(letter, letter) for letter in pattern))

    assert read(shown) == read(meant)


def test_parentheses_where_composition_is_mixed():
    a, b, c = (Node(None, Take(number)) for number in range(3))
    shown = {
        "A; B; C": sequence(a, b, c),
        "A; (B; C)": Sequential(a, Sequential(b, c)),
        "A | B | C": parallel(a, b, c),
        "A | (B | C)": Parallel(a, Parallel(b, c)),
        "(A | B); C": Sequential(Parallel(a, b), c),
        "A; (B | C)": Sequential(a, Parallel(b, c)),
        "(A; B) | C": Parallel(Sequential(a, b), c),
        "A | (B; C)": Parallel(a, Sequential(b, c)),
    }
    for pattern, graph in shown.items():
        expected = "".join({"A": str(a), "B": str(b), "C": str(c)}.get(letter, letter) for letter in pattern)
        assert str(graph) == expected
        assert parse(expected) == graph


PAPER = """
(
  (
    (({_} map); ({_} scan)) |
    ({_} filter));
  ({_} join));
(({_} map) | ({_} map))
"""


def test_dataflow_graph_of_the_paper():
    """The figure "a dataflow graph and its decomposition", as it is printed, with the operators that it names."""
    supplied = {"map": Map(increment), "scan": Scan(0, add), "filter": Filter(even), "join": Wire(2, (1, 0))}
    graph = parse(PAPER, supplied)
    expected = Sequential(
        Sequential(
            Parallel(Sequential(F, Node(None, Scan(0, add))), G),
            Node(None, Wire(2, (1, 0))),
        ),
        Parallel(F, F),
    )
    assert graph == expected
    assert graph.arity == (2, 2)
    types = (unbounded(INTS), unbounded(INTS))
    assert derive(graph, types).outputs == types
    assert round_trip(graph) == graph


def test_equal_types_have_one_name():
    """Each `tuple[int, str]` is an object of its own."""
    lowering = Lowering()
    assert lowering(tuple[int, str]) == lowering(tuple[int, str]) != lowering(tuple[int, int])
    assert list(lowering.names.values()) == [tuple[int, str], tuple[int, int]]


def test_a_type_whose_annotation_cannot_be_hashed_has_a_name():
    lowering, kind = Lowering(), tuple[Annotated[int, ["positive"]], str]
    assert lowering(kind) == lowering(kind)
    assert list(lowering.names.values()) == [kind]


def test_elision():
    graph = node(Map(increment), INTS.value([1, 2]))
    assert show(graph, states=False) == "{_}[map(increment)]"
    read = parse(show(graph, states=False), names(graph))
    assert read == F
    typed, _ = initial(read, (unbounded(INTS),))
    assert typed == node(Map(increment), INTS.bottom())


def test_graphs_inside_operators():
    nest, _ = initial(Node(None, Nest(RUNNING_TOTAL)), (unbounded(Nested(INTS)),))
    assert "nest(⟨" in str(nest)
    assert round_trip(nest) == nest
    begun = setinput(nest, (Nested(INTS).value([[1], [2]]),))
    for _ in range(4):
        begun = next(small_steps(begun)).graph
        assert round_trip(begun) == begun


@dataclass(frozen=True)
class Row:
    text: str
    parts: tuple[float, ...]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -5,
        2**300,
        -(10**5000),
        1e-7,
        1e22,
        -0.0,
        math.inf,
        -math.inf,
        "it's",
        'a "quote"',
        "both ' and \"",
        "new\nline \\ {_}[map] ⊗ ⟨",
        "\ud800",
        (),
        (1,),
        ("a", (None, (True,))),
        [1, [2]],
        {"k": (1, 2)},
        frozenset({1, "a"}),
        b"bytes",
        Row("x", (1.5, -2.0)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_elements_come_back(value):
    graph = node(Fold(value, add), Sequence().value([value, value]))
    assert round_trip(graph) == graph


def test_nan_comes_back():
    graph = round_trip(node(Take(1), Sequence().value([math.nan])))
    assert math.isnan(inputs(graph)[0].elements[0])


def test_maps_and_bags():
    graph = node(Map(increment), Bag(str).value(["a", "b", "a"]))
    assert round_trip(graph) == graph


def test_functions_whose_names_mean_something_else():
    def named(name):
        def function(x):
            return x

        function.__name__ = name
        return function

    for name in ("map", "sequence", "inf", "nan", "None_", "_True", "_", "__", "_1", "λ", "f", "⊗", "two words"):
        one, other = named(name), named(name)
        graph = Sequential(Node(None, Map(one)), Node(None, Map(other)))
        back = round_trip(graph)
        assert (back.left.operator.f, back.right.operator.f) == (one, other), name


def error_of(source):
    error = refusal(parse, source, SUPPLIED)
    assert isinstance(error, NotationError), error
    return error


@pytest.mark.parametrize(
    ("source", "expected", "column"),
    [
        ("", "'{', found 'the end'", 0),
        ("   ", "'{', found 'the end'", 3),
        ("{_}[map(f)] ;", "'{', found 'the end'", 13),
        ("{_}[map(f)] ; )", "'{', found ')'", 14),
        ("{_}[map(f)] {_}[map(f)]", "the end of the text, found '{'", 12),
        ("({_}[map(f)]", "')', found 'the end'", 12),
        ("{_}[map(f)", "']', found 'the end'", 10),
        ("{_}[map(f", "')', found 'the end'", 9),
        ("{_}[]", "an operator, found ']'", 4),
        ("{_}[7]", "an operator, found '7'", 4),
        ("{[1, 2}[take(1)]", "']', found '}'", 6),
        ("{[1 2]}[take(1)]", "']', found '2'", 4),
        ("{_}[take(;)]", "a value, found ';'", 9),
        ("map(f)", "'{', found 'map'", 0),
        ("{_}[map(f)] | ", "'{', found 'the end'", 14),
        ("{_}[map(f)] & {_}[map(f)]", "a token", 11),
        ("{_}[take('a)]", "a token", 9),
    ],
)
def test_errors_show_the_place(source, expected, column):
    error = error_of(source)
    assert f"expected {expected}" in str(error)
    facts = dict(error.facts)
    assert facts["text"] == source
    assert facts[""] == " " * column + "^"


def test_errors_in_a_later_line_show_that_line():
    error = error_of("{_}[map(f)];\n  {_}[map(]\n")
    assert dict(error.facts)["text"] == "  {_}[map(]"
    assert dict(error.facts)[""] == " " * 10 + "^"
    error = error_of("{_}[map(f)];\n")
    assert dict(error.facts)["text"] == ""


def test_what_reads_well_and_means_nothing():
    assert "no expression is called `fould`" in str(refusal(parse, "{_}[fould(1)]"))
    error = refusal(parse, "{_}[map(h)]", SUPPLIED)
    assert isinstance(error, UnknownNameError)
    assert "supplies no `h`" in str(error)
    assert isinstance(refusal(parse, "{_}[map(f, f)]", SUPPLIED), NotationError)
    assert isinstance(refusal(parse, "{_}[map]"), NotationError)
    assert "is not an operator" in str(refusal(parse, "{_}[list((1, 2))]"))
    assert "holds 5, which is not a collection value" in str(refusal(parse, "{5}[take(1)]"))
    assert isinstance(refusal(parse, "{⟨{_}[take(1)]⟩}[take(1)]"), TypeMismatch)


@given(st.text(alphabet="{}[]()|;,_⊗⟨⟩:'1af \n", max_size=30))
@example("{'\n'")
@example("{01}[take(1)]")
@tried(24)
def test_any_text_is_read_or_refused(source):
    try:
        graph = parse(source, SUPPLIED)
    except FloError:
        return
    assert round_trip(graph) == graph


def test_terms_as_text():
    assert text((1, "a", None)) == "(1, 'a', None)"
    assert show(Node(None, identity())) == "{_}[id]"
    assert show(Node(None, Wire(3, (2, 0)))) == "{_}[wire(3, (2, 0))]"
    assert show(Node(None, Wire(1, (0, 0)))) == "{_}[tee]"
