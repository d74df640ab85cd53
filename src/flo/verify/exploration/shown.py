"""Values as people write them, in counterexamples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flo.core.collection import End, Value
from flo.core.errors import FloError, brief
from flo.core.forms import FormedValue
from flo.core.nested import NestedValue
from flo.core.notation import text
from flo.core.term import Lowering
from flo.values.keyed import KeyedValue
from flo.values.lvar import LVarValue
from flo.values.sequence import SequenceValue
from flo.values.weighted import BagValue, SetValue, ZSetValue


def shown(value: Value) -> str:
    """The content as plain Python, oldest element first, and ⊗ if it has ended."""
    match value:
        case FormedValue():
            return shown(value.value())
        case SequenceValue():
            content = brief(value.elements.to_list())
        case SetValue():
            content = brief(set(value.weights)) if value.weights else "{}"
        case BagValue() | ZSetValue():
            content = brief(value.weights.to_dict())
        case LVarValue():
            content = brief(value.value)
        case NestedValue():
            tuples = [", ".join(map(shown, values)) for values in value]
            tuples = [f"({each})" if "," in each else each for each in tuples]
            content = f"{'…' if value.continues else ''}[{', '.join(tuples)}]"
        case KeyedValue():
            content = (
                f"{{{', '.join(f'{brief(key)}: {shown(each)}' for key, each in value.entries.to_dict().items())}}}"
            )
        case _:
            return cut(text(Lowering()(value)))
    content = cut(content)
    return content if value.end is End.OPEN else f"{content} ⊗"


def expression(thing: Any) -> str:
    """A graph or an operator as an expression; as Python shows it where its state cannot be written down."""
    try:
        return text(Lowering()(thing))
    except FloError:
        return repr(thing)


def shown_all(values: Iterable[Value]) -> str:
    return ", ".join(map(shown, values)) or "nothing"


def cut(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
