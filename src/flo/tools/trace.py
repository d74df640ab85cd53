"""`flo trace FILE`: the flow of a file as a page that takes one small step at a time, as the reader chooses."""

from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path
from typing import Any

from flo.api.flow import Flow
from flo.api.running import expect_known
from flo.columns.dicts import from_dicts
from flo.core.errors import FloError
from flo.pictures import save_stepper
from flo.pictures.states import MOST_STATES
from flo.tools.load import find_target, isolated, load
from flo.tools.run import find_flow, split_pairs

ABOUT = """\
Writes a page with all states that the flow of a file can reach on the data given. It opens in any browser, and takes
one small step at a time, forwards and backwards, with a choice among the enabled ones and the rule of each.

  flo trace orders.py --input 'orders=[3, 1, 2]' --html steps.html
  flo trace auctions.py::auctions --input bids=bids.json --html steps.html

Data is a value as Python writes it, or a file of JSON: a list, or what `flow.explore` takes. A row may be a dict.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a Python file or a module, and ::NAME of the flow if it has several"
    )
    parser.add_argument("--input", action="append", default=[], metavar="NAME=DATA|FILE.json")
    parser.add_argument("--html", required=True, metavar="PAGE", help="the page to write")
    parser.add_argument(
        "--states",
        type=int,
        default=MOST_STATES,
        metavar="N",
        help=f"the most states that the page holds (default: {MOST_STATES:,})",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.states < 1:
        raise FloError(f"`--states` must be an integer ≥ 1; got {given.states}")
    file, _, name = given.file.partition("::")
    where = find_target(file)
    with isolated(where):
        flow = find_flow(load(where), name)
        data = {each: read_data(flow, each, text) for each, text in split_pairs(given.input).items()}
        graph = save_stepper(flow._scenario(data), given.html, given.states)
    cut = f"; cut: {len(graph.open):,} of them have more steps" if graph.open else ""
    print(f"{given.html}: {len(graph.states):,} states{cut}")
    return 0


def read_data(flow: Flow, name: str, text: str) -> Any:
    """Return the data of an input: a value of Python, or the content of a file of JSON."""
    inputs = {stream.name: stream for stream in flow._scope.inputs}
    element = getattr(inputs[expect_known(name, inputs, "input")].collection, "element", None)
    if text.endswith(".json"):
        try:
            value = json.loads(Path(text).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FloError(
                f"the data of `{name}` cannot be read from `{text}`", facts=(("reason", str(error)),)
            ) from None
    else:
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            raise FloError(
                f"the data of `{name}` must be a value of Python or a file of JSON; got `{text}`",
                instead=((f"--input '{name}=[1, 2, 3]'", "in quotes"), (f"--input {name}=data.json", "")),
            ) from None
    return from_dicts(element, value)
