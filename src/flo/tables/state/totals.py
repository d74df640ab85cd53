"""Totals by group: a trace that adds rows with equal keys column by column. Results are rounded once.

`group_by(user)` with the sum of an integer and of a float. Number 0 is the integer and has digits at the indices 0 and
1; number 1 is the float, whose digits begin at index -1 (see limbs.py), and was nan once:

    user   ±    0:0    0:1   1:-1         1:0   1:nan
    ann    3    17     0     2147483648   4     0        3 rows; sums 17 and 4.5
    bob    2    5      1     0            2     1        2 rows; sums 5 + 2³² and nan

To add two rows of ann is to add their columns. A retraction subtracts what the row had added.

Invariant: a run has a key once, digits are in canonical form, and a row whose columns are all zero is dropped. A column
that is missing is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from flo.columns.indices import Indices, expand_ranges, has_all, has_any, one_chunk, take_rows, to_arrow
from flo.tables.state.grouping import RowsByKey
from flo.tables.state.keys import Keys
from flo.tables.state.limbs import BITS, MASK, Floats, Limbs, limbs_of
from flo.tables.state.matching import have_same_keys, match_keys
from flo.tables.state.products import Addends, ColumnProduct, sum_numbers
from flo.tables.state.run import FACTS, FILE, INDEX, Run, interleave
from flo.tables.state.trace import Trace, add_checked, group_equal_rows, sum_checked, sum_ranges, text_of
from flo.tables.values import WEIGHT
from flo.values.exact import too_large

Sums: TypeAlias = dict[str, Indices]
"""Columns of sums by name: the weight, and for the n-th number `n:index` for each digit, `n:nan`, `n:inf`, `n:-inf`.

