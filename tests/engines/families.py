"""Families of verb programs: what a program gets, delta by delta, and the results that it must have on every engine.

Results are written by hand. On values and on tables a program runs alone; in tasks and on Spark, where a query costs
more than its programs, many run side by side in one flow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import flo
from tests.engines.engine import Data, Engine, add_deltas, comparable
from tests.quick import is_thorough

Build = Callable[["Program"], None]


class Inputs:
    """The inputs of a flow and their deltas. Programs that ask for the same data share an input."""

    def __init__(self, flow: flo.Flow) -> None:
        self.flow = flow
        self.deltas: dict[str, tuple[Any, ...]] = {}
        self._known: dict[Any, Any] = {}

    def get(self, collection: Any, deltas: tuple[Any, ...], bounded: bool) -> Any:
        asked = collection, repr(deltas), bounded
        if asked not in self._known:
            name = f"input {len(self.deltas)}"
            self.deltas[name] = deltas
            self._known[asked] = self.flow.input(name, collection, bounded=bounded)
        return self._known[asked]

    def align(self) -> list[Data]:
        """What all inputs get in each micro-batch; those with fewer deltas get nothing in the last ones."""
        count = max((len(deltas) for deltas in self.deltas.values()), default=1)
        return [
            {
                name: deltas[number] if number < len(deltas) else type(deltas[0])()
                for name, deltas in self.deltas.items()
            }
            for number in range(count)
        ]


class Program:
    """A part of a flow, and the results of its outputs."""

    def __init__(self, inputs: Inputs, name: str) -> None:
        self.flow, self.inputs, self.name = inputs.flow, inputs, name
        self.expected: dict[str, tuple[Any, ...]] = {}

    def input(self, collection: Any, *deltas: Any, bounded: bool = False) -> Any:
        """An input that gets these deltas, one in each micro-batch."""
        return self.inputs.get(collection, deltas, bounded)

    def expect(self, stream: Any, *results: Any) -> None:
        """The final result of a stream, or its result after each delta. Bounded inputs end after the last."""
        name = f"{self.name} output {len(self.expected)}"
        self.expected[name] = results
        self.flow.output(name, stream)


class Family:
    """Programs of related verbs. Those of the sample run on Spark in `make test`; in `make thorough` all do."""

    collected: ClassVar[list[Family]] = []
    """In this session of pytest."""

    def __init__(self, name: str, *, sample: tuple[str, ...]) -> None:
        self.name, self.sample = name, sample
        self.programs: dict[str, Build] = {}
        self.collected.append(self)

    def program(self, build: Build) -> Build:
        """Add a program, by the name of its function."""
        self.programs[build.__name__] = build
        return build

    def on_every_engine(self, test: Any) -> Any:
        """Make a function of `engine` and `name` a test for each program. Comes after the programs."""
        for mark in (
            pytest.mark.parametrize("name", list(self.programs)),
            pytest.mark.sampled(spark=self.sample),
            pytest.mark.xdist_group(self.name),
        ):
            test = mark(test)
        return test

    def check(self, engine: Engine, name: str) -> None:
        """Compare the results of one program on an engine with those that it must have."""
        if engine.name in ("values", "tables"):
            programs = build_programs({name: self.programs[name]})
            deltas = programs[0].inputs.align()
            compare(programs[0], engine.run_deltas(programs[0].flow, deltas))
            compare(programs[0], engine.run_deltas(programs[0].flow, [add_deltas(deltas)]))
        else:
            compare(*self._results(engine)[name])

    def _results(self, engine: Engine) -> dict[str, tuple[Program, list[Data]]]:
        """The programs and results of one query, which runs when the first of its tests does."""
        is_sample = engine.name == "spark" and not is_thorough()
        builds = {}
        for family in self.collected if is_sample else [self]:
            builds |= {name: family.programs[name] for name in (family.sample if is_sample else family.programs)}
        place = engine.name, *builds
        if place not in _queries:
            programs = build_programs(builds)
            found = engine.run_deltas(programs[0].flow, programs[0].inputs.align())
            _queries[place] = {program.name: (program, found) for program in programs}
        return _queries[place]


_queries: dict[tuple[str, ...], dict[str, tuple[Program, list[Data]]]] = {}


def build_programs(builds: dict[str, Build]) -> list[Program]:
    """Build programs side by side in one flow."""
    inputs, programs = Inputs(flo.Flow("verbs")), []
    for name, build in builds.items():
        programs.append(Program(inputs, name))
        build(programs[-1])
        assert programs[-1].expected, f"{name} expects nothing"
    return programs


def compare(program: Program, found: list[Data]) -> None:
    """Compare with the result after each delta where the engine has them, and with the last one."""
    for name, results in program.expected.items():
        each = list(enumerate(results)) if 1 < len(results) <= len(found) else []
        for number, result in [*each, (len(found) - 1, results[-1])]:
            assert found[number][name] == comparable(result), f"{name}, after delta {number + 1} of {len(found)}"
