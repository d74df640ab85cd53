"""Random programs, random edits of them, and the rows that they read.

A program is a few parts, each the recipe of an output. An edit makes other parts of them, so every program can be built
from the start, too. Recipes are drawn (relational verbs on the z-sets `l` and `r`) or written here: functions with
closures, recursion, an input `w` whose rows gain columns, and sequences with windows and clocks (`e`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa

import flo
from tests.harness import all_digits
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, WORDS, Left, Relation, Right
from tests.relational.shuffled_programs import ShuffledDraw


class Event(NamedTuple):
    at: int
    k: str
    v: int


class Narrow(NamedTuple):
    s: str
    k: Annotated[int, pa.int32()]


class Wide(NamedTuple):
    s: str
    k: int


class Noted(NamedTuple):
    s: str
    k: int
    note: str | None


class Scaled(NamedTuple):
    s: str
    x: int


class Link(NamedTuple):
    s: str
    to: str


WIDTHS: list[Any] = [Narrow, Wide, Noted]
"""The rows of the input `w`: with a wider type, and then with one column more."""
VIEW, CHANGES, TABLE = "view", "changes", "table"


@dataclass(frozen=True)
class Part:
    """An output: what it is computed of, and where its rows go."""

    recipe: str
    """One of RECIPES, or "drawn"."""
    seed: int = 0
    """Draws the verbs."""
    more: tuple[int, ...] = ()
    """Each draws one verb more."""
    number: int = 1
    """A value that functions capture."""
    to: str = VIEW
    place: int = 0
    """The folder or the table that it goes to."""
    takes_over: bool = False
    """Whether the place may hold other rows: then it is reconciled."""

    @property
    def can_retract(self) -> bool:
        return self.recipe not in IN_ORDER


@dataclass(frozen=True)
class Program:
    """The parts of a program by their names, and how wide the rows of `w` are."""

    parts: dict[str, Part] = field(default_factory=dict)
    width: int = 0


class Inputs(dict[str, Relation]):
    """The inputs that a program has asked for."""

    def __init__(self, flow: flo.Flow) -> None:
        super().__init__()
        self._flow = flow

    def __missing__(self, name: str) -> Relation:
        stream: Any = self._flow.input(name, flo.ZSet[SOURCES[name].row])  # type: ignore[misc]
        self[name] = Relation(stream, "")
        return self[name]


class Builder(ShuffledDraw):
    """Builds a program."""

    def __init__(self, program: Program) -> None:
        self.rng, self.joins, self.flow = random.Random(), 0, flo.Flow("edited")
        self.inputs, self._others, self.width = Inputs(self.flow), dict[str, Any](), program.width
        for name, part in program.parts.items():
            self.flow.output(name, all_digits(self._stream(part)))
        for name, each in self.inputs.items():  # one that a verb has asked for, and that is not read, is an error
            self.flow.output(f"count of {name}", each.stream.agg(n=flo.count()))

    @property
    def left(self) -> Any:
        return self.inputs["l"].stream

    @property
    def right(self) -> Any:
        return self.inputs["r"].stream

    @property
    def events(self) -> Any:
        return self._other("e", flo.Sequence[Event])

    @property
    def wide(self) -> Any:
        return self._other("w", flo.Bag[WIDTHS[self.width]]).to_zset()  # type: ignore[misc]

    def _other(self, name: str, kind: Any) -> Any:
        if name not in self._others:
            self._others[name] = self.flow.input(name, kind)
        return self._others[name]

    def _stream(self, part: Part) -> Any:
        if part.recipe != "drawn":
            return RECIPES[part.recipe](self, part.number)
        self.rng, self.joins = random.Random(part.seed), 0
        relation = self.relation(self.rng.randrange(1, 4))
        for seed in part.more:
            self.rng = random.Random(seed)
            relation = self.rng.choice(self.verbs)(self, relation)
        return relation.stream


def build(program: Program) -> flo.Flow:
    return Builder(program).flow


def add(one: int, other: int) -> int:
    return one + other


@dataclass(frozen=True)
class By:
    """A number that functions use."""

    number: int

    def scale(self, row: Left) -> Scaled:
        return Scaled(row.s, row.x * self.number)

    def shift(self, row: Right) -> Scaled:
        return Scaled(row.s, (row.z or 0) + self.number)


Recipe = Callable[[Builder, int], Any]


def _events_by_clock(builder: Builder, number: int) -> Any:
    clock = builder.events.clock("at", lateness=number)
    counts = clock.rows.to_zset().tumble(10, "at").group_by("window_end", "k").agg(n=flo.count(), total=flo.sum("v"))
    return counts.final(clock)


def _recent_events(builder: Builder, number: int) -> Any:
    clock = builder.events.clock("at", lateness=2)
    return clock.rows.to_zset().retain("at", clock, keep=5 * number).group_by("k").agg(n=flo.count())


def _pairs_of_events(builder: Builder, number: int) -> Any:
    clock = builder.events.clock("at", lateness=3)
    return clock.rows.join_interval(clock.rows, "k", (0, number)).to_zset().group_by("k").agg(n=flo.count())


def _windows_by_clock(builder: Builder, number: int) -> Any:
    clock = builder.events.clock("at", lateness=number)
    return clock.rows.key_by("k").per_key(
        lambda rows: rows.session(number, clock=clock).nest(lambda window: window.map("v").sum()).flatten()
    )


def _windows(builder: Builder, number: int) -> Any:
    windows = builder.events.tumbling(10, time="at", lateness=number)
    return windows.nest(lambda window: window.map("v").sum()).flatten()


def _links(builder: Builder) -> Any:
    """A graph of words: rows of both inputs with the same `k`."""
    return builder.left.join(builder.right, on="k").select(s="s", to="s_right").distinct()


def _reached(builder: Builder, number: int) -> Any:
    """The words that a word leads to, but not by way of one of them."""
    links = _links(builder)

    def further(found: Any) -> Any:
        through = found.filter(nw.col("to") != WORDS[number])
        return links.union(through.join(links, on="to", other_on="s").select(s="s", to="to_right"))

    return builder.flow.fixpoint(found=flo.ZSet[Link], body=further)


def _first_reached(builder: Builder, number: int) -> Any:
    """The first word that a word leads to."""
    links = _links(builder).filter(nw.col("to") != WORDS[number])

    def earlier(first: Any) -> Any:
        onward = links.join(first, on="to", other_on="s").select(s="s", to="to_right")
        return links.union(onward).group_by("s").agg(to=flo.min("to"))

    return builder.flow.fixpoint(first=flo.ZSet[Link], body=earlier)


KEYED: dict[str, Recipe] = {
    "sums": lambda b, number: b.left.group_by("s").agg(total=flo.sum("x")),
    "sums and counts": lambda b, number: b.left.group_by("s").agg(total=flo.sum("x"), n=flo.count()),
    "extremes": lambda b, number: b.left.group_by("s").agg(total=flo.max("big"), n=flo.min("big"), low=flo.min("f")),
    "text": lambda b, number: b.left.group_by("s").agg(total=flo.max("g")),
    "large": lambda b, number: b.left.filter(nw.col("x") > number).group_by("s").agg(total=flo.sum("x")),
    "chosen by a lambda": lambda b, number: (
        b.left.filter(lambda row: row.x > number).group_by("s").agg(total=flo.sum("x"))
    ),
    "computed by a function": lambda b, number: (
        b.left.map(By(number).scale).group_by("s").agg(total=flo.sum("x"), low=flo.min("x"))
    ),
    "joined": lambda b, number: b.left.join(b.right, on="k").group_by("s").agg(n=flo.count(), total=flo.sum("z")),
    "joined and filtered": lambda b, number: (
        b.left.filter(nw.col("x") < number).join(b.right, on="s", how="left").group_by("s").agg(n=flo.count("z"))
    ),
    "first of each": lambda b, number: b.left.distinct(on="s", order_by=flo.desc("x")).select("s", "x", "big"),
    "wide sums": lambda b, number: b.wide.group_by("s").agg(total=flo.sum("k"), most=flo.max("k")),
    "wide and joined": lambda b, number: (
        b.wide.join(b.right, on="s").group_by("s").agg(n=flo.count(), most=flo.max("k"))
    ),
    "notes": lambda b, number: b.wide.group_by("s").agg(
        **({"note": flo.max("note")} if b.width == 2 else {"n": flo.count()})
    ),
    "events by key": lambda b, number: (
        b.events.to_zset().group_by(s="k").agg(total=flo.sum("v"), n=flo.count(where=nw.col("v") > number))
    ),
    "recent events": lambda b, number: _recent_events(b, number).select(s="k", n="n"),
    "how many are reached": lambda b, number: _reached(b, number).group_by("s").agg(n=flo.count()),
    "first reached": _first_reached,
    "pairs of events": lambda b, number: _pairs_of_events(b, number).select(s="k", n="n"),
}
"""Outputs with the key `s`, which a table takes."""
KEYLESS: dict[str, Recipe] = {
    "rows": lambda b, number: b.left,
    "filtered rows": lambda b, number: b.left.filter(nw.col("x") != number).select("s", "x", "y", "d", "at"),
    "mapped rows": lambda b, number: b.right.map(By(number).shift).filter(lambda row: row.x != number),
    "wide rows": lambda b, number: b.wide,
    "wide distinct": lambda b, number: b.wide.distinct(),
    "reached": _reached,
    "best": lambda b, number: b.left.select("k", "s", "x").top(number, by="k", order_by=[flo.desc("x"), "s"]),
    "one row": lambda b, number: b.right.agg(n=flo.count(), most=flo.max("z")),
    "events as rows": lambda b, number: b.events.to_zset().filter(nw.col("v") > number),
}
IN_ORDER: dict[str, Recipe] = {
    "events": lambda b, number: b.events,
    "running sum": lambda b, number: b.events.map("v").scan(number, add),
    "running sums by key": lambda b, number: b.events.key_by("k").per_key(lambda own: own.map("v").scan(number, add)),
    "first events": lambda b, number: b.events.take(3 * number),
    "distinct events": lambda b, number: b.events.map("v").distinct(),
    "numbered events": lambda b, number: b.events.map("v").enumerate(),
    "batches": lambda b, number: b.events.map("v").batch(number + 1).nest(lambda batch: batch.sum()).flatten(),
    "largest": lambda b, number: b.events.map("v").fold_lattice(flo.Max(int)),
    "sum": lambda b, number: b.events.map("v").sum_lattice(),
    "windows": _windows,
    "late events": lambda b, number: b.events.tumbling(10, time="at", lateness=number).late,
    "final counts": _events_by_clock,
    "sessions by clock": _windows_by_clock,
}
"""Outputs whose rows cannot be retracted: they are views."""
RECIPES = KEYED | KEYLESS | IN_ORDER


def draw_program(rng: random.Random) -> Program:
    program = Program()
    for _ in range(rng.randrange(1, 4)):
        program = _add(program, rng)
    return program


def edit(program: Program, rng: random.Random) -> Program:
    """Another program: one to three edits, or none."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        program = rng.choice(EDITS)(program, rng)
    return program


