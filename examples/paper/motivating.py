"""§2, the motivating example: five ways to sum a stream of numbers. Flo rejects the first."""

from __future__ import annotations

import flo


def hanging_fold() -> flo.Flow:
    """A `fold` of a stream that may never end would block forever: rejected when it is written."""
    flow = flo.Flow("hanging")
    numbers = flow.input("numbers", flo.Sequence[int])
    total = numbers.fold(0, lambda acc, x: acc + x)  # type: ignore[misc]  # pyright: ignore
    flow.output("total", total)
    return flow


def bounded_fold() -> flo.Flow:
    """§2.1: the same program is right if the stream is known to end."""
    flow = flo.Flow("bounded")
    numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
    flow.output("total", numbers.fold(0, lambda acc, x: acc + x))
    return flow


def batched_fold(size: int = 3) -> flo.Flow:
    """§2.2: a sum for every batch; each batch ends, even if the stream does not."""
    flow = flo.Flow("batched")
    numbers = flow.input("numbers", flo.Sequence[int])
    totals = numbers.batch(size).nest(lambda inner: inner.fold(0, lambda acc, x: acc + x))
    flow.output("total", totals)
    return flow


def running_scan() -> flo.Flow:
    """§2.3: the running sum, one for each element."""
    flow = flo.Flow("running")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("total", numbers.scan(0, lambda acc, x: acc + x))
    return flow


def event_when_above(threshold: int = 100) -> flo.Flow:
    """§2.3: one growing sum, and an event when it passes a threshold."""
    flow = flo.Flow("monitor")
    numbers = flow.input("numbers", flo.Sequence[int])
    total = numbers.sum_lattice()
    flow.output("total", total)
    flow.output("alarm", total.event_when_above(threshold))
    return flow


def main() -> None:
    try:
        hanging_fold()
    except flo.BoundednessError as error:
        print(error)
    for build in (bounded_fold, batched_fold, running_scan, event_when_above):
        flow = build()
        print(f"\n{build.__doc__}\n  {flow.graph()}\n  {flow.run(numbers=[50, 40, 30, 20])}")


if __name__ == "__main__":
    main()
