"""The command `flo`: one module for each subcommand."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

import flo
from flo.core.errors import FloError, Origin

SUBCOMMANDS = {
    "check": "type and check every flow of a file",
    "run": "run the flow of a file, on Spark or here",
    "sql": "maintain the views of an SQL file",
    "state": "show, verify, tag or copy a checkpoint",
    "trace": "write a page that runs the flow of a file step by step",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand, and gives the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has no ⊔ shows another sign, and we go on
            stream.reconfigure(errors="replace")
    arguments = sys.argv[1:] if arguments is None else arguments
    given = parser(next((each for each in arguments if not each.startswith("-")), None)).parse_args(arguments)
    caller = Origin.here()
    try:
        return int(given.run(given))
    except FloError as error:
        if error.where == caller:  # the command itself is no line of the user's program
            error.where = None
        print(f"flo {given.subcommand}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"flo {given.subcommand}: stopped by Ctrl-C", file=sys.stderr)
        return 130


def parser(asked: str | None) -> argparse.ArgumentParser:
    """Return the parser of the command. Only the module of the subcommand that is asked for is imported."""
    top = argparse.ArgumentParser(prog="flo", description="Streaming programs that cannot hang and cannot race.")
    top.add_argument("--version", action="version", version=f"flo {flo.__version__}")
    subcommands = top.add_subparsers(title="commands", dest="subcommand", metavar="COMMAND", required=True)
    for name, summary in SUBCOMMANDS.items():
        subcommand = subcommands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == asked:
            module = import_module(f"flo.tools.{name}")
            subcommand.description = module.ABOUT
            module.add_arguments(subcommand)
    if asked is not None and asked not in SUBCOMMANDS:
        close = difflib.get_close_matches(asked, SUBCOMMANDS, n=1)
        meant = f" Did you mean `flo {close[0]}`?" if close else ""
        top.error(f"there is no command `{asked}`.{meant} The commands are {', '.join(SUBCOMMANDS)}")
    return top
