"""The small-step rules of the paper, as HTML: premises over a line over the conclusion.

In `rules.txt` a rule is written in plain text, close to the paper: a single letter is a variable, `x_1` has an index,
`x'` a prime, `→^δ` an exponent; words are names of functions and operators.
"""

from __future__ import annotations

import re
from html import escape

from flo.pictures.svg import own_file


def _read_rules() -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the premises and the conclusion of each rule by its name, as `rules.txt` has them."""
    rules = {}
    for block in own_file("rules.txt").split("\n\n"):
        if not block.startswith("#"):  # the number of a figure
            name, *premises, _, conclusion = block.splitlines()
            rules[name] = tuple(premises), conclusion
    return rules


RULES = _read_rules()
_TOKEN = re.compile(
    r"(?P<arrow>→\^(?P<of>[δΔ]))|(?P<word>[A-Za-z]{2,}(?:_[a-z]{2,})*|[A-Za-z])(?:_(?P<index>\w+))?(?P<prime>′|')?"
)
_VARIABLES = {"acc", "interval", "wt", "op"}


def rule_html(name: str) -> str:
    """Return the rule as HTML; an empty text if the paper has no rule of that name."""
    if name not in RULES:
        return ""
    premises, conclusion = RULES[name]
    over = "".join(f"<span>{_formula(premise)}</span>" for premise in premises)
    return f'<div class="premises">{over}</div><div class="conclusion">{_formula(conclusion)}</div>'


def _formula(plain: str) -> str:
    """Return a formula with italic variables, indices and exponents."""
    parts, last = [], 0
    for match in _TOKEN.finditer(plain):
        parts.append(escape(plain[last : match.start()]))
        last = match.end()
        if match["arrow"]:
            parts.append(f"→<sup>{match['of']}</sup>")
            continue
        word = match["word"]
        styled = f"<i>{word}</i>" if len(word) == 1 or word in _VARIABLES else word
        index = f"<sub>{match['index']}</sub>" if match["index"] else ""
        parts.append(f"{styled}{index}{'′' if match['prime'] else ''}")
    return "".join([*parts, escape(plain[last:])])
