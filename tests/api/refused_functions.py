"""Functions and states whose types do not fit the stream."""

from __future__ import annotations

# mypy: ignore-errors
# pyright: basic, reportAttributeAccessIssue=false
import flo


def _shouted(text: str) -> str:
    return text.upper()


def function_of_another_type():
    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.map(_shouted)


def function_that_does_not_take_none():
    def doubled(number: int) -> int:
        return 2 * number

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int | None])
    numbers.map(doubled)


def function_that_does_not_take_a_missing_partner():
    def described(person: tuple[int, str], visit: int) -> str:
        return f"{person[1]}: {visit}"

    flow = flo.Flow("members")
    people = flow.input("people", flo.ZSet[tuple[int, str]])
    visits = flow.input("visits", flo.ZSet[int])
    people.join(visits, lambda person: person[0], lambda visit: visit, into=described, how="left")


def key_function_of_another_type():
    flow = flo.Flow("members")
    people = flow.input("people", flo.Keyed[int, flo.Bag[str]])
    people.filter_keys(_shouted)


def function_that_makes_no_values_of_the_lattice():
    flow = flo.Flow("names")
    names = flow.input("names", flo.Sequence[str])
    names.fold_lattice(flo.Max(int), _shouted)


def initial_value_of_another_type():
    def total(so_far: int, number: int) -> int:
        return so_far + number

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.scan("", total)


def state_of_another_type():
    def total(so_far: int, number: int) -> str:
        return str(so_far + number)

    flow = flo.Flow("totals")
    numbers = flow.input("numbers", flo.Sequence[int])
    numbers.scan(0, total)


def join_of_keys_that_are_never_equal():
    def number(person: tuple[int, str]) -> int:
        return person[0]

    flow = flo.Flow("members")
    people = flow.input("people", flo.ZSet[tuple[int, str]])
    visits = flow.input("visits", flo.ZSet[str])
    people.join(visits, on=number, other_on=_shouted)
