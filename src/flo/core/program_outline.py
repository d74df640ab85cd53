"""The outline of a program, which a checkpoint keeps: its operators in the user's words, and their functions.

The text of a graph says whether two programs are the same. Two outlines say what has changed, where, and whether a
function may have: a restored program is compared with the outline of the one that wrote the state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from flo.core.errors import CheckpointError, shorten
from flo.core.function_identity import Identity, ValueTexts, changed_values, has_other_code

WIDEST = 100
"""How many characters of an operator or of a function an error shows."""
ANOTHER = "belongs to another program"
_NUMBERED = re.compile(r"^(#?[0-9a-f]{20})/\d+(?![0-9a-f])")
_MODULE = re.compile(r"\b(data|namedtuple|enum)\('[\w.]*:")
Facts: TypeAlias = tuple[tuple[str, str], ...]
RESUMES = ("the program as it was", "resumes")
ANEW = ("another checkpoint", "starts from scratch, and computes everything anew")


@dataclass(frozen=True)
class AppliedFunction:
    """A function of an operator."""

    identity: Identity
    retracted: str = ""
    """Why its results are computed again, to retract them; nothing if they never are."""


@dataclass(frozen=True)
class AppliedOperator:
    """An operator of a program, as the user wrote it."""

    id: str
    verb: str
    words: str
    """The verb with its arguments."""
    line: str
    shape: str
    """The operator without its functions."""
    reads: tuple[str, ...]
    """The streams that it reads: names of inputs, and ids of operators."""
    outputs: tuple[str, ...]
    """The outputs of the program that depend on it."""
    functions: tuple[AppliedFunction, ...] = ()


Outline: TypeAlias = tuple[AppliedOperator, ...]


def to_plain(outline: Outline) -> tuple[Any, ...]:
    """Return an outline as tuples of strings."""
    return tuple(
        (
            *(each.id, each.verb, each.words, each.line, each.shape, each.reads, each.outputs),
            tuple(
                (f.name, f.label, f.line, f.code, f.captured, f.reads, applied.retracted)
                for applied in each.functions
                for f in [applied.identity]
            ),
        )
        for each in outline
    )


def from_plain(plain: Any) -> Outline:
    """Return the outline that `to_plain` wrote, perhaps as lists."""
    try:
        return tuple(map(_operator, plain))
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"the outline of the program is malformed: {error}") from None


def _operator(plain: Any) -> AppliedOperator:
    own_id, verb, words, line, shape, reads, outputs, functions = plain
    return AppliedOperator(
        *(str(own_id), str(verb), str(words), str(line), str(shape)),
        reads=tuple(map(str, reads)),
        outputs=tuple(map(str, outputs)),
        functions=tuple(map(_function, functions)),
    )


def _function(plain: Any) -> AppliedFunction:
    name, label, line, code, captured, reads, retracted = plain
    texts = str(name), str(label), str(line), str(code)
    return AppliedFunction(Identity(*texts, _values(captured), _values(reads)), str(retracted))


def _values(plain: Any) -> ValueTexts:
    return tuple((str(name), str(value)) for name, value in plain)


def expect_same_outline(before: Outline, ours: Outline, state: str = "the state") -> None:
    """Raise, with what has changed, if our program cannot resume from the state of the one before."""
    theirs, own = {each.id: _key(each) for each in before}, {each.id: _key(each) for each in ours}
    if theirs == own:  # perhaps in another order
        by_id = {each.id: each for each in before}
        before = tuple(by_id[each.id] for each in ours)
    elif list(map(_key, before)) != list(map(_key, ours)):
        raise _changed_operator(before, ours, state)
    for old, new in zip(before, ours, strict=True):
        for their, our in zip(old.functions, new.functions, strict=True):
            _expect_same_function(their.identity, our, old, new, state)
        if _rows_read(old) != _rows_read(new):
            facts = (*_place(new), ("it read", _streams(before, old)), ("it reads", _streams(ours, new)))
            raise CheckpointError(
                f"{state} {ANOTHER}: {_called(new)} reads other streams", facts=facts, instead=(RESUMES, ANEW)
            )


def find_replaced(before: Outline, ours: Outline) -> frozenset[str]:
    """Return the ids that the user has named and that stand for another operator or body now, or for other streams."""
    both = _operators_of_both(before, ours)
    replaced = {new.id for old, new in both if _key(old) != _key(new) or _rows_read(old) != _rows_read(new)}
    return frozenset(replaced | {new.id for _, new in both if _inside(before, new.id) != _inside(ours, new.id)})


def _inside(outline: Outline, around: str) -> set[str]:
    """Return the ids of the operators in the body of another one."""
    return {without_number(each.id) for each in outline if each.id.startswith(f"{around}/")} - {around}


def find_changed_lambdas(before: Outline, ours: Outline) -> frozenset[str]:
    """Return the ids of operators whose lambda reads another value than before, such as a constant of its module, and
    whose results may be retracted."""
    changed = set()
    for old, new in _operators_of_both(before, ours):
        for their, our in zip(old.functions, new.functions, strict=False):
            if not our.identity.name and our.retracted and their.identity.code == our.identity.code:
                was, now = ((*each.captured, *each.reads) for each in (their.identity, our.identity))
                changed |= {new.id} if any(changed_values(was, now)) else set()
    return frozenset(changed)


def _operators_of_both(before: Outline, ours: Outline) -> list[tuple[AppliedOperator, AppliedOperator]]:
    by_id = {each.id: each for each in before}
    return [(by_id[each.id], each) for each in ours if each.id in by_id]


def _rows_read(operator: AppliedOperator) -> list[str]:
    """Return the streams that an operator reads, whichever of several equal operators emits them."""
    return [without_number(each) for each in operator.reads]


def expect_same_functions(before: Outline, ours: Outline, refill: Sequence[str]) -> None:
    """Raise if a function of an operator that both programs have has changed so that its state does not fit any more.

    What depends on the functions that `refill` names is computed anew, and what depends on a changed lambda."""
    computed = find_changed_lambdas(before, ours)
    for old, new in _operators_of_both(before, ours):
        for their, our in zip(old.functions, new.functions, strict=False):
            if not our.identity.is_called(refill) and (our.identity.name or new.id not in computed):
                _expect_same_function(their.identity, our, old, new, "the checkpoint")


def _key(operator: AppliedOperator) -> tuple[Any, ...]:
    """Return what must be equal of two operators besides the streams that they read and the code of functions."""
    return (operator.shape, *(each.identity.name for each in operator.functions))


def _changed_operator(before: Outline, ours: Outline, state: str) -> CheckpointError:
    matcher = SequenceMatcher(None, [repr(_key(each)) for each in before], [repr(_key(each)) for each in ours], False)
    for kind, start, stop, first, last in matcher.get_opcodes():
        old, new = before[start:stop], ours[first:last]
        if kind == "insert":
            facts = (*_place(new[0]), ("now", _with_line(new[0], new[0].words)), ("before", "it was not there"))
            return CheckpointError(
                f"{state} {ANOTHER}: {_called(new[0])} was added", facts=facts, instead=(RESUMES, ANEW)
            )
        if kind == "delete":
            facts = (*_place(old[0]), ("before", _with_line(old[0], old[0].words)), ("now", "it is not there"))
            return CheckpointError(
                f"{state} {ANOTHER}: {_called(old[0])} was removed", facts=facts, instead=(RESUMES, ANEW)
            )
        if kind == "replace":
            return _replaced_operator(old[0], new[0], state)
    raise AssertionError("the outlines are equal")


def _replaced_operator(old: AppliedOperator, new: AppliedOperator, state: str) -> CheckpointError:
    was, now = tell_apart(*_different_texts(old, new))
    facts = (*_place(new), ("before", _with_line(old, was)), ("now", _with_line(new, now)))
    same = old.verb == new.verb
    what = f"{_called(new)} has changed" if same else f"{_called(old)} became {_called(new)}"
    named = ("def name(…)", "a named function keeps its name when its code changes")
    lambdas = any(not each.identity.name for each in new.functions)
    instead = (RESUMES, ANEW, named) if same and lambdas else (RESUMES, ANEW)
    return CheckpointError(f"{state} {ANOTHER}: {what}", facts=facts, instead=instead)


def _different_texts(old: AppliedOperator, new: AppliedOperator) -> tuple[str, str]:
    """Return the first description of both operators in which they differ."""
    for was, now in (
        (old.words, new.words),
        *((a.identity.name, b.identity.name) for a, b in zip(old.functions, new.functions, strict=False)),
    ):
        if was != now:
            return was, now
    return old.shape, new.shape


def _expect_same_function(
    old: Identity, applied: AppliedFunction, was_in: AppliedOperator, operator: AppliedOperator, state: str
) -> None:
    """Raise if a function has changed so that the state does not fit it any more."""
    new = applied.identity
    changed = has_other_code(old.code, new.code)
    if changed and not new.name:
        was, now = tell_apart(old.label, new.label)
        raise CheckpointError(
            f"{state} {ANOTHER}: a lambda of {_called(operator)} has changed",
            facts=(*_place(operator), ("before", _with_line(was_in, was)), ("now", _with_line(operator, now))),
            instead=(RESUMES, ANEW, ("def name(…)", "a named function may change, if no row can be retracted")),
        )
    named = f"`{new.label}`" if new.name else "a lambda"
    function = ("function", _with_line(new, new.label))
    for name, was, now in changed_values(old.captured, new.captured):
        if changed and "nothing" in (was, now):  # a value that only the new code uses
            continue
        raise CheckpointError(
            f"{state} {ANOTHER}: {named} of {_called(operator)} has captured another value",
            facts=(*_place(operator), function, *_change(name, was, now)),
            instead=(RESUMES, ANEW),
        )
    values = next(changed_values(old.reads, new.reads), None)
    if not applied.retracted or not (changed or values):
        return
    facts = (*_place(operator), ("used in", _with_line(operator, operator.words)), function)
    if not changed and values is not None:
        facts = (*facts, *_change(*values))
    again = ((f'changed="fill", refill=["{new.label}"]', "computes what depends on it anew"),) if new.name else ()
    raise CheckpointError(
        f"{state} has results of {named} as it was: it has changed, and could not retract them",
        facts=(*facts, ("retracted", applied.retracted)),
        instead=((f"{named} as it was", "resumes"), *again, ANEW),
    )


def _change(name: str, was: str, now: str) -> Facts:
    if name.endswith("(…)"):
        return (("changed", f"it calls `{name.removesuffix('(…)')}`, whose code has changed"),)
    if was.rpartition(" ")[0] == now.rpartition(" ")[0] != "":  # a class and a digest
        return (("changed", f"`{name}`, another {was.rpartition(' ')[0]} than before"),)
    return (("changed", f"`{name}` was {was}, and is {now}"),)


def _place(operator: AppliedOperator) -> Facts:
    names = ", ".join(f"`{name}`" for name in operator.outputs)
    return (("output" if len(operator.outputs) == 1 else "outputs", names),) if names else ()


def _called(operator: AppliedOperator) -> str:
    return f"`{operator.verb}`"


def _with_line(of: AppliedOperator | Identity, text: str) -> str:
    short = shorten(text, WIDEST)
    return f"{short}   ({of.line})" if of.line else short


def _streams(outline: Outline, operator: AppliedOperator) -> str:
    """Return the streams that an operator reads, by the name of the input or the verb that makes them."""
    words = {each.id: each.words for each in outline}
    return ", ".join(words.get(each.removeprefix("#").rpartition(":")[0], each) for each in operator.reads)


def without_number(name: str) -> str:
    """Return an id, or the name of a stream, without the number that tells an operator from others like it."""
    return _NUMBERED.sub(r"\1", name)


def without_modules(text: str) -> str:
    """Return the text of a graph without the modules of classes: a script has another one when it is imported."""
    return _MODULE.sub(r"\1('", text)


def tell_apart(one: str, other: str, most: int = WIDEST) -> tuple[str, str]:
    """Return two different texts so short that they can be shown, and still different."""
    if one == other or max(len(one), len(other)) <= most:
        return one, other
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, place - most // 2)

    def part(text: str) -> str:
        end = start + most
        return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")

    return part(one), part(other)


def expect_same_lines(theirs: Iterable[object], ours: Iterable[str], state: str = "the state") -> None:
    """Raise at the first difference of lines that describe inputs and outputs: `input orders: ZSet[int]`."""
    before, now = _by_name(map(str, theirs)), _by_name(ours)
    for name in dict.fromkeys((*before, *now)):
        old, new = before.get(name, "it was not there"), now.get(name, "it is not there")
        if old != new:
            kind, _, named = name.partition(" ")
            what = "was added" if name not in before else "was removed" if name not in now else "has changed"
            was, is_now = tell_apart(old, new)
            raise CheckpointError(
                f"{state} {ANOTHER}: the {kind} `{named}` {what}",
                facts=(("before", was), ("now", is_now)),
                instead=(RESUMES, ANEW),
            )
    if list(before) != list(now):
        facts = (("before", ", ".join(before)), ("now", ", ".join(now)))
        raise CheckpointError(
            f"{state} {ANOTHER}: inputs or outputs have another order", facts=facts, instead=(RESUMES, ANEW)
        )


def _by_name(lines: Iterable[str]) -> dict[str, str]:
    """Return the lines by the name before the colon."""
    named: dict[str, list[str]] = {}
    for line in lines:
        name, _, text = line.partition(": ")
        named.setdefault(name, []).append(text)
    return {name: ", ".join(texts) for name, texts in named.items()}
