"""`make expected`: writes proofs/Flo/Expected.agda, and the lines of theorems in docs/proofs.md.

Agda computes `report` of proofs/Flo/Runs.agda. `make proofs` proves that the file has what Agda computes, and
tests/proofs/test_proofs.py that flo.core gives the same.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PROOFS = Path(__file__).parents[2] / "proofs"
PAGE = PROOFS.parent / "docs" / "proofs.md"
THEOREM = re.compile(r"`([^`]+)` \| `(Flo/[\w/]+\.agda):(\d+)`")
"""The name of a theorem, its file and its line, in a row of the page."""
STDLIB = os.environ.get("AGDA_STDLIB", "/usr/share/agda-stdlib")
HEAD = """{-# OPTIONS --safe #-}

-- What the programs of Flo/Runs.agda reach. `make expected` writes this file.

module Flo.Expected where

open import Agda.Builtin.String using (String)
open import Data.List using (List; []; _∷_)
open import Relation.Binary.PropositionalEquality using (_≡_; refl)

open import Flo.Runs using (report)

expected : List String
expected =
"""
TAIL = """  []

as-expected : report ≡ expected
as-expected = refl
"""


def compute(file: Path, expression: str) -> str:
    """Return what Agda computes an expression to, in the scope of a file."""
    options = ["-i", str(PROOFS), "-i", STDLIB]
    listed = ", ".join(json.dumps(option, ensure_ascii=False) for option in options)
    commands = [f'(Cmd_load "{file}" [{listed}])', f'(Cmd_compute_toplevel DefaultCompute "{expression}")']
    said = subprocess.run(
        ["agda", "--interaction-json", "--safe", *options],
        input="".join(f'IOTCM "{file}" None Direct {command}\n' for command in commands),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for line in said.splitlines():
        if '"NormalForm"' in line:
            return str(json.loads(line.removeprefix("JSON> "))["info"]["expr"])
    sys.exit(said)


def line_of(name: str, text: str) -> int:
    """Return the line that declares a name, which may have a module or a record before it: `Sequence.lawful`."""
    *inside, name = name.split(".")
    lines, start = text.splitlines(), 0
    if inside:
        start = next(place for place, line in enumerate(lines) if re.match(rf" *(module|record) {inside[0]}\b", line))
    declared = [
        place
        for place, line in enumerate(lines[start:], start + 1)
        if name in line.partition(" : ")[0].split() and re.match(r" *record | *[^ ]+( [^ ]+)* +: ", line)
    ]
    at_top = [place for place in declared if not lines[place - 1].startswith(" ")]
    return (declared if inside else at_top or declared)[0]


def with_lines(page: str) -> str:
    """Return the page with the lines that its theorems are on now."""
    return THEOREM.sub(
        lambda row: f"`{row[1]}` | `{row[2]}:{line_of(row[1], (PROOFS / row[2]).read_text(encoding='utf-8'))}`", page
    )


def main() -> None:
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', compute(PROOFS / "Flo" / "Runs.agda", "report"))
    lines = "".join(f"  {string} ∷\n" for string in strings)
    (PROOFS / "Flo" / "Expected.agda").write_text(HEAD + lines + TAIL, encoding="utf-8")
    PAGE.write_text(with_lines(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
