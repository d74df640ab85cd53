"""Windows as columns on every engine: rows come late, are retracted, and have no time."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import NamedTuple

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("window columns", sample=("sessions_merge_and_split",))


class Click(NamedTuple):
    user: str | None
    at: int | None


class Day(NamedTuple):
    on: date


A1, A4, B12, NEVER = Click("a", 1), Click("a", 4), Click("b", -12), Click("b", None)


@FAMILY.program
def tumble(p: Program) -> None:
    clicks = p.input(flo.ZSet[Click], {A1: 1, NEVER: 1}, {B12: 2}, {A1: -1})
    one, never, early = ("a", 1, 0, 10), ("b", None, None, None), ("b", -12, -20, -10)
    p.expect(clicks.tumble(10, "at"), {one: 1, never: 1}, {one: 1, never: 1, early: 2}, {never: 1, early: 2})


@FAMILY.program
def tumble_of_other_collections(p: Program) -> None:
    p.expect(
        p.input(flo.Sequence[Click], [A4], [A1]).tumble(5, "at"), [("a", 4, 0, 5)], [("a", 4, 0, 5), ("a", 1, 0, 5)]
    )
    p.expect(p.input(flo.Bag[Click], [A1], [A1]).tumble(5, "at"), {("a", 1, 0, 5): 1}, {("a", 1, 0, 5): 2})
    p.expect(p.input(flo.Set[Click], {A1}, {A1}).tumble(5, "at"), {("a", 1, 0, 5)}, {("a", 1, 0, 5)})


@FAMILY.program
def tumble_of_dates(p: Program) -> None:
    days = p.input(flo.ZSet[Day], {Day(date(1970, 1, 3)): 1}, {Day(date(1969, 12, 31)): 1})
    first = (date(1970, 1, 3), datetime(1970, 1, 3), datetime(1970, 1, 5))
    second = (date(1969, 12, 31), datetime(1969, 12, 30), datetime(1970, 1, 1))
    p.expect(days.tumble(timedelta(days=2), "on"), {first: 1}, {first: 1, second: 1})


@FAMILY.program
def hop(p: Program) -> None:
    clicks = p.input(flo.ZSet[Click], {A1: 1, NEVER: 1}, {A4: 1}, {A1: -1})
    ones = {("a", 1, -4, 2): 1, ("a", 1, 0, 6): 1}
    never = {("b", None, None, None): 1}
    fours = {("a", 4, 0, 6): 1, ("a", 4, 4, 10): 1}
    p.expect(clicks.hop(6, 4, "at"), ones | never, ones | never | fours, never | fours)


@FAMILY.program
def hop_of_other_collections(p: Program) -> None:
    first, second = ("a", 1, -4, 2), ("a", 1, 0, 6)
    p.expect(p.input(flo.Sequence[Click], [A1], [A1]).hop(6, 4, "at"), [first, second], [first, second, first, second])
    p.expect(p.input(flo.Bag[Click], [A1], [A1]).hop(6, 4, "at"), {first: 1, second: 1}, {first: 2, second: 2})
    p.expect(p.input(flo.Set[Click], {A1}, {A1}).hop(6, 4, "at"), {first, second}, {first, second})


@FAMILY.program
def sessions_merge_and_split(p: Program) -> None:
    none = Click(None, 2)
    clicks = p.input(
        flo.ZSet[Click], {A1: 1, Click("a", 9): 2, NEVER: 1}, {Click("a", 5): 1, none: 1}, {Click("a", 5): -1}
    )
    rest = {("b", None, None, None): 1}
    apart = {("a", 1, 1, 6): 1, ("a", 9, 9, 14): 2, **rest}
    merged = {("a", 1, 1, 14): 1, ("a", 5, 1, 14): 1, ("a", 9, 1, 14): 2, **rest}
    other = {(None, 2, 2, 7): 1}
    p.expect(clicks.session(5, "at", by="user"), apart, merged | other, apart | other)


@FAMILY.program
def sessions_of_all_rows(p: Program) -> None:
    clicks = p.input(flo.ZSet[Click], {A1: 1, Click("b", 5): 1}, {Click("a", 12): 1, A1: -1})
    p.expect(
        clicks.session(5, "at"), {("a", 1, 1, 10): 1, ("b", 5, 1, 10): 1}, {("b", 5, 5, 10): 1, ("a", 12, 12, 17): 1}
    )


@FAMILY.on_every_engine
def test_window_column_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
