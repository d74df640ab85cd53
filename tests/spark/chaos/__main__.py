"""`python -m tests.spark.chaos --trials 50`: crash trials, and a table of what was done and what came of it."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.spark.chaos.disturbances import KINDS, disturb
from tests.spark.chaos.yard import Trial, Yard

COLUMNS = ("trials", "undisturbed", "disturbances", "restarts", "differences")


def kinds(trials: int, only: str | None) -> list[str]:
    """The kind of each trial, by their shares; those on a cluster come last, when the other processes are gone."""
    if only is not None:
        return [only] * trials
    shares = {kind: share * trials / 50 for kind, (_, share) in KINDS.items()}
    found = {kind: int(share) for kind, share in shares.items()}
    for kind in sorted(shares, key=lambda kind: found[kind] - shares[kind])[: trials - sum(found.values())]:
        found[kind] += 1
    return [kind for kind, count in found.items() for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.chaos", description=__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 20))
    parser.add_argument("--only", choices=KINDS, help="one kind of disturbance")
    given = parser.parse_args()
    console = Console()
    scratch = Path(tempfile.mkdtemp(prefix="flo-chaos-"))
    console.print(f"{given.trials} crash trials, seed {given.seed}, in {scratch}")
    done: dict[str, Counter[str]] = {}
    with Yard(scratch, given.seed) as yard:
        with console.status("an undisturbed run"):
            yard.undisturbed()
        for number, kind in enumerate(kinds(given.trials, given.only), 1):
            began = time.monotonic()
            with console.status(f"{number} of {given.trials}: {kind}"):
                trial = disturb(yard, kind, number, given.seed * 1000 + number)
            counts = done.setdefault(kind, Counter())
            counts.update(counts_of(trial))
            said = "[red]differs" if trial.differences else "[green]equal" if trial.done else "[red]not disturbed"
            what = f"{len(trial.done)} disturbances, {trial.restarts} restarts, {time.monotonic() - began:.0f} s"
            line = f"{number:>4}  {kind:18} {said}[/]  {what}  [dim]{'; '.join(trial.done)}"
            console.print(line, soft_wrap=True)
            for difference in trial.differences:
                console.print(f"      {difference}", style="red", markup=False)
    console.print(summary(done))
    if any(counts["differences"] or counts["undisturbed"] for counts in done.values()):
        sys.exit(1)
    shutil.rmtree(scratch)


def counts_of(trial: Trial) -> dict[str, int]:
    """What a trial adds to the table. One in which nothing happened to the pipeline is no trial of its kind."""
    happened = bool(trial.done or trial.differences)
    return {
        "trials": int(happened),
        "undisturbed": int(not happened),
        "disturbances": len(trial.done),
        "restarts": trial.restarts,
        "differences": len(trial.differences),
    }


def summary(done: dict[str, Counter[str]]) -> Table:
    table = Table(title="Crash trials")
    table.add_column("disturbance")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for kind, counts in done.items():
        table.add_row(kind, *(str(counts[name]) for name in COLUMNS))
    table.add_section()
    whole = sum(done.values(), Counter[str]())
    table.add_row("all", *(str(whole[name]) for name in COLUMNS))
    return table


if __name__ == "__main__":
    main()
