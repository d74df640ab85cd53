"""Lines that are shown for pasting, pasted."""

from __future__ import annotations

import ast
from typing import Any

import flo


def pasted(line: str, **names: Any) -> Any:
    """What the last expression of the line gives, with `import flo` and the user's names, and nothing else."""
    scope = {"flo": flo, **names}
    *before, last = ast.parse(line).body
    exec(compile(ast.Module(before, []), "<pasted>", "exec"), scope)
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "<pasted>", "eval"), scope)
