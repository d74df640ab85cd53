"""Functions of rows that are made of columns, and the keys of what they make. `columns/` has these functions."""

from __future__ import annotations

from flo.core.facts import PrimaryKey
from flo.core.untyped import AnyFunction


class RowFunction:
    """A function of a row, or of two, that says which columns it passes on. Other functions say nothing of it."""

    __name__: str

    def __repr__(self) -> str:
        return self.__name__

    def copies(self, column: str) -> tuple[str, ...]:
        """Return the columns of the result that are this column of the first row."""
        return ()

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return these columns of the first row as columns of the result; None if one of them is not passed on."""
        copies = [self.copies(column) for column in columns]
        return tuple(names[0] for names in copies) if all(copies) else None

    def passed_second(self, columns: tuple[str, ...], same: dict[str, str]) -> tuple[str, ...] | None:
        """Return the same for columns of the second row. Those in `same` equal columns of the first."""
        return None


def passed_by(f: AnyFunction | None, columns: PrimaryKey) -> PrimaryKey:
    """Return the columns of a function's results that are these columns of the first row; None if that is not known."""
    return f.passed(columns) if columns is not None and isinstance(f, RowFunction) else None


def selected_columns(f: AnyFunction | None) -> PrimaryKey:
    """Return the columns that a key function reads, if it is made of nothing else."""
    if f is None:
        return ()
    columns = getattr(f, "given", None)
    columns = columns if isinstance(columns, tuple) else (columns,)
    return columns if all(isinstance(each, str) for each in columns) else None


def pair_key(
    on: AnyFunction | None,
    other_on: AnyFunction | None,
    into: AnyFunction | None,
    left: PrimaryKey,
    right: PrimaryKey,
    *,
    left_alone: bool = False,
) -> PrimaryKey:
    """Return the key of pairs with equal `on` and `other_on`: the keys of both sides, or that of one side if each of
    its rows has one partner at most. With `left_alone`, left rows without a partner are there, too."""
    left_on, right_on = selected_columns(on) or (), selected_columns(other_on) or ()
    if right is not None and set(right) <= set(right_on):
        return passed_by(into, left)
    if left is None or right is None or not isinstance(into, RowFunction):
        return None
    same = dict(zip(right_on, left_on, strict=True)) if len(left_on) == len(right_on) else {}
    second = into.passed_second(right, same)
    if set(left) <= set(left_on) and not left_alone:
        return second
    first = into.passed(left)
    return None if first is None or second is None else tuple(dict.fromkeys((*first, *second)))