Edit = Callable[[Program, random.Random], Program]


def _add(program: Program, rng: random.Random) -> Program:
    """An output more; at times with the name of one that was removed."""
    return _with(program, _new_name(program, rng), _draw_part(rng))


def _copy(program: Program, rng: random.Random) -> Program:
    """The same operators once more."""
    return _with(program, _new_name(program, rng), _moved(_any_part(program, rng)[1], rng))


def _remove(program: Program, rng: random.Random) -> Program:
    name, _ = _any_part(program, rng)
    rest = {each: part for each, part in program.parts.items() if each != name}
    return replace(program, parts=rest) if rest else program


def _rename(program: Program, rng: random.Random) -> Program:
    """Its sink goes along, or gets another place."""
    name, part = _any_part(program, rng)
    own = replace(part, takes_over=True) if rng.random() < 0.5 else _moved(part, rng)
    new = _new_name(program, rng)
    return replace(
        program,
        parts={new if each == name else each: own if each == name else one for each, one in program.parts.items()},
    )


def _move(program: Program, rng: random.Random) -> Program:
    names = rng.sample(list(program.parts), len(program.parts))
    return replace(program, parts={name: program.parts[name] for name in names})


def _replace(program: Program, rng: random.Random) -> Program:
    """Another recipe, for the same sink if that takes it."""
    name, part = _any_part(program, rng)
    other = _draw_part(rng)
    if part.to == TABLE and other.recipe not in KEYED:
        other = replace(other, recipe=rng.choice(list(KEYED)))
    if other.can_retract:
        other = replace(other, to=part.to, place=part.place)
    return _with(program, name, other)


