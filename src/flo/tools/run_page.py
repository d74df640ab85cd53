"""The page of a run, for commands: `--ui` serves it, `--html` saves it."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from typing import TYPE_CHECKING

from flo.core.errors import FloError

if TYPE_CHECKING:
    from flo.spark.driver.query import Query


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add `--ui` and `--html`."""
    about = "serve a page of the run on this machine, at a free port or at PORT, until Ctrl-C"
    parser.add_argument("--ui", nargs="?", type=int, const=0, metavar="PORT", help=about)
    parser.add_argument("--html", metavar="FILE", help="save the page of the run when it ends")


def expect_no_page(given: argparse.Namespace, why: str) -> None:
    """Reject the options where there are no micro-batches to show."""
    for option in ("ui", "html"):
        if getattr(given, option) is not None:
            raise FloError(f"--{option} shows the micro-batches of a query on Spark, but {why}")


def show_page(given: argparse.Namespace, query: Query, stack: contextlib.ExitStack) -> None:
    """Serve the page of a query, and save it when the stack ends, as the options say."""
    if given.html is not None:
        query.watch()
        stack.callback(query.save, given.html)
    if given.ui is not None:
        served = stack.enter_context(query.ui(given.ui))
        print(f"the page of the run: {served.url}", file=sys.stderr)


def keep_page(given: argparse.Namespace, stopped: threading.Event) -> None:
    """Wait for Ctrl-C, if a page is served and Ctrl-C has not ended the run."""
    if given.ui is not None and not stopped.is_set():
        print("the run is over; the page stays until Ctrl-C", file=sys.stderr)
        stopped.wait()
