"""The event loop (§3.1): deltas at any time, any number of steps, any part of the outputs sent, any schedule."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.errors import CheckpointError, DeferError, FunctionError, Origin
from flo.core.event_loop import ByHand, EventLoop, FirstEnabled, RandomSchedule, RoundRobin
from flo.core.graph import Node, Parallel, Sequential, inputs, parallel, sequence
from flo.core.nest import ReadDefer
from flo.core.semantics import stuck
from flo.core.typing import initial
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.pairs import Zip
from flo.values.operators.sequences import Batch, Fold, Scan
from flo.values.sequence import Sequence
from tests.core import checkpoint_program
from tests.core.graphs import INTS, add, bounded, even, increment, program, programs, unbounded
from tests.harness import fired, refusal, run_steps
from tests.quick import tried

U = unbounded(INTS)

SCHEDULES = {
    "default": lambda seed: None,
    "first enabled": lambda seed: FirstEnabled(),
    "round robin": lambda seed: RoundRobin(),
    "random": RandomSchedule,
    "by hand": lambda seed: ByHand(lambda steps: steps[-1]),
}
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)


def loop_of(graph, *types, schedule=None):
    return EventLoop(initial(graph, types)[0], types, schedule)


def expected_of(example):
    """The stuck state's outputs, when everything is there from the start."""
    graph, types, chunks = example
    loop = loop_of(graph, *types)
    for deltas in chunks:
        loop.push(deltas)
    return run_steps(loop.graph, loop.output_types)[1]


class Receiver:
    """Whoever the outputs are sent to: concatenates what comes."""

    def __init__(self, loop):
        self.loop = loop
        self.received = [t.collection.bottom() for t in loop.output_types]

    def pull(self, index):
        self.received[index] = self.received[index].concat(self.loop.pull(index))

    def pull_all(self):
        for index in range(len(self.received)):
            self.pull(index)
        return tuple(self.received)


def act(loop, receiver, waiting, rng):
    """One turn of the loop, each part of it or none."""
    if waiting and rng.random() < 0.5:
        loop.push(waiting.pop(0))
    for step in loop.step(rng.randint(0, 3)):
        fired.update(step.path)
    if receiver.received and rng.random() < 0.5:
        receiver.pull(rng.randrange(len(receiver.received)))
    if rng.random() < 0.1:
        loop.run()


@every_schedule
@given(programs(), st.integers(0, 1000))
@tried(20)
def test_event_loop(schedule, example, seed):
    """Whatever the loop does when, those who receive its outputs have the same in the end."""
    graph, types, chunks = example
    rng = RandomSchedule(seed).random
    loop = loop_of(graph, *types, schedule=schedule(seed))
    receiver, waiting = Receiver(loop), list(chunks)
    for _ in range(12):
        act(loop, receiver, waiting, rng)
    while waiting:
        loop.push(waiting.pop(0))
    loop.run()
    assert stuck(loop.graph)
    assert receiver.pull_all() == expected_of(example)


@every_schedule
def test_steps_are_taken_as_the_schedule_picks_them(schedule):
    loop = loop_of(Parallel(Node(None, Map(increment)), Node(None, Filter(even))), U, U, schedule=schedule(1))
    loop.push((INTS.value([1, 2]), INTS.value([3])))
    assert len(loop.step(2)) == 2
    assert len(loop.step(5)) == 1
    assert loop.step() == []
    assert [t.collection.plain(loop.pull(i)) for i, t in enumerate(loop.output_types)] == [[2, 3], []]


def test_round_robin_gives_every_operator_a_turn():
    loop = loop_of(
        parallel(Node(None, Map(increment)), Node(None, Map(increment)), Node(None, Map(increment))),
        U,
        U,
        U,
        schedule=RoundRobin(),
    )
    loop.push((INTS.value([1, 2]), INTS.value([1, 2]), INTS.value([1])))
    places = [step.place for step in loop.step(5)]
    assert places == [(0, 0), (0, 1), (1,), (0, 0), (0, 1)]