def _add_verb(program: Program, rng: random.Random) -> Program:
    """A filter, a column, an aggregate, a join, ... more."""
    name, part = _any_part(program, rng)
    return _with(program, name, replace(part, more=(*part.more, rng.randrange(10_000))))


def _remove_verb(program: Program, rng: random.Random) -> Program:
    name, part = _any_part(program, rng)
    return _with(program, name, replace(part, more=part.more[:-1]))


def _view_of_verbs(program: Program, rng: random.Random) -> Program:
    """An output of what another one reads."""
    _, part = _any_part(program, rng)
    return _with(program, _new_name(program, rng), _moved(replace(part, more=part.more[:-1]), rng))


def _change_number(program: Program, rng: random.Random) -> Program:
    name, part = _any_part(program, rng)
    return _with(program, name, replace(part, number=rng.randrange(1, 5)))


def _move_sink(program: Program, rng: random.Random) -> Program:
    """Another sink, a sink for a view, or a view instead of it."""
    name, part = _any_part(program, rng)
    return _with(program, name, _moved(part, rng))


def _widen(program: Program, rng: random.Random) -> Program:
    return replace(program, width=min(program.width + 1, len(WIDTHS) - 1))


EDITS: list[Edit] = [
    _add,
    _add,
    _copy,
    _remove,
    _remove,
    _rename,
    _move,
    _replace,
    _replace,
    _add_verb,
    _add_verb,
    _remove_verb,
    _view_of_verbs,
    _change_number,
    _change_number,
    _move_sink,
    _widen,
]


