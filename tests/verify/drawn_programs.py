"""Legal programs that are drawn by a seed: a few inputs, bounded or not, and a few verbs on them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import flo

INPUTS: dict[str, Any] = {"seq": flo.Sequence[int], "bag": flo.Bag[int], "set": flo.Set[int], "zset": flo.ZSet[int]}


def add(total: int, x: int) -> int:
    return total + x


def twice(x: int) -> int:
    return 2 * x


def odd(x: int) -> bool:
    return x % 2 == 1


def half(x: int) -> int:
    return x // 2


def around(x: int) -> list[int]:
    return [x, x + 1]


def add_all(row: Any) -> int:
    return sum(part or 0 for part in row)  # a group without positive weights has no largest value


def total(stream: Any) -> Any:
    return stream.sum()


class Verb(NamedTuple):
    """What a verb takes and gives; `ending` are the places of inputs that must be bounded."""

    takes: tuple[str, ...]
    gives: str
    make: Callable[..., Any]
    ending: tuple[int, ...] = ()


ELEMENTS = ("seq", "bag", "set", "zset")
VERBS: tuple[Verb, ...] = (
    *(Verb((kind,), kind, lambda one: one.map(twice)) for kind in ELEMENTS),
    *(Verb((kind,), kind, lambda one: one.filter(odd)) for kind in ELEMENTS),
    *(Verb((kind,), kind, lambda one: one.flat_map(around)) for kind in ELEMENTS),
    *(Verb((kind, kind), kind, lambda one, two: one.union(two)) for kind in ("bag", "set", "zset")),
    *(Verb((kind,), "keyed", lambda one: one.key_by(half)) for kind in ELEMENTS),
    *(Verb((kind,), "lattice", lambda one: one.fold_lattice(flo.Max(int))) for kind in ("seq", "bag", "set")),
    *(Verb((kind,), "zset", lambda one: one.to_zset()) for kind in ("seq", "bag", "set")),
    Verb(("seq", "seq"), "seq", lambda one, two: one.union(two), (0,)),
    Verb(("seq", "seq"), "seq", lambda one, two: one.zip(two).map(sum)),
    Verb(("seq",), "seq", lambda one: one.scan(0, add)),
    Verb(("seq",), "seq", lambda one: one.take(3)),
    Verb(("seq",), "seq", lambda one: one.distinct()),
    Verb(("seq",), "seq", lambda one: one.enumerate().map(sum)),
    Verb(("seq",), "bag", lambda one: one.to_bag()),
    Verb(("bag",), "set", lambda one: one.to_set()),
    Verb(("seq",), "nested", lambda one: one.batch(2)),
    Verb(("seq",), "nested", lambda one: one.tumbling(3, time=twice, lateness=2)),
    Verb(("seq",), "nested", lambda one: one.sliding(4, 2, time=twice, lateness=9)),
    Verb(("seq",), "nested", lambda one: one.session(2, time=twice, lateness=9)),
    Verb(("nested",), "seq", lambda one: one.nest(total).flatten()),
    Verb(("nested",), "seq", lambda one: one.nest(lambda part: part.map(twice).count()).flatten()),
    Verb(("nested", "nested"), "seq", lambda one, two: one.zip(two).nest(lambda a, b: a.union(b).sum()).flatten()),
    Verb(("bag", "bag"), "bag", lambda one, two: one.join(two, half, half).map(lambda pair: pair[0] + pair[1])),
    Verb(("set", "set"), "set", lambda one, two: one.intersection(two)),
    Verb(("set", "set"), "set", lambda one, two: one.difference(two), (1,)),
    Verb(("zset", "zset"), "zset", lambda one, two: one.join(two, half, half, add)),
    Verb(("zset", "zset"), "zset", lambda one, two: one.minus(two)),
    Verb(("zset", "zset"), "zset", lambda one, two: one.join(two, half, half, how="anti")),
    Verb(("zset",), "zset", lambda one: one.distinct()),
    Verb(("zset",), "zset", lambda one: one.negate()),
    Verb(("zset",), "zset", lambda one: one.agg(n=flo.count()).map("n")),
    Verb(("zset",), "zset", lambda one: one.group_by(key=half).agg(sum=flo.sum(twice)).map(add_all)),
    Verb(("zset",), "zset", lambda one: one.group_by(key=half).agg(max=flo.max(twice)).map(add_all)),
    Verb(("keyed",), "keyed", lambda one: one.filter_keys(odd)),
    Verb(("keyed",), "keyed", lambda one: one.map_values(twice)),
    Verb(("lattice",), "seq", lambda one: one.event_when_above(3)),
    Verb(("lattice",), "seq", lambda one: one.to_sequence(), (0,)),
    Verb(("seq",), "seq", lambda one: one.sum(), (0,)),
    Verb(("seq",), "seq", lambda one: one.sort(), (0,)),
    Verb(("bag",), "seq", lambda one: one.fold(0, add), (0,)),
)


class Program(NamedTuple):
    flow: flo.Flow
    data: dict[str, Any]


def drawn(seed: int, longest: int = 6) -> Program:
    """Two or three inputs and as many as five verbs; all streams that nothing reads are outputs."""
    rng = random.Random(seed)
    flow, data = flo.Flow(f"drawn {seed}"), dict[str, Any]()
    streams: dict[str, list[Any]] = {}
    unread: list[Any] = []
    for place in range(rng.randint(2, 3)):
        kind, name = rng.choice(ELEMENTS), f"input{place}"
        stream = flow.input(name, INPUTS[kind], bounded=rng.random() < 0.5)
        streams.setdefault(kind, []).append(stream)
        unread.append(stream)
        data[name] = _items(kind, rng, longest)
    for _ in range(rng.randint(2, 5)):
        fitting = [verb for verb in VERBS if _candidates(verb, streams) is not None]
        verb = rng.choice(fitting)
        taken = [rng.choice(choice) for choice in _candidates(verb, streams) or ()]
        made = verb.make(*taken)
        unread = [each for each in unread if not any(each is one for one in taken)] + [made]
        unread += [made.late] if getattr(made, "late", None) is not None else []
        streams.setdefault(verb.gives, []).append(made)
    for place, stream in enumerate(unread):
        flow.output(f"output{place}", stream)
    return Program(flow, data)


def _candidates(verb: Verb, streams: dict[str, list[Any]]) -> list[list[Any]] | None:
    """The streams that each input of the verb can be; None where there is none."""
    found = [
        [each for each in streams.get(kind, []) if each.bounded or place not in verb.ending]
        for place, kind in enumerate(verb.takes)
    ]
    return found if all(found) else None


def _items(kind: str, rng: random.Random, longest: int) -> Any:
    numbers = [rng.randint(0, 5) for _ in range(rng.randint(longest // 2, longest))]
    if kind == "zset":
        return {number: rng.choice([1, 1, 2, -1]) for number in numbers}
    return set(numbers) if kind == "set" else numbers
