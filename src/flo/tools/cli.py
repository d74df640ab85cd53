"""The command `flo`: one module for each subcommand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import flo
from flo.core.errors import FloError, Origin
from flo.tools import check, run, sql, state, trace

SUBCOMMANDS = {"check": check, "run": run, "sql": sql, "state": state, "trace": trace}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand, and gives the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has no ⊔ shows another sign, and we go on
            stream.reconfigure(errors="replace")
    given = parser().parse_args(arguments)
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


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="flo", description="Streaming programs that cannot hang and cannot race.")
    top.add_argument("--version", action="version", version=f"flo {flo.__version__}")
    subcommands = top.add_subparsers(title="commands", dest="subcommand", metavar="COMMAND", required=True)
    for name, module in SUBCOMMANDS.items():
        layout = argparse.RawDescriptionHelpFormatter
        module.add_arguments(
            subcommands.add_parser(name, help=module.HELP, description=module.ABOUT, formatter_class=layout)
        )
    return top
