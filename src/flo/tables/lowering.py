"""From the program that the verbs have built to the one that runs on tables. Every engine on tables begins here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import flo.tables.operators  # noqa: F401  # registers the operators on tables
from flo.core.errors import TypeMismatch
from flo.core.stream_type import StreamType
from flo.program.dag import Dag
from flo.program.derive import derive_table_types
from flo.program.hoisting import hoist_invariants
from flo.program.pruning import prune_columns
from flo.tables.io.files import WEIGHTS
from flo.tables.translate import translate
from flo.tables.values import layout_of
from flo.values.weighted import Bag, ZSet

if TYPE_CHECKING:
    from flo.api.flow import Flow


def lower_flow(
    flow: Flow, input_type: Callable[[StreamType], StreamType], output_type: Callable[[StreamType], StreamType]
) -> Dag:
    """The program of a flow on tables, with the ids of its vertices. Raises if an output cannot be a table.

    `input_type` gives the type of an input on tables; `output_type` that of an output, from what the program gives.
    """
    flow.type()
    names = (*flow._outputs, *flow._late())
    typed = derive_table_types(flow._identified(), names)
    for name, output in zip(names, typed.output_types, strict=True):
        _expect_no_weights(name, output)
    pruned = prune_columns(hoist_invariants(typed))
    return translate(pruned, tuple(map(input_type, pruned.input_types)), output_type)


def _expect_no_weights(name: str, output: StreamType) -> None:
    """Raises if rows have a column with the name of their weights in tables of the user."""
    of = output.collection
    if isinstance(of, (Bag, ZSet)) and WEIGHTS in layout_of(of).names:
        raise TypeMismatch(
            f"the output `{name}` cannot be a table: a column of its rows has the name of their weights, `{WEIGHTS}`",
            facts=((name, output.described()),),
            instead=((f'stream.rename({WEIGHTS}="…")', "another name"),),
        ).at_users_line()
