"""The modules of Flo as syntax trees, parsed once for all tests that read the code."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

import flo.core

ROOT = Path(flo.core.__file__).parent.parent


@cache
def parsed_modules() -> dict[Path, ast.Module]:
    """By file, in the order of their names. All nodes stay alive, so to collect garbage meanwhile takes most of the
    time and frees nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(ROOT.rglob("*.py"))}
    finally:
        if enabled:
            gc.enable()
