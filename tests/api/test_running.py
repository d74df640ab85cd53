"""Running a flow by hand: sending parts of outputs, checkpoints in the middle, and what a fault leaves."""

from __future__ import annotations

import math

import pytest

import flo


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
    for seed in range(10):
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


def test_a_function_that_returns_something_else_than_it_says_is_found_when_saving() -> None:
    def length(word: str) -> int:
        return word  # type: ignore[return-value]

    flow = flo.Flow()
    flow.output("out", flow.input("words", flo.Sequence[str]).map(length))
    loop = flow.loop()
    loop.push(words=["a"])
    loop.run()
    with pytest.raises(flo.CheckpointError, match="'a' is not of type int"):
        loop.checkpoint()
    assert loop.pull("out") == ["a"]


def test_results_before_a_fault_are_kept() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(doubled))
    with pytest.raises(flo.ElementError) as caught:
        flow.run(numbers=[1, 2, "x", 3])
    assert caught.value.position == 2
    assert caught.value.result == {"out": [2, 4]}


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
