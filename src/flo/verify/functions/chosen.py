"""Which laws are tried on a function: those that were asked for, or those that suit what is known of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flo.core.errors import LawError, Origin, brief
from flo.core.labels import label
from flo.verify import laws as law
from flo.verify.functions.equations import Function
from flo.verify.functions.parameters import parameters
from flo.verify.laws import Law

OF_LATTICES = (law.A_FUNCTION, law.MONOTONE)
"""The laws of a function from one lattice to another."""


def chosen_laws(
    f: Function,
    types: tuple[Any, ...],
    asked: Law | Iterable[Law] | None,
    start: Any,
    inverse: Function | None,
    lattices: Any,
) -> tuple[Law, ...]:
    """One law or several; with an `inverse` also that it is one."""
    chosen = default_laws(f, types, start, lattices) if asked is None else _several(asked)
    if not chosen:
        raise _refused(f"there is no law to try on `{label(f)}`: `laws` is empty")
    known = law.FUNCTION_LAWS if lattices is None else OF_LATTICES
    for each in chosen:
        if each == law.MONOTONE and lattices is None:
            instead = ("check(f, L, M)", "the lattices that it leads from and to")
            raise _refused(f"whether `{label(f)}` is monotone cannot be tried without lattices", instead)
        if each == law.INVERSE and inverse is None:
            instead = ("inverse=g", "the function that takes back what it adds")
            raise _refused(f"whether `{label(f)}` has an inverse cannot be tried without it", instead)
        if each not in known:
            shown = f"`{each}`" if isinstance(each, Law) else brief(each)
            raise _refused(f"{shown} is none of the laws {', '.join(one.name for one in known)}")
    return chosen if inverse is None or law.INVERSE in chosen else (*chosen, law.INVERSE)


def default_laws(f: Function, types: tuple[Any, ...], start: Any, lattices: Any) -> tuple[Law, ...]:
    if lattices is not None:
        return OF_LATTICES
    count = parameters(f, types, start)
    return (law.A_FUNCTION, law.COMMUTATIVE) if count == 2 else (law.A_FUNCTION,)


def _several(asked: Any) -> tuple[Law, ...]:
    if isinstance(asked, Law):
        return (asked,)
    if isinstance(asked, (str, bytes)) or not isinstance(asked, Iterable):
        raise _refused(f"`laws` are those of `flo.verify.laws`, and {brief(asked)} is none")
    return tuple(asked)


def _refused(summary: str, instead: tuple[str, str] = ("laws=[flo.verify.laws.COMMUTATIVE]", "")) -> LawError:
    return LawError(summary, instead=(instead,), where=Origin.here())
