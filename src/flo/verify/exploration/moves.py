"""What leads from one state of a program to the next, by name and for people."""

from __future__ import annotations

from dataclasses import dataclass

from flo.core.collection import Value
from flo.core.semantics import GraphStep
from flo.verify.exploration.shown import shown

GRAPH_RULES = frozenset({"operator", "sequence-left", "sequence-right", "par-left", "par-right"})


@dataclass(frozen=True, slots=True)
class Move:
    """What led from one state to the next: a small step, or the arrival of a delta."""

    name: str
    """As a trace calls it: the operator's rule, or the input."""
    text: str
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass
class Broken(Exception):
    """A step breaks a law that binds every single step."""

    role: str
    reason: str
    move: Move
    results: tuple[str, ...] = ()


def step_move(step: GraphStep, path: tuple[str, ...] = ()) -> Move:
    """The move that takes this step; `path` leads to the operator that takes it."""
    shown = " › ".join(rule for rule in step.path if rule not in GRAPH_RULES)
    return Move(step.rule, shown, (*path, *step.path))


def arrival(name: str, delta: Value, is_end: bool) -> Move:
    """The move by which a delta arrives on the input of this name; inputs of operators are numbered."""
    known = "_".join(name.split())
    people = f"input {name}" if name.isdigit() else name
    if is_end:
        return Move(f"{known}⊗", f"{people} ends")
    return Move(known, f"{people} ← {shown(delta)}")
