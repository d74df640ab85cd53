"""§6.1, Flink: windows over timestamps, and a `fold` in each."""

from __future__ import annotations

import flo


def windowed(interval: int = 10) -> flo.Flow:
    """The paper's `window` over (value, timestamp) pairs."""
    flow = flo.Flow("windowed")
    readings = flow.input("readings", flo.Sequence[tuple[float, int]])
    sums = readings.window(interval).nest(lambda w: w.sum())
    flow.output("sums", sums)
    return flow


def tumbling(size: int = 10, lateness: int = 2) -> flo.Flow:
    """The same with windows side by side. Elements may arrive out of order, and late ones go to a side output."""
    flow = flo.Flow("tumbling")
    readings = flow.input("readings", flo.Sequence[tuple[float, int]])
    windows = readings.tumbling(size, time=lambda r: r[1], lateness=lateness)
    flow.output("sums", windows.nest(lambda w: w.map(lambda r: r[0]).sum()))
    flow.output("late", windows.late)
    return flow


READINGS = [(1.5, 1), (2.5, 4), (3.0, 11), (0.5, 9), (4.0, 13), (1.0, 3), (2.0, 27)]


def main() -> None:
    for flow in (windowed(), tumbling()):
        print(f"  {flow.name}: {flow.run(readings=READINGS)}")


if __name__ == "__main__":
    main()
