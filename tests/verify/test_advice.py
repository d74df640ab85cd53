"""What a counterexample advises fits what the operator defines, and what happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import flo
import flo.verify
from flo.core.operator import run
from flo.values.operators.sequences import Take
from flo.values.sequence import Sequence, SequenceValue
from flo.verify import laws
from flo.verify.report import Counterexample
from tests.seeded.arrival import Register
from tests.seeded.sizes import KeepsAFunction, NumbersFromTen


def found(subject: Any, *types: Any, **options: Any) -> Counterexample:
    report = flo.verify.check(subject, *types, **options)
    assert report.counterexample is not None, str(report)
    assert not report.ok
    assert report.counterexample.instead in str(report.counterexample)
    return report.counterexample


@dataclass(frozen=True)
class Passing(flo.Operator):
    """Passes its only input on."""

    name = "advised_passing"

    def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
        return inputs

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        for element, rest in value.units():
            yield flo.Step("passing", (rest,), self.after(), (SequenceValue.of([element]),))
        if value.ending():
            yield from self.end(value)

    def end(self, value: Any) -> Iterator[flo.Step]:
        yield flo.Step("passing-end", (value.passed(),), self, (SequenceValue.terminator(),))

    def after(self) -> flo.Operator:
        return self


@dataclass(frozen=True)
class NoEnd(Passing):
    """Has no rule for the end."""

    name = "advised_no_end"

    def end(self, value: Any) -> Iterator[flo.Step]:
        return iter(())


@dataclass(frozen=True)
class Waits(Passing):
    """Emits nothing before the end."""

    name = "advised_waits"
    kept: tuple[int, ...] = ()

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        for element, rest in value.units():
            yield flo.Step("waits", (rest,), Waits((*self.kept, element)), (None,))
        if value.ending():
            outputs = SequenceValue.of(list(self.kept)).fix()
            yield flo.Step("waits-end", (value.passed(),), Waits(), (outputs,))


@dataclass(frozen=True)
class ManyAtOnce(Passing):
    """Says how many wait, if they are many; no small input shows it, and it has no `advance`."""

    name = "advised_many_at_once"

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        if len(value.elements) > 4:
            yield flo.Step("many", (value.drained(),), self, (SequenceValue.of([len(value.elements)]),))
        else:
            yield from super().steps(inputs)


@dataclass(frozen=True)
class OwnAdvance(Passing):
    """`advance` drops what waits."""

    name = "advised_own_advance"

    def advance(self, inputs: Any) -> Iterator[flo.Step]:
        (value,) = inputs
        if value.elements:
            value = value.drained()
            yield flo.Step("passing", (value,), self, (None,))
        yield from run(self, (value,))


class TakesOneMore(Take):
    """Has the `advance` of a class of Flo, and takes one more at once."""

    def consume(self, units: Any, source: Any) -> Any:
        operator, (emitted,) = super().consume(units, source)
        return operator, (emitted if self.count <= 0 else SequenceValue.of(units[: self.count + 1], emitted.end),)


@dataclass(frozen=True)
class Idle(Passing):
    """Takes nothing from its input, and counts."""

    name = "advised_idle"
    count: int = 0

    def steps(self, inputs: Any) -> Iterator[flo.Step]:
        yield flo.Step("idle", inputs, replace(self, count=self.count + 1), (None,))


@dataclass(frozen=True)
class Rising(Idle):
    name = "advised_rising"

    def measure(self, inputs: Any) -> tuple[Any, ...]:
        return (self.count,)


@dataclass(frozen=True)
class Sinking(Idle):
    name = "advised_sinking"

    def measure(self, inputs: Any) -> tuple[Any, ...]:
        return (-self.count,)


@dataclass(frozen=True)
class Changing(Passing):
    """Changes itself."""

    name = "advised_changing"
    seen: list[int] = field(default_factory=list)

    def after(self) -> flo.Operator:
        self.seen.append(1)
        return self


class AtMostTwo(Sequence[int]):
    """Not closed under ++."""

    name = "AdvisedAtMostTwo"

    def mismatch(self, value: Any) -> str | None:
        return "it is too long" if len(value.elements) > 2 else super().mismatch(value)


OPEN, ENDING = (flo.StreamType(flo.Sequence(int), bounded=flag) for flag in (False, True))


def test_a_rule_for_the_end_that_is_missing_is_what_is_advised() -> None:
    open_stream = found(NoEnd(), OPEN)
    assert open_stream.law == laws.OUTPUT_MAXIMALITY
    assert open_stream.instead.startswith("pass the end on: a rule for the end of the input is missing")
    ended = found(NoEnd(), ENDING)
    assert ended.law == laws.BOUNDED_OUTPUTS
    assert ended.instead == "pass the end on"


def test_who_waits_for_the_end_is_told_not_to() -> None:
    waiting = found(Waits(), OPEN)
    assert waiting.law == laws.OUTPUT_MAXIMALITY
    assert waiting.instead.startswith("do not wait for the end of an unbounded input")


def test_the_same_in_a_flow() -> None:
    for operator, advice in ((NoEnd(), "pass the end on"), (Waits(), "do not wait for the end")):
        flow = flo.Flow()
        (out,) = flow.input("numbers", flo.Sequence[int]).apply(operator)
        flow.output("out", out)
        broken = found(flow)
        assert broken.law == laws.GRAPH_PROGRESS
        assert broken.instead.startswith(advice)
    flow = flo.Flow()
    (out,) = flow.input("numbers", flo.Sequence[int], bounded=True).apply(NoEnd())
    flow.output("out", out)
    assert found(flow).instead == "pass the end on"


def test_nobody_is_told_to_leave_out_an_advance_that_is_not_there() -> None:
    broken = found(ManyAtOnce(), OPEN)
    assert broken.law in (laws.EAGER_EXECUTION, laws.CONFLUENCE)
    assert "advance" not in broken.instead
    flow = flo.Flow()
    (out,) = flow.input("numbers", flo.Sequence[int]).apply(ManyAtOnce())
    flow.output("out", out)
    for most_states in (20, 100_000):
        told = flow.explore(numbers=[1, 2, 3, 4, 5, 6], most_states=most_states).counterexample
        assert told is not None
        assert told.law != laws.ADVANCE
        assert "advance" not in told.instead


def test_an_advance_that_is_there_may_be_left_out() -> None:
    broken = found(OwnAdvance(), OPEN)
    assert broken.law == laws.ADVANCE
    assert broken.instead == "leave `advance` of `advised_own_advance` out, and the steps are taken one by one"
    inherited = found(TakesOneMore(1), OPEN)
    assert inherited.law == laws.ADVANCE
    assert inherited.instead.startswith("`take` has the `advance` of `Unary`")


def test_a_measure_is_spoken_of_as_it_is_defined() -> None:
    assert (
        found(Idle(), OPEN).instead == "consume something of the input at each step, or define a `measure` that falls"
    )
    assert found(Rising(), OPEN).instead.startswith("make every step lower the result of `measure`")
    assert found(Sinking(), OPEN).instead == "return a tuple of integers ≥ 0 from `measure`"


def test_one_rule_cannot_exclude_itself() -> None:
    broken = found(Register(), flo.StreamType(flo.Bag(int), bounded=True))
    assert broken.law == laws.CONFLUENCE
    assert broken.instead.startswith("let it not matter which element the rule takes first")


def test_a_collection_that_is_not_closed_is_not_the_fault_of_the_operator() -> None:
    broken = found(Passing(), flo.StreamType(AtMostTwo(int), bounded=False), tries=0)
    assert broken.law == laws.PRESERVATION
    assert broken.instead.startswith("a collection that is closed under ++")


def test_an_operator_that_changes_itself_is_told_where_its_state_goes() -> None:
    broken = found(Changing(), OPEN)
    assert broken.law == laws.A_FUNCTION
    assert broken.instead.startswith("a frozen dataclass")


def test_a_function_that_changes_its_argument_is_told_not_to() -> None:
    def emptied(items: list[int]) -> int:
        items.clear()
        return 0

    assert found(emptied).instead == "give a new value, and leave the arguments as they are"


def test_what_a_checkpoint_cannot_hold() -> None:
    kept = found(KeepsAFunction(), OPEN, most=2, tries=0)
    assert kept.law == laws.CHECKPOINT
    assert kept.instead.startswith("keep the state in the fields, as data")
    named = found(NumbersFromTen(), OPEN, most=2, tries=0)
    assert named.law == laws.CHECKPOINT
    assert named.instead.startswith("a `name` of its own")


def test_as_many_types_are_asked_for_as_there_are_inputs() -> None:
    @dataclass(frozen=True)
    class Refuses(Passing):
        name = "advised_refuses"
        arity = (2, 1)

        def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
            raise flo.CollectionError("`advised_refuses` takes nothing")

    with pytest.raises(flo.LawError) as caught:
        flo.verify.check(Refuses())
    assert "check(operator, flo.Sequence[str], flo.Sequence[str])" in str(caught.value)


def test_an_operator_without_a_name_is_refused() -> None:
    @dataclass(frozen=True)
    class NobodyKnows(flo.Operator):
        def type(self, inputs: tuple[flo.StreamType, ...]) -> tuple[flo.StreamType, ...]:
            return inputs

        def steps(self, inputs: Any) -> Iterator[flo.Step]:
            return iter(())

    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    for use in (lambda: flo.verify.check(NobodyKnows()), lambda: numbers.apply(NobodyKnows())):
        with pytest.raises(flo.LawError, match="the operator NobodyKnows has no name") as caught:
            use()
        assert 'name = "nobody_knows"' in str(caught.value)
        assert caught.value.where is not None
        assert caught.value.where.file == __file__