def test_seeds_decide_random_schedules():
    def order(seed):
        graph = Parallel(Node(None, Map(increment)), Node(None, Map(increment)))
        loop = loop_of(graph, U, U, schedule=RandomSchedule(seed))
        loop.push((INTS.value(range(8)), INTS.value(range(8))))
        return [step.place for step in loop.step(16)]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(5)}) > 1


def test_steps_by_hand():
    loop = loop_of(Sequential(Node(None, Map(increment)), Node(None, Scan(0, add))), U)
    loop.recording = True
    loop.push((INTS.value([1, 2]),))
    [step] = loop.enabled()
    loop.take(step)
    assert [step.rule for step in loop.enabled()] == ["map", "scan"]
    loop.take(loop.enabled()[1])
    assert INTS.plain(loop.pull(0)) == [2]
    loop.run()
    assert [step.rule for step in loop.history] == ["map", "scan", "map", "scan"]


def test_what_was_pulled_is_not_sent_again():
    loop = loop_of(Node(None, Map(increment)), bounded(INTS))
    loop.push((INTS.value([1]),))
    loop.run()
    assert INTS.plain(loop.pull(0)) == [2]
    assert INTS.plain(loop.pull(0)) == []
    loop.push((INTS.value([2]).fix(),))
    loop.run()
    sent = loop.pull(0)
    assert (INTS.plain(sent), sent.fixed()) == ([3], True)
    assert loop.pull(0).size() == 0


def test_an_inner_stream_that_is_open_is_sent_in_parts():
    nested = loop_of(
        Sequential(Node(None, Batch(2)), Node(None, checkpoint_program.Nest(Node(None, Map(increment))))), U
    )
    receiver = Receiver(nested)
    whole = loop_of(nested.program, U)
    for value in range(5):
        for loop in (nested, whole):
            loop.push((INTS.value([value]),))
            loop.run()
        receiver.pull(0)
    assert tuple(receiver.received) == whole.outputs


def test_a_program_defers_nothing_at_its_top():
    graph = Node((), ReadDefer("k", INTS, INTS.value([1]).fix()))
    assert isinstance(refusal(EventLoop, graph, ()), DeferError)


def reciprocal(x):
    return 6 // x


@every_schedule
def test_a_function_that_raises_loses_nothing_before_it(schedule):
    """The error names the operator; what came before is sent; other parts of the program go on."""
    faulty = Sequential(Node(None, Map(reciprocal), Origin("pipeline.py", 3)), Node(None, Scan(0, add)))
    loop = loop_of(Parallel(faulty, Node(None, Map(increment))), unbounded(Sequence()), U, schedule=schedule(3))
    loop.push((Sequence().value([1, 2, 0, 3]), INTS.value([1])))
    error = refusal(loop.run)
    assert isinstance(error, FunctionError)
    assert "`map` raised ZeroDivisionError" in str(error)
    assert "pipeline.py:3" in str(error)
    assert INTS.plain(loop.outputs[0]) == [6, 9]
    assert INTS.plain(loop.outputs[1]) == [2]
    assert inputs(loop.graph)[0] == Sequence().value([0, 3])

    loop.push((None, INTS.value([5])))
    assert isinstance(refusal(loop.run), FunctionError)
    assert INTS.plain(loop.outputs[1]) == [2, 6]
    assert isinstance(refusal(loop.step), FunctionError)


def test_a_function_that_raises_only_once():
    """A fault that has passed (a service that was down, say) is tried again, and the loop goes on as if nothing was."""
    calls = []

    def sometimes(x):
        calls.append(x)
        if calls.count(2) == 1 and x == 2:
            raise ConnectionError("down")
        return x

    loop = loop_of(Node(None, Map(sometimes)), U)
    loop.push((INTS.value([1, 2, 3]),))
    while True:
        try:
            loop.run()
            break
        except FunctionError:
            continue
    assert INTS.plain(loop.pull(0)) == [1, 2, 3]


