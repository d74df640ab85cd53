"""Running a flow by hand: sending parts of outputs, checkpoints in the middle, and what a fault leaves."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

import flo
from tests.quick import times


def doubled(x: int) -> int:
    return 2 * x


def test_pull_gives_each_complete_inner_stream_once() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("pairs", numbers.batch(2).nest(lambda b: b.map(doubled)))
    loop = flow.loop()
    pulled = []
    for number in range(5):
        loop.push(numbers=[number])
        loop.run()
        pulled.append(loop.pull("pairs"))
        assert loop.peek("pairs") == []
    assert pulled == [[], [[0, 2]], [], [[4, 6]], []]


def test_pull_in_the_middle_of_an_inner_stream_waits_for_its_end() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("pairs", numbers.batch(2).nest(lambda b: b.map(doubled)))
    loop = flow.loop(schedule=flo.FirstEnabled())
    loop.push(numbers=[1, 2, 3, 4])
    pulled = []
    while loop.step():
        pulled += loop.pull("pairs")
    assert pulled == [[2, 4], [6, 8]]


def test_pull_of_a_part() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("numbers", flo.Sequence[int], bounded=True))
    loop = flow.loop()
    loop.push(numbers=[1, 2, 3])
    loop.end("numbers")
    loop.run()
    assert [loop.pull("out", 2), loop.pull("out", 0), loop.pull("out", 2), loop.pull("out")] == [[1, 2], [], [3], []]


def test_pull_of_a_lattice_variable_never_falls() -> None:
    flow = flo.Flow()
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("largest", numbers.fold_lattice(flo.Max(int)))
    flow.output("by parity", numbers.key_by(lambda x: x % 2).per_key(lambda s: s.fold_lattice(flo.Max(int))))
    loop = flow.loop()
    seen = []
    for number in (5, 3, 8):
        loop.push(numbers=[number])
        loop.run()
        seen.append((loop.pull("largest"), loop.pull("by parity")))
    assert seen == [(5, {1: 5}), (5, {1: 5}), (8, {1: 5, 0: 8})]


def test_every_checkpoint_of_a_driven_nest_can_be_restored() -> None:
    flow = flo.Flow()
    nodes = flow.input("nodes", flo.Set[int], bounded=True)
    numbers = flow.input("numbers", flo.Sequence[int])
    rounds = numbers.batch(2).nest(lambda r: (r.count(), r.sum()))
    flow.output("once", nodes.nest_once(rounds))
    for seed in range(times(10)):
        loop = flow.loop(seed=seed)
        loop.push(nodes={1}, numbers=[1, 2, 3, 4])
        loop.end("nodes")
        while loop.step():
            resumed = flow.loop()
            resumed.restore(loop.checkpoint())
            resumed.run()
            assert resumed.result() == {"once": [{1}, set()]}


def test_every_nan_is_one_element() -> None:
    flow = flo.Flow()
    flow.output("count", flow.input("numbers", flo.Bag[float], bounded=True).count())
    flow.output("rows", flow.input("rows", flo.ZSet[tuple[float, str]]).map(lambda row: row))
    loop = flow.loop()
    loop.push(numbers=[float("nan"), float("nan")], rows={(float("nan"), "a"): 2})
    resumed = flow.loop()
    resumed.restore(loop.checkpoint())
    for each in (loop, resumed):
        each.push(rows={(float("nan"), "a"): -1})
        each.end("numbers")
        each.run()
        assert each.peek("count") == [2]
        assert each.peek("rows") == {(math.nan, "a"): 1}


def test_a_fault_names_the_position() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(doubled))
    with pytest.raises(flo.ElementError) as caught:
        flow.run(numbers=[1, 2, "x", 3])
    assert caught.value.position == 2


def test_a_fault_names_the_line_inside_a_body_after_a_restore() -> None:
    def inverse(x: int) -> float:
        return 1 / x

    flow = flo.Flow()
    batches = flow.input("numbers", flo.Sequence[int]).batch(2)
    flow.output("out", batches.nest(lambda b: b.map(inverse)))
    loop = flow.loop()
    loop.push(numbers=[1, 0])
    resumed = flow.loop()
    resumed.restore(loop.checkpoint())
    with pytest.raises(flo.FunctionError, match=r"b\.map\(inverse\)"):
        resumed.run()


def passing(kind: type[flo.Collection], *, bounded: bool = False) -> flo.FlowLoop:
    flow = flo.Flow()
    flow.output("out", flow.input("x", kind, bounded=bounded))
    return flow.loop()


@pytest.mark.parametrize(
    ("kind", "data", "good"),
    [
        (flo.Sequence[int], [1, 2, "x", 3], [1, 2]),
        (flo.ZSet[str], {"a": 5, "b": 2, 1: 1}, {"a": 5, "b": 2}),
        (flo.Bag[str], {"a": 5, 1: 1}, {"a": 5}),
        (flo.Nested[flo.Sequence[int]], [[1, 2], [3, "x"]], [[1, 2]]),
        (flo.Keyed[str, flo.Sequence[int]], {"k": [1], "l": [1, "x"]}, {"k": [1]}),
    ],
    ids=str,
)
@pytest.mark.parametrize("on_tables", [False, True])
def test_a_wrong_element_keeps_all_others_out(
    kind: type[flo.Collection], data: object, good: object, on_tables: bool
) -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("x", kind))
    loop, other = (flow.on(flo.here).loop() if on_tables else flow.loop() for _ in range(2))
    with pytest.raises(flo.ElementError, match="`x`"):
        loop.push(x=data)
    for each in (loop, other):
        each.run()
        assert len(each.peek("out")) == 0
        each.push(x=good)
        each.run()
    assert loop.result() == other.result()


def test_all_inputs_of_a_push_arrive_or_none() -> None:
    flow = flo.Flow()
    for name in ("a", "b"):
        flow.output(name, flow.input(name, flo.Sequence[int]))
    for loop in (flow.loop(), flow.on(flo.here).loop()):
        with pytest.raises(flo.ElementError, match="`b`"):
            loop.push(a=[1], b=["x"])
        with pytest.raises(flo.UnknownNameError):
            loop.push(a=[1], c=[2])
        with pytest.raises(flo.UnknownNameError):
            loop.end("a", "c")
        loop.push(a=[2], b=[3])
        loop.run()
        assert [len(loop.pull("a")), len(loop.pull("b"))] == [1, 1]


def test_data_that_raises_leaves_nothing() -> None:
    def reading() -> object:
        yield 1
        yield 2
        raise OSError("disk")

    loop = passing(flo.Sequence[int])
    with pytest.raises(flo.ElementError, match="raised OSError after 2 elements: disk"):
        loop.push(x=reading())
    loop.run()
    assert loop.pull("out") == []


def inverse(x: int) -> float:
    return 1 / x


def sums_of_inverses() -> flo.Flow:
    flow = flo.Flow()
    numbers = flow.input("x", flo.Sequence[int], bounded=True)
    flow.output("seen", numbers)
    flow.output("sums", numbers.map(inverse).scan(0.0, lambda total, x: total + x))
    return flow


@pytest.mark.parametrize("how", ["fast", "seed", "record"])
def test_a_run_that_raises_takes_the_pushes_before_it_back(how: str) -> None:
    flow = sums_of_inverses()
    options: dict[str, Any] = {"fast": {}, "seed": {"seed": 3}, "record": {"record": True}}[how]
    loop, other = flow.loop(**options), flow.loop(**options)
    for each in (loop, other):
        each.push(x=[1, 2])
        each.run()
    loop.push(x=[4])
    loop.push(x=[5, 0, 6])
    loop.end("x")
    with pytest.raises(flo.FunctionError, match="ZeroDivisionError"):
        loop.run()
    assert loop.checkpoint() == other.checkpoint()
    assert loop.history == other.history
    loop.run()
    assert loop.result() == other.result() == {"seen": [1, 2], "sums": [1.0, 1.5]}
    loop.push(x=[4])
    loop.end("x")
    loop.run()
    assert loop.result() == {"seen": [1, 2, 4], "sums": [1.0, 1.5, 1.75]}
    assert loop.result().fixed("sums")


def test_what_was_pulled_is_not_taken_back() -> None:
    loop = sums_of_inverses().loop()
    loop.push(x=[1])
    loop.run()
    loop.push(x=[0])
    assert loop.pull("seen") == [1]
    with pytest.raises(flo.FunctionError):
        loop.run()
    assert loop.result() == {"seen": [], "sums": [1.0]}


def test_steps_by_hand_make_final_what_was_pushed_before_them() -> None:
    loop = passing_inverse()
    loop.push(x=[1, 0])
    assert len(loop.step()) == 1
    before = loop.checkpoint()
    for _ in range(2):
        with pytest.raises(flo.FunctionError):
            loop.run()
        assert loop.checkpoint() == before
    loop = passing_inverse()
    loop.push(x=[1, 0, 2])
    before = loop.checkpoint()
    with pytest.raises(flo.FunctionError):
        loop.step(5)
    assert loop.checkpoint() == before
    assert loop.pull("out") == []


def passing_inverse() -> flo.FlowLoop:
    flow = flo.Flow()
    flow.output("out", flow.input("x", flo.Sequence[int]).map(inverse))
    return flow.loop()


def test_what_cannot_arrive_is_refused() -> None:
    loop = passing(flo.Sequence[int])
    loop.push(x=[1])
    (step,) = loop.enabled()
    loop.push(x=[2])
    with pytest.raises(flo.ScopeError, match="an earlier state"):
        loop.take(step)
    with pytest.raises(flo.NameTakenError, match="twice"):
        loop.push("x", [1], x=[2])
    with pytest.raises(flo.OrderError, match="has no defined order"):
        loop.push(x={1, 2})
    loop.end("x")
    loop.push(x=[])
    with pytest.raises(flo.ElementError, match="has ended"):
        loop.push(x=[3])
    loop.run()
    assert loop.pull("out") == [1, 2]


def test_a_function_cannot_push() -> None:
    flow = flo.Flow()
    loops: list[flo.FlowLoop] = []
    flow.output("out", flow.input("x", flo.Sequence[int]).map(lambda x: loops[0].push(x=[x])))
    loops.append(flow.loop())
    loops[0].push(x=[1])
    with pytest.raises(flo.FloError, match="called by a function"):
        loops[0].run()


def test_threads_do_not_lose_what_they_push() -> None:
    loop = passing(flo.Sequence[int])
    thread = threading.Thread(target=lambda: [loop.push(x=[number]) for number in range(3000)])
    thread.start()
    while thread.is_alive():
        loop.run()
    thread.join()
    loop.run()
    assert sorted(loop.pull("out")) == list(range(3000))


def two_maxima(first: str, second: str) -> flo.Flow:
    flow = flo.Flow()
    for name in (first, second):
        flow.output(f"max of {name}", flow.input(name, flo.Sequence[int]).scan(0, max))
    return flow


def test_a_state_knows_the_names_and_types_of_its_inputs_and_outputs() -> None:
    saved = two_maxima("cats", "dogs").loop().checkpoint()
    two_maxima("cats", "dogs").loop().restore(saved)
    with pytest.raises(flo.CheckpointError, match="input cats"):
        two_maxima("dogs", "cats").loop().restore(saved)
    with pytest.raises(flo.CheckpointError, match="unbounded"):
        passing(flo.Sequence[int], bounded=True).restore(passing(flo.Sequence[int]).checkpoint())


@pytest.mark.slow
def test_a_long_chain_runs_prints_and_is_saved() -> None:
    flow = flo.Flow()
    stream = flow.input("x", flo.Sequence[int])
    for _ in range(1000):
        stream = stream.map(doubled)
    flow.output("out", stream)
    loop = flow.loop()
    loop.push(x=[0])
    resumed = flow.loop()
    resumed.restore(loop.checkpoint())
    resumed.run()
    assert resumed.pull("out") == [0]
    assert flo.parse(str(flow.graph()), flo.names(flow.graph())) == flow.graph()


def test_an_accumulator_that_a_function_changes_is_its_own() -> None:
    def add(seen: list[int], x: int) -> list[int]:
        seen.append(x)
        return seen

    flow = flo.Flow()
    xs = flow.input("xs", flo.Sequence[int], bounded=True)
    flow.output("all", xs.fold([], add))
    flow.output("running", xs.scan([], add))
    flow.output("batches", xs.batch(2).nest(lambda b: b.fold([], add)))
    expected = {"all": [[1, 2, 3]], "running": [[1], [1, 2], [1, 2, 3]], "batches": [[[1, 2]], [[3]]]}
    assert flow.run(xs=[1, 2, 3]) == expected
    loop = flow.loop(seed=1)
    loop.push(xs=[1, 2, 3])
    loop.end("xs")
    loop.run()
    assert loop.result() == expected
    assert flow.run(xs=[4])["all"] == [[4]]


def test_a_function_must_return_what_it_says() -> None:
    def half(x: int) -> int:
        return x / 2  # type: ignore[return-value]

    flow = flo.Flow()
    flow.output("out", flow.input("xs", flo.Sequence[int]).map(half))
    with pytest.raises(flo.FunctionError, match="must return int, its declared return type"):
        flow.run(xs=[1, 2])


def test_an_input_that_nobody_listens_to_any_more_has_not_ended() -> None:
    flow = flo.Flow()
    flow.output("event", flow.input("largest", flo.LVar(flo.Max(int))).event_when_above(1))
    loop = flow.loop()
    loop.push(largest=2)
    loop.run()
    resumed = flow.loop()
    resumed.restore(loop.checkpoint())
    resumed.push(largest=3)
    resumed.run()
    assert resumed.pull("event") == [1]


def test_what_a_fold_says_holds_of_its_result_whatever_the_cuts() -> None:
    def last_even(before: int | None, x: int) -> int:
        return x if x % 2 == 0 else None  # type: ignore[return-value]

    flow = flo.Flow()
    flow.output("out", flow.input("xs", flo.Sequence[int], bounded=True).fold(0, last_even))
    loop = flow.loop(seed=1)
    loop.push(xs=[1, 2])
    loop.end("xs")
    loop.run()
    assert loop.result() == flow.run(xs=[1, 2]) == {"out": [2]}
    with pytest.raises(flo.FunctionError, match="got None"):
        flow.run(xs=[1])
