"""§6.2, LVars: a threshold on a growing value is safe to read; the value itself is not."""

from __future__ import annotations

import flo


def votes(needed: int = 3) -> flo.Flow:
    """The voters are a growing set. The event comes when `needed` different people have voted."""
    flow = flo.Flow("votes")
    ballots = flow.input("ballots", flo.Sequence[str])
    voters = ballots.fold_lattice(flo.SetUnion(str), lambda name: frozenset({name}))
    number = voters.map_monotone(len, flo.Max(int))
    flow.output("voters", voters)
    flow.output("quorum", number.threshold(needed))
    return flow


def racing_read() -> flo.Flow:
    """Illegal: reading an LVar that may still grow would depend on the moment of reading."""
    flow = flo.Flow("racing")
    numbers = flow.input("numbers", flo.Sequence[int])
    largest = numbers.fold_lattice(flo.Max(int))
    flow.output("largest", largest.to_sequence())  # type: ignore[misc]  # pyright: ignore
    return flow


def final_read() -> flo.Flow:
    """Legal: a bounded LVar has a final value."""
    flow = flo.Flow("final")
    numbers = flow.input("numbers", flo.Sequence[int], bounded=True)
    flow.output("largest", numbers.fold_lattice(flo.Max(int)).to_sequence())
    return flow


def main() -> None:
    print(f"  {votes().run(ballots=['ann', 'bob', 'ann', 'cleo'])}")
    print(f"  {final_read().run(numbers=[3, 9, 4])}")
    try:
        racing_read()
    except flo.BoundednessError as error:
        print(error)


if __name__ == "__main__":
    main()
