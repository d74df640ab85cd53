"""Every seeded bug is caught, by the law it breaks and in few steps; so is every mutant of our own operators."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import flo
import flo.verify
from flo.core.nested import Nested
from flo.core.persistent import Elements, PersistentMap
from flo.values.operators.bags import Count
from flo.values.operators.lvars import Threshold
from flo.values.operators.pairs import MergeSorted, UnionSequences, Zip
from flo.values.operators.sequences import Batch, Enumerate, Fold, Last, Scan, Take, Window
from flo.values.operators.sets import Difference
from flo.values.operators.zset_joins import Join
from flo.values.operators.zsets import Distinct, Negate, make_delta
from flo.values.sequence import SequenceValue
from flo.verify import laws
from flo.verify.laws import Law
from flo.verify.report import Counterexample, Report
from tests.paper_rules import SMALL_STEPS
from tests.quick import is_thorough
from tests.seeded import NOT_SUBJECTS, SEEDED
from tests.seeded.base import Seeded
from tests.seeded.sound import SOUND, Sound

pytestmark = pytest.mark.slow

DEVIATIONS = Path(__file__).parent.parent.parent / "docs" / "deviations.md"
FEW = 5
"""Random inputs for what is right: it is tried on every small one."""
ALL_LAWS = {
    *laws.COLLECTION_LAWS,
    *laws.FUNCTION_LAWS,
    *laws.LATTICE_LAWS,
    *laws.OPERATOR_LAWS,
    *laws.GRAPH_LAWS,
}


def counterexample(report: Report) -> Counterexample | None:
    """What broke, in the subject or in one of its parts."""
    found = (counterexample(part) for part in report.parts)
    return report.counterexample or next((each for each in found if each is not None), None)


@pytest.mark.every(test=2)
@pytest.mark.parametrize("seeded", SEEDED, ids=lambda seeded: seeded.name)
def test_seeded_bugs_are_caught(seeded: Seeded, record_property) -> None:
    report = flo.verify.check(deepcopy(seeded.subject), *seeded.types, **seeded.arguments)
    assert not report.ok, f"missed: {report}"
    found = counterexample(report)
    assert found is not None
    assert found.law in seeded.laws, str(report)
    assert max(map(len, found.columns)) <= seeded.steps, f"longer than {seeded.smallest}:\n{report}"
    assert report.strength.attempts > 0
    record_property("seeded", (seeded.name, found.law.name, report.strength.attempts))


@pytest.mark.parametrize("sound", SOUND, ids=lambda sound: sound.subject.name)
def test_printed_rules_that_are_right_pass(sound: Sound) -> None:
    nested = isinstance(sound.types[0].collection, Nested)  # of which there are many more
    report = flo.verify.check(sound.subject, *sound.types, most=2 if nested and not is_thorough() else 3, tries=FEW)
    assert report.ok, str(report)
    assert report.fired


def test_every_law_has_a_seeded_bug() -> None:
    """And one that must be caught by this law and no other."""
    assert {seeded.laws[0] for seeded in SEEDED if len(seeded.laws) == 1} == ALL_LAWS


def test_every_deviation_is_seeded_or_says_why_not() -> None:
    entries = {int(number) for number in re.findall(r"^## (\d+)\. ", DEVIATIONS.read_text(encoding="utf-8"), re.M)}
    seeded = {each.deviation for each in SEEDED if each.deviation is not None}
    assert seeded | NOT_SUBJECTS.keys() == entries
    assert not seeded & NOT_SUBJECTS.keys()


def test_every_small_step_rule_of_an_operator_was_searched() -> None:
    """Each is in a seeded bug, in what was found right, or both."""
    rules = {rule.name for rule in SMALL_STEPS if rule.place != "§4, figure 6"}
    texts = " ".join(str(each.subject.__doc__) for each in (*SEEDED, *SOUND))
    assert [rule for rule in sorted(rules) if not re.search(rf"(?<![\w-]){rule}(?![\w-])", texts)] == []


def test_names_are_told_apart_and_stories_are_told() -> None:
    assert len({seeded.name for seeded in SEEDED}) == len(SEEDED)
    for seeded in SEEDED:
        assert seeded.story.endswith(".")
        assert seeded.smallest


# --- mutants: operators of ours with one line changed

INTS, BAG, SET, ZSET = flo.Sequence(int), flo.Bag(int), flo.Set(int), flo.ZSet(int)
PAIRS, NUMBER = flo.Sequence(tuple[int, int]), flo.LVar(flo.Max(int))


def add(total: int, x: int) -> int:
    return total + x


class TakesOneMore(Take):
    def consume(self, units, source):
        operator, (emitted,) = super().consume(units, source)
        return operator, (emitted if self.count <= 0 else SequenceValue.of(units[: self.count + 1], emitted.end),)


class FoldWithoutEnd(Fold):
    def finish(self, source):
        return self, (SequenceValue.of([self.acc]),)


class KeepsTheFirst(Last):
    def consume(self, units, source):
        return replace(self, kept=(units[0],)), (None,)


class FlushesAlways(Batch):
    def finish(self, source):
        operator, outputs = super(FlushesAlways, replace(self, flush=True)).finish(source)
        return replace(operator, flush=self.flush), outputs


class ForgetsTheRest(Batch):
    def consume(self, units, source):
        operator, outputs = super().consume(units, source)
        return replace(operator, opened=Elements()), outputs


class OpenWindows(Window):
    @staticmethod
    def _emitted(opened):
        return SequenceValue.of([value for value, _ in opened])


class ScansFromTheStart(Scan):
    def consume(self, units, source):
        return self, super().consume(units, source)[1]


class CountsSteps(Enumerate):
    def consume(self, units, source):
        return replace(self, position=self.position + 1), super().consume(units, source)[1]


class PairsWithTheNewest(Zip):
    def steps(self, inputs):
        for step in super().steps(inputs):
            if step.rule == "zip":
                pair = (inputs[0].elements[0], inputs[1].elements[-1])
                step = replace(step, outputs=(SequenceValue.of([pair]),))
            yield step


class DoesNotWait(UnionSequences):
    awaited = None


class MergesWhatIsThere(MergeSorted):
    def _merge(self, left, right, most):
        return super()._merge(left.fix(), right.fix(), most)


class TakesAwayWhatCame(Difference):
    awaited = None


class ForgetsTheRight(Join):
    def _joined(self, left, right):
        step = super()._joined(left, right)
        return replace(step, operator=replace(step.operator, right=PersistentMap()))


class ForgetsWeights(Distinct):
    def consume(self, units, source):
        return self, super().consume(units, source)[1]


class WrongSign(Negate):
    def consume(self, units, source):
        return self, make_delta((element, -abs(weight)) for element, weight in units)


class EmitsTheValue(Threshold):
    def steps(self, inputs):
        for step in super().steps(inputs):
            if step.rule == "lvar-threshold":
                step = replace(step, outputs=(SequenceValue.of([inputs[0].value], step.outputs[0].end),))
            yield step


class CountsDistinct(Count):
    def consume(self, units, source):
        return replace(self, total=self.total + len(units)), (None,)


@dataclass(frozen=True)
class Mutant:
    subject: flo.Operator
    laws: tuple[Law, ...]
    collections: tuple[flo.Collection, ...]
    bounded: bool = False
    examples: dict[Any, Any] | None = None


RACES = (laws.CONFLUENCE, laws.EAGER_EXECUTION)
MUTANTS = [
    Mutant(TakesOneMore(1), (laws.ADVANCE,), (INTS,)),
    Mutant(FoldWithoutEnd(0, add), (laws.BOUNDED_OUTPUTS,), (INTS,), bounded=True),
    Mutant(KeepsTheFirst(), (laws.ADVANCE,), (INTS,), bounded=True),
    Mutant(FlushesAlways(2), (laws.OUTPUT_MAXIMALITY,), (INTS,)),
    Mutant(ForgetsTheRest(2), (laws.ADVANCE,), (INTS,)),
    Mutant(OpenWindows(-1), (laws.PRESERVATION,), (PAIRS,)),
    Mutant(ScansFromTheStart(0, add), (laws.ADVANCE,), (INTS,)),
    Mutant(CountsSteps(), (laws.ADVANCE,), (INTS,)),
    Mutant(PairsWithTheNewest(), (*RACES, laws.ADVANCE), (INTS, INTS)),
    Mutant(DoesNotWait(), RACES, (INTS, INTS), bounded=True),
    Mutant(MergesWhatIsThere(), RACES, (INTS, INTS), bounded=True, examples={INTS: [[], [1], [2], [1, 2]]}),
    Mutant(TakesAwayWhatCame(), RACES, (SET, SET), bounded=True),
    Mutant(ForgetsTheRight(), RACES, (ZSET, ZSET)),
    Mutant(ForgetsWeights(), RACES, (ZSET,)),
    Mutant(WrongSign(), RACES, (ZSET,)),
    Mutant(EmitsTheValue((0,)), RACES, (NUMBER,)),
    Mutant(CountsDistinct(), (*RACES, laws.ADVANCE), (BAG,), bounded=True),
]


@pytest.mark.every(test=2)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: type(mutant.subject).__name__)
def test_mutants_of_our_operators_are_caught(mutant: Mutant, record_property) -> None:
    types = [flo.StreamType(collection, mutant.bounded) for collection in mutant.collections]
    original = type(mutant.subject).__mro__[1]
    fields = {name: getattr(mutant.subject, name) for name in original.__dataclass_fields__}
    assert flo.verify.check(original(**fields), *types, examples=mutant.examples, most=2, tries=FEW).ok
    report = flo.verify.check(mutant.subject, *types, examples=mutant.examples)
    found = counterexample(report)
    assert found is not None, f"missed: {report}"
    assert found.law in mutant.laws, str(report)
    mistake = re.sub("(?<!^)([A-Z])", r" \1", type(mutant.subject).__name__).lower()
    record_property("seeded", (f"{original.name}: {mistake}", found.law.name, report.strength.attempts))