@given(programs(), st.integers(0, 1000))
@tried(24)
def test_checkpoints_go_on_as_if_nothing_had_happened(example, seed):
    graph, types, chunks = example
    rng = RandomSchedule(seed).random
    first = loop_of(graph, *types)
    receiver, waiting = Receiver(first), list(chunks)
    for _ in range(rng.randint(0, 8)):
        act(first, receiver, waiting, rng)
    second = loop_of(graph, *types)
    second.restore(first.checkpoint())
    assert (second.graph, second.outputs) == (first.graph, first.outputs)
    receiver.loop = second
    for deltas in waiting:
        second.push(deltas)
    second.run()
    assert receiver.pull_all() == expected_of(example)


def test_a_checkpoint_of_a_checkpoint_is_the_same():
    loop = checkpoint_program.program()
    checkpoint_program.first_half(loop)
    data = loop.checkpoint()
    again = checkpoint_program.program()
    again.restore(data)
    assert again.checkpoint() == data


def test_restore_in_another_process(tmp_path):
    loop = checkpoint_program.program()
    checkpoint_program.first_half(loop)
    expected = checkpoint_program.second_half(loop)

    def run(action):
        return subprocess.run(
            [sys.executable, "-m", "tests.core.checkpoint_program", action, str(tmp_path / "state")],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )

    saved = run("save")
    assert saved.returncode == 0, saved.stderr
    resumed = run("resume")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.strip() == str(expected)


def test_restore_keeps_the_lines_of_the_program():
    loop = loop_of(Node(None, Map(reciprocal), Origin("pipeline.py", 3)), unbounded(Sequence()))
    loop.push((Sequence().value([0]),))
    loop.restore(loop.checkpoint())
    assert "pipeline.py:3" in str(refusal(loop.run))


def test_another_program_is_named():
    saved = loop_of(sequence(Node(None, Map(increment)), Node(None, Filter(even)), Node(None, Scan(0, add))), U)
    other = loop_of(
        sequence(Node(None, Map(increment)), Node(None, Filter(even)), Node(None, Fold(0, add))), bounded(INTS)
    )
    error = refusal(other.restore, saved.checkpoint())
    assert isinstance(error, CheckpointError)
    assert "another program" in str(error)
    assert "scan(0, add)" in str(error)
    assert "fold(0, add)" in str(error)


def test_lambdas_are_known_by_their_text():
    one = loop_of(Node(None, Map(lambda x: x + 1)), U)
    two = loop_of(Node(None, Map(lambda x: x + 2)), U)
    error = refusal(two.restore, one.checkpoint())
    assert "lambda x: x + 1" in str(error)
    assert "lambda x: x + 2" in str(error)
    one.restore(one.checkpoint())


def test_a_state_that_does_not_fit_changes_nothing():
    loop = loop_of(Node(None, Map(increment)), U)
    loop.push((INTS.value([1]),))
    graph, outputs = loop.graph, loop.outputs
    other = loop_of(Node(None, Filter(even)), U)
    refusal(loop.restore, other.checkpoint())
    assert (loop.graph, loop.outputs) == (graph, outputs)


def test_functions_are_not_part_of_a_state():
    """An element that is a function could not be supplied again, so the state is refused when it is written."""
    loop = loop_of(Node(None, Map(lambda f: f)), unbounded(Sequence()))
    loop.push((Sequence().value([len]),))
    error = refusal(loop.checkpoint)
    assert isinstance(error, CheckpointError)
    assert "cannot serialize a value of type builtin_function_or_method" in str(error)


def test_values_that_cannot_be_written_down_are_named():
    class Socket:
        pass

    loop = loop_of(Node(None, Map(lambda f: f)), unbounded(Sequence()))
    loop.push((Sequence().value([Socket()]),))
    assert "cannot serialize a value of type Socket" in str(refusal(loop.checkpoint))


def test_zip_in_a_loop():
    loop = loop_of(Node(None, Zip()), U, bounded(INTS))
    loop.push((INTS.value([1, 2, 3]), INTS.value([4])))
    loop.run()
    assert Sequence().plain(loop.pull(0)) == [(1, 4)]
    loop.push((None, INTS.value([]).fix()))
    loop.run()
    assert loop.pull(0).fixed()


def test_random_programs_are_reproducible():
    assert str(program(RandomSchedule(5).random, 3)[0]) == str(program(RandomSchedule(5).random, 3)[0])
