"""The small-step rules of the paper, as HTML: premises over a line over the conclusion.

A rule is written in plain text, close to the paper: a single letter is a variable, `x_1` has an index, `x'` a prime,
`→^δ` an exponent; words are names of functions and operators.
"""

from __future__ import annotations

import re
from html import escape

RULES: dict[str, tuple[tuple[str, ...], str]] = {
    # figure 6, graphs
    "sequence-left": (("e_1 →^Δ (e_1', I')",), "(e_1; e_2) →^Δ (e_1'; setinput(e_2, inputs(e_2) ++ I'), ∅)"),
    "sequence-right": (("e_2 →^Δ (e_2', O')",), "(e_1; e_2) →^Δ (e_1; e_2', O')"),
    "par-left": (("e_1 →^Δ (e_1', O_1')",), "(e_1 ∣ e_2) →^Δ (e_1' ∣ e_2, O_1', ∅)"),
    "par-right": (("e_2 →^Δ (e_2', O_2')",), "(e_1 ∣ e_2) →^Δ (e_1 ∣ e_2', ∅, O_2')"),
    "operator": (("(I, op) →^δ (I', op', O')",), "{I}[op] →^Δ ({I'}[op'], O')"),
    # figure 12, nest and defer
    "nest-first": (("I ≠ ⊗",), "([…, I], nest(g)) →^δ ([…, I], nest(g, g), ((⊥, …, ⊥), true))"),
    "nest-first-fixed": ((), "([⊗], nest(g)) →^δ ([⊗], nest(g, g), ⊗)"),
    "nest-run-graph": (
        ("setinput(g, I) →^Δ (g', (O_1', …, O_m'))",),
        "([…, I], nest(g, g_o)) →^δ ([…, inputs(g')], nest(g', g_o), ((O_1', …, O_m'), false))",
    ),
    "nest-run-step": (
        (
            "(setinput(g, I), (O_1, …, O_m)) is stuck",
            "∀m. fixed(O_m)",
            "∀d ∈ collect_defer(g). fixed(d)",
            "I_next ≠ ⊗",
        ),
        "([…, I_next, I], nest(g, g_o)) →^δ ([…, I_next], nest(set_defer(g_o, collect_defer(g)), g_o), "
        "((⊥, …, ⊥), true))",
    ),
    "nest-run-fixed": (
        ("(setinput(g, I), (O_1, …, O_m)) is stuck", "∀m. fixed(O_m)"),
        "([⊗, I], nest(g, g_o)) →^δ ([⊗], nest(g_o, g_o), ⊗)",
    ),
    "read-defer-emit": ((), "((), read_defer(k, v)) →^δ ((), read_defer(k), v)"),
    # figures 14 and 15, ordered sequences
    "map": (("f(h) ⇓ u",), "([…, h], map(f)) →^δ ([…], map(f), [u])"),
    "map-terminator": ((), "([⊗], map(f)) →^δ (⊗, map(f), ⊗)"),
    "fold": (("f(acc, h) ⇓ acc'",), "([…, h], fold(acc, f)) →^δ ([…], fold(acc', f), [])"),
    "fold-terminator": ((), "([⊗], fold(acc, f)) →^δ (⊗, fold(acc, f), [⊗, acc])"),
    "window-first": ((), "([… (v_n, t_n)], window(interval, [])) →^δ ([…], window(interval, [(v_n, t_n)]), [])"),
    "window": (
        ("t_n − wt_m ≤ interval",),
        "([… (v_n, t_n)], window(interval, [(w_1, wt_1), …, (w_m, wt_m)])) →^δ "
        "([…], window(interval, [(v_n, t_n), (w_1, wt_1), …, (w_m, wt_m)]), [])",
    ),
    "window-emit": (
        ("t_n − wt_m > interval",),
        "([… (v_n, t_n)], window(interval, [(w_1, wt_1), …, (w_m, wt_m)])) →^δ "
        "([…], window(interval, [(v_n, t_n)]), ([w_1, …, w_m], true))",
    ),
    # figures 17 and 18, lattice variables
    "fold-lattice": (("v ≠ ⊗", "f(v) ⇓ l"), "([…, v], fold_lattice(f)) →^δ ([…], fold_lattice(f), l)"),
    "fold-lattice-terminated": ((), "([⊗], fold_lattice(f)) →^δ (⊗, fold_lattice(f), ⊗)"),
    "lvar-threshold": (("v ⊔ t_i = v",), "((v, _), thresh(t_1, …)) →^δ (⊗, thresh(t_1, …), t_i)"),
    "lvar-threshold-terminated": ((), "((v, true), thresh(…)) →^δ (⊗, thresh(…), ⊗)"),
    # figures 20 and 21, z-sets
    "map-zset": (
        ("f(k_1, v_1) ⇓ v'",),
        "(({k_1: v_1, …}, _), map(f)) →^δ (({…}, _), map(f), ({k_1: v'}, _))",
    ),
    "map-zset-terminated": ((), "(({}, true), map(f)) →^δ (⊗, map(f), ⊗)"),
    "join-zset": (
        (),
        "((M_1', s_1), (M_2', s_2), ⋈(M_1, M_2)) →^δ (({}, s_1), ({}, s_2), ⋈(M_1 + M_1', M_2 + M_2'), "
        "(M_1 ⋈ M_2' + M_1' ⋈ M_2 + M_1' ⋈ M_2'))",
    ),
    "join-zset-terminated": ((), "(({}, true), ({}, true), ⋈(_, _)) →^δ (⊗, ⊗, ⋈, ⊗)"),
}

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