def _draw_part(rng: random.Random) -> Part:
    recipe = "drawn" if rng.random() < 0.4 else rng.choice(list(RECIPES))
    return _moved(Part(recipe, rng.randrange(10_000), number=rng.randrange(1, 5)), rng)


def _moved(part: Part, rng: random.Random) -> Part:
    """With a sink of its own."""
    to = rng.choice([VIEW, CHANGES, TABLE] if part.recipe in KEYED else [VIEW, CHANGES])
    return replace(part, to=to if part.can_retract else VIEW, place=rng.randrange(10**9), takes_over=False)


def _any_part(program: Program, rng: random.Random) -> tuple[str, Part]:
    return rng.choice(list(program.parts.items()))


def _new_name(program: Program, rng: random.Random) -> str:
    return rng.choice([name for name in map("out {}".format, range(12)) if name not in program.parts])


def _with(program: Program, name: str, part: Part) -> Program:
    return replace(program, parts={**program.parts, name: part})


Turn = dict[str, Any]
"""New rows of every input."""


def draw_turns(seed: int, count: int) -> list[Turn]:
    """The rows that come between edits; at times none."""
    rng = random.Random(seed)
    turns: list[Turn] = []
    start = rng.choice([0, 0, -7, 2**40])
    for delta in random_deltas(SOURCES, seed, count, 4):
        events = []
        for _ in range(rng.randrange(7)):
            start += rng.randrange(6)
            events.append(Event(start - rng.choice([0, 0, 0, 4, 30]), rng.choice(WORDS), rng.randrange(-9, 10)))
        largest = rng.choice([3, 2**31 - 1])
        wide = [Narrow(rng.choice(WORDS[:4]), rng.choice([0, 1, -largest])) for _ in range(rng.randrange(4))]
        turns.append({} if turns and rng.random() < 0.1 else {**delta, "e": events, "w": wide})
    return turns


def widened(rows: list[Narrow], width: int, rng: random.Random) -> list[Any]:
    """The rows of `w` as a program takes them, with values that its types have room for."""
    if width == 0:
        return list(rows)
    large = [Wide(row.s, row.k * rng.choice([1, 2**20])) for row in rows]
    return large if width == 1 else [Noted(*row, rng.choice([None, "", "a"])) for row in large]
