"""What a changed program concerns: which operators and inputs are not those of before, and how to fill them.

    before                                now                                     not those of before
    orders read in the order of `at`      orders read in the order of `offset`    orders, and all that reads it
    map(clean_price)                      map(clean_price), refill                that map, and all that reads it

Invariant: whatever depends on rows that are not those of before is filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flo.core.errors import UnknownNameError
from flo.core.program_outline import find_changed_lambdas, find_replaced, from_plain
from flo.shards.checkpoint.commits import read_commit
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.program_changes import Description, input_names
from flo.shards.checkpoint.spark_logs import ENDED
from flo.shards.evolution.comparison import ProgramComparison, compare_programs
from flo.shards.evolution.filling import FillBuilder, FillProgram
from flo.shards.evolution.snapshots import is_whole
from flo.shards.program import ShardedProgram
from flo.shards.tasks.hot_keys import hot_in
from flo.shards.tasks.output_files import COUNT


def plan_change(
    program: ShardedProgram,
    where: str,
    version: int,
    before: Description,
    ours: Description,
    refill: Sequence[str] = (),
) -> tuple[ProgramComparison, FillProgram]:
    """Compares our program with that of a version, and plans how to fill what is not kept."""
    outlines = from_plain(before["outline"]), from_plain(ours["outline"])
    stale = ids_with_functions(ours, refill) | changed_sources(before, ours) | find_replaced(*outlines)
    stale |= {each.partition("/")[0] for each in find_changed_lambdas(*outlines)}
    spread = {delivery.join for delivery in program.plan.deliveries}
    stale |= hot_in(Checkpoint(where).state_versions(version)).keys() - spread  # their rows must be together now
    compared = compare_programs(before, ours, program.dag, stale)
    return compared, plan_fill(program, where, version, compared)


def plan_fill(program: ShardedProgram, where: str, version: int, compared: ProgramComparison) -> FillProgram:
    """How to fill what is not kept."""
    ended = ended_inputs(where, version, compared.before)
    names = list(program.output_types)
    wanted = frozenset(name for name in names if compared.ours["outputs"][name] != COUNT)
    whole = partial(is_whole, Checkpoint(where), version)
    return FillBuilder(compared, names, wanted, ended, whole).fill


def changed_sources(before: Description, ours: Description) -> frozenset[str]:
    """The names of inputs whose rows are not those of before: Catalyst computes them in another way, or they could be
    retracted, and the new program does not take retractions."""
    theirs, own = (_by_input(each["sources"]) for each in (before, ours))
    computed = {name for name in own if name in theirs and theirs[name] != own[name]}
    return frozenset(computed | (_retractable_inputs(before) & {*input_names(ours)} - _retractable_inputs(ours)))


def _retractable_inputs(description: Description) -> set[str]:
    """The names of inputs that are z-sets."""
    return {
        name for name, _, kind in (line.partition(": ") for line in description["inputs"]) if kind.startswith("ZSet")
    }


def _by_input(lines: list[str]) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for line in lines:
        name, _, how = line.partition(": ")
        named.setdefault(name, []).append(how)
    return named


def ids_with_functions(ours: Description, names: Sequence[str]) -> frozenset[str]:
    """The ids of operators that call functions of these names, in their bodies too. Raises if none does."""
    functions = [(each.id, called.identity) for each in from_plain(ours["outline"]) for called in each.functions]
    for name in names:
        if not any(function.is_called([name]) for _, function in functions):
            known = dict.fromkeys(function.name for _, function in functions if _is_plain(function.name))
            raise UnknownNameError(
                f"`refill` names `{name}`, which no operator calls", facts=(("functions", ", ".join(known) or "none"),)
            )
    return frozenset(own.partition("/")[0] for own, function in functions if function.is_called(names))


def _is_plain(name: str) -> bool:
    """Whether it is the name of a function, and not the text of an expression."""
    return bool(name) and all(part.isidentifier() for part in name.replace("<locals>", "locals").split("."))


def ended_inputs(where: str, version: int, description: Description) -> frozenset[str]:
    """The names of the inputs that have ended."""
    names = input_names(description)
    return frozenset(names[place] for place in read_commit(where, version).get(ENDED, ()))
