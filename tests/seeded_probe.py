"""Records which places a test executes. It is moved beside the source, in a copy with probes (tests/seeded_defects.py).

A process that a test has started reads from a file which test that is.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

work = Path(os.environ.get("SEEDED_WORK", "."))
test, due, is_of_tests = "", 0.0, False
seen: set[int] = set()


def begin(name: str) -> None:
    global test, is_of_tests
    test, is_of_tests = name, True
    seen.clear()
    work.with_suffix(".test").write_text(name)


def hit(place: int) -> None:
    global test, due
    if not is_of_tests and time.monotonic() > due:
        due = time.monotonic() + 0.05
        file = work.with_suffix(".test")
        now = file.read_text() if file.exists() else ""
        if now != test:
            seen.clear()
            test = now
    if place not in seen:
        seen.add(place)
        with work.with_suffix(".hits").open("a") as hits:
            hits.write(f"{place}\t{test}\n")
