"""Writes proofs/Flo/Expected.agda: `make expected`, after a change of proofs/Flo/Runs.agda. Agda computes `report`.

`make proofs` proves that the file has what Agda computes, and tests/proofs/test_proofs.py that flo.core gives the same.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PROOFS = Path(__file__).parents[2] / "proofs"
STDLIB = "/usr/share/agda-stdlib"
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


def main() -> None:
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', compute(PROOFS / "Flo" / "Runs.agda", "report"))
    lines = "".join(f"  {string} ∷\n" for string in strings)
    (PROOFS / "Flo" / "Expected.agda").write_text(HEAD + lines + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