Digits are in canonical form where they are stored, and brought into it where results are computed of them.
"""
SPECIAL = ("nan", "inf", "-inf")
"""The values that are counted, since they have no digits."""


class SummedRun(Run):
    """A run of sums with columns of NumPy. Its table is made when it is asked for: most small runs are merged first."""

    def __init__(self, keys: Keys, own: pa.Table, sums: Sums) -> None:
        vars(self).update(columns=tuple(own.schema.names), keys=keys, own=own, sums=sums, rows=own.num_rows)

    @cached_property
    def table(self) -> pa.Table:
        table = self.own
        for name, column in self.sums.items():
            table = table.append_column(name, to_arrow(column))
        return table

    def copy(self) -> Run:
        return SummedRun(self.keys, self.own, self.sums)._adopt(self, *INDEX, *FILE, *FACTS)


@dataclass(frozen=True, eq=False)
class Totals(Trace):
    """A trace of sums by key. Its rows are added up, not consolidated."""

    term = "totals"

    def join(self, runs: list[Run], *, fully: bool = False, oldest: bool = False) -> Run:
        """Merge runs, and add up the rows with equal keys column by column.

        1. If all runs have the same keys, add their columns.
        2. Otherwise interleave the runs, and group rows with equal keys.
        3. Add up the keys with several rows. The others stay as they are.
        """
        if len(runs) == 1:  # which has every key once
            return drop_zeros(runs[0])
        if all(have_same_keys(runs[0], run) for run in runs[1:]):
            return drop_zeros(self._add(runs))
        own, order, numbers = interleave([run.own for run in runs], [run.keys for run in runs])
        keys, columns = take_rows(own, order), {}
        for name in dict.fromkeys(name for run in runs for name in run.sums):  # larger numbers have more digits
            parts = [run.sums[name] if name in run.sums else np.zeros(run.rows, np.int64) for run in runs]
            columns[name] = np.concatenate(parts)[order]
        order, firsts = group_equal_rows(keys, numbers)
        if len(firsts) == len(order):
            return drop_zeros(SummedRun(numbers, keys, columns))
        counts = np.diff(firsts, append=len(order))
        several = np.flatnonzero(counts > 1)
        rows, begins = (
            order[expand_ranges(firsts[several], counts[several])],
            np.cumsum(counts[several]) - counts[several],
        )
        changed = normalize({name: sum_ranges(column[rows], begins) for name, column in columns.items()})
        firsts, sums = order[firsts], {}
        for name in dict.fromkeys([*columns, *changed]):  # the other rows are unchanged
            column = columns[name][firsts] if name in columns else np.zeros(len(firsts), np.int64)
            column[several] = changed.get(name, 0)
            sums[name] = column
        return drop_zeros(run_of_sums(take_rows(keys, firsts), Keys(numbers.at(firsts), numbers.exact), sums))

    def _add(self, runs: list[Run]) -> Run:
        """Return the sums of runs that have the same keys, each once."""
        sums = normalize(reduce(add_sums, (run.sums for run in runs)))
        return run_of_sums(runs[0].own, runs[0].keys, sums)

    def look_up(self, groups: Run) -> Sums:
        """Return the sums of these distinct groups; zeros for one that the trace lacks."""
        sums: Sums = {}
        for run in self.runs:
            ours, theirs = match_keys(groups, run)
            for name, theirs_all in run.sums.items() if len(ours) else ():
                if name not in sums:
                    sums[name] = np.zeros(groups.rows, np.int64)
                    sums[name][ours] = theirs_all[theirs]
                else:
                    sums[name][ours] = add_checked(sums[name][ours], theirs_all[theirs])
        sums.setdefault(WEIGHT, np.zeros(groups.rows, np.int64))
        return sums

    def table(self) -> pa.Table | None:
        return self.join(list(self.runs)).table if self.runs else None

    def _content(self) -> dict[str, Any]:
        """Return the sums of every group as fractions: the digits of a number are not unique."""
        table = self.table()
        content = {}
        for row in [] if table is None else table.to_pylist():
            sums: dict[str, Fraction] = {}
            for name in row.keys() - {*self.columns}:
                place, _, index = name.partition(":")
                if index in ("", *SPECIAL):
                    sums[name] = Fraction(row[name])
                else:
                    sums[place] = sums.get(place, Fraction()) + row[name] * Fraction(2) ** (BITS * int(index))
            group = text_of({name: row[name] for name in self.columns})
            content[group] = {name: number for name, number in sums.items() if number}
        return content


def run_of_sums(keys: pa.Table, numbers: Keys, sums: Sums, always: str = WEIGHT) -> Run:
    """Return sums by key as a run, without columns that are all zero, except one. The keys are sorted."""
    return SummedRun(
        numbers, keys, {name: column for name, column in sums.items() if name == always or has_any(column)}
    )


def numbers_in(table: pa.Table, name: str) -> Indices:
    """Return a column of int64, without a copy."""
    return np.asarray(one_chunk(table[name]))


def drop_zeros(run: Run) -> Run:
    """Return the run without rows whose columns are all zero."""
    if has_all(run.sums[WEIGHT]):
        return run
    kept = np.logical_or.reduce([column != 0 for column in run.sums.values()])
    return run if kept.all() else run.take(np.flatnonzero(kept))


Summed: TypeAlias = Addends | ColumnProduct
"""A column of numbers that are added up."""


def sums_of(weights: Indices, columns: Mapping[int, Summed], rows: RowsByKey) -> Sums:
    """Return the sums over the rows of each key, times their weights."""
    sums: Sums = {WEIGHT: sum_checked(weights, rows.add)}
    for place, column in columns.items():
        sums.update(_named(place, sum_numbers(column, weights, rows)))
        if isinstance(column, Addends):
            for name, there in find_specials(column.array):
                sums[f"{place}:{name}"] = sum_checked(np.where(there, weights, 0), rows.add)
    return sums


def find_specials(array: pa.Array) -> list[tuple[str, Any]]:
    """Return the names of special values that a column has, and for each which rows have it."""
    if not pa.types.is_floating(array.type):
        return []
    values = np.asarray(array)
    if has_all(np.isfinite(values)):
        return []
    flags = zip(SPECIAL, (np.isnan(values), values == np.inf, values == -np.inf), strict=True)
    return [(name, there) for name, there in flags if there.any()]


def _named(place: int, limbs: Limbs) -> Sums:
    """Return the digits of the n-th number as columns."""
    return {f"{place}:{limbs.low + index}": digit for index, digit in enumerate(limbs.digits)}


def add_sums(one: Sums, other: Sums) -> Sums:
    """Return the elementwise sums of both."""
    both = {**other, **one}
    return {**both, **{name: add_checked(one[name], other[name]) for name in one.keys() & other.keys()}}


def concat_sums(one: Sums, other: Sums) -> Sums:
    """Return the sums of some groups, and behind them those of others."""
    first, second = np.zeros(len(one[WEIGHT]), np.int64), np.zeros(len(other[WEIGHT]), np.int64)
    return {name: np.concatenate([one.get(name, first), other.get(name, second)]) for name in one | other}


def normalize(sums: Sums) -> Sums:
    """Return the sums with digits in canonical form."""
    indices = {name.split(":")[0] for name in sums if ":" in name}
    kept = {name: column for name, column in sums.items() if name.split(":")[-1] in (*SPECIAL, WEIGHT)}
    for place in indices:
        kept.update(_named(int(place), digits_of(sums, int(place)).carry()))
    return kept


def digits_of(sums: Sums, place: int) -> Limbs:
    """Return the digits of one of the summed numbers."""
    digits, number = {}, str(place)
    for name, column in sums.items():
        of, _, index = name.partition(":")
        if of == number and index not in SPECIAL:
            digits[int(index)] = column
    return limbs_of(digits, len(sums[WEIGHT]))


def as_floats(sums: Sums, place: int, mean: bool = False) -> Floats:
    """Return the sums as floats, or with `mean` the sums divided by the weights, which must not be zero."""
    results = digits_of(sums, place).to_floats(sums[WEIGHT] if mean else None)
    if not any(f"{place}:{name}" in sums for name in SPECIAL):
        return results
    nothing = np.zeros(len(results), np.int64)
    nan, up, down = (np.sign(sums.get(f"{place}:{name}", nothing)) for name in SPECIAL)
    sign = np.where(sums[WEIGHT] < 0, -1, 1) if mean else 1
    up, down = up * sign, -down * sign
    results[up + down > 0], results[up + down < 0] = np.inf, -np.inf
    results[(nan != 0) | (up * down < 0)] = np.nan
    return results


def as_array(sums: Sums, place: int, kind: pa.DataType, name: Any) -> pa.Array:
    """Return the sums as a column of floats, int64 or decimals. `name(index)` names a group whose sum does not fit."""
    if pa.types.is_floating(kind):
        return to_arrow(as_floats(sums, place))
    if pa.types.is_decimal(kind):
        return as_decimals(sums, place, kind, kind, name)
    limbs = digits_of(sums, place).carry()
    values, large = limbs.to_ints()
    if len(large):
        raise too_large(limbs.pad_to_zero().number(int(large[0])), "64 bits", name(int(large[0])))
    return to_arrow(values)


def as_decimals(
    sums: Sums, place: int, given: pa.DataType, kind: pa.DataType, name: Any, mean: bool = False
) -> pa.Array:
    """Return sums of decimals, or with `mean` their quotients by weights, as decimals with at least as many places."""
    limbs = digits_of(sums, place).carry().pad_to_zero().times_ten(kind.scale - given.scale)
    return _decimals(limbs.divide(sums[WEIGHT]) if mean else limbs, kind, name)


def as_list(sums: Sums, place: int, kind: pa.DataType) -> list[Any]:
    """Return the sums as Python numbers of any size."""
    if pa.types.is_floating(kind):
        return list(as_floats(sums, place).tolist())
    limbs = digits_of(sums, place).carry().pad_to_zero()
    if pa.types.is_decimal(kind):
        return [Fraction(limbs.number(at), 10**kind.scale) for at in range(limbs.digits.shape[1])]
    values, large = limbs.to_ints()
    numbers = list(values.tolist())
    for at in large:
        numbers[at] = limbs.number(int(at))
    return numbers


def _decimals(limbs: Limbs, kind: pa.DataType, name: Any) -> pa.Array:
    """Return numbers, in units of the last place, as a column of decimals. Raise if one has too many digits."""
    limit = 10**kind.precision
    if limit < 1 << (BITS * len(limbs.digits) - 1):  # with fewer digits, all numbers fit
        for place in np.flatnonzero(np.abs(limbs.to_floats()) >= 0.99 * limit):
            if abs(number := limbs.number(int(place))) >= limit:
                raise too_large(number, f"{kind.precision} digits", name(int(place)))
    above = -limbs.negative().astype(np.int64)  # the digits above the highest
    digits = [limbs.digits[index] if index < len(limbs.digits) else above for index in range(4)]
    halves = [low & MASK | high << BITS for low, high in (digits[:2], digits[2:])]
    words = np.stack(halves, axis=1)
    return pa.Array.from_buffers(kind, words.shape[0], [None, pa.py_buffer(words)])
