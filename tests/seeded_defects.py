"""Seeds defects into a copy of the source, and counts which tests catch them: those of `make test`, or only others.

    python -m tests.seeded_defects --count 60 --seed 1

A defect is one small change in a function: a comparison, `and` or `or`, a sign, a number, a flag, a condition, or a
statement that is dropped. They are drawn at random, in each folder as many as it has lines. A first run of all tests
records which of them execute which place, and a second one runs, for each defect, the tests that execute it. Both are
in tests/seeded_runs.py. What was found before in the folder `--work` is not run again.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parent.parent
TEXT = ("pictures", "tools")
"""Folders that mostly write text, pages and pictures. No defects are seeded there."""
SERVERS = 2

FLIPPED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    "and": "or", "or": "and", "+": "-", "-": "+",
}  # fmt: skip
PROBE = '__import__("seeded_probe").hit({})'


@dataclass(frozen=True)
class Defect:
    """The bytes from `start` to `end` of a file become `new`. `of` is the expression or statement that has them."""

    kind: str
    file: str
    line: int
    start: int
    end: int
    new: str
    of: tuple[int, int]
    seed: int = 0
    number: int = 0

    @property
    def folder(self) -> str:
        parts = Path(self.file).parts
        return parts[1] if len(parts) > 2 else "flo"

    def seeded(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    def probes(self) -> tuple[tuple[int, str], ...]:
        """What to insert where, to record that the place is executed."""
        probe, (start, end) = PROBE.format(self.number), self.of
        return ((start, f"{probe}; "),) if self.kind == "statement" else ((end, "))"), (start, f"({probe} or ("))


class Places(ast.NodeVisitor):
    """All defects that can be seeded into the functions of a file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source, self.found, self.functions = file, source, list[Defect](), 0
        lines = source.splitlines(keepends=True)
        self.offsets = [0, *accumulate(map(len, lines))]
        self.visit(ast.parse(source))

    def visit(self, node: ast.AST) -> None:
        match node:
            case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.pattern() | ast.arguments():
                return  # what errors say, and what is not evaluated
            case ast.FunctionDef(name="__repr__" | "__str__"):
                return
            case ast.FunctionDef(body=body):
                self.functions += 1
                for statement in body:
                    self.visit(statement)
                self.functions -= 1
            case ast.AnnAssign(value=value):
                self.visit(value or ast.Pass())
            case _:
                if self.functions:
                    self.place(node)
                self.generic_visit(node)

    def place(self, node: ast.AST) -> None:
        match node:
            case ast.Compare(left, [_], [right]):
                self.between("comparison", node, left, right)
            case ast.BoolOp(_, [*_, left, right]):
                self.between("and, or", node, left, right)
            case ast.BinOp(left, ast.Add() | ast.Sub(), right) if not (_is_sequence(left) or _is_sequence(right)):
                self.between("sign", node, left, right)
            case ast.UnaryOp(ast.Not(), operand):
                self.add("not", node, f"({self.text(operand)})")
            case ast.Constant(bool() as flag):
                self.add("flag", node, str(not flag))
            case ast.Constant(int() as number):
                change = random.Random(f"{self.span(node)}").choice((-1, 1)) if number else 1
                self.add("number", node, str(number + change))
            case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Assign([ast.Attribute() | ast.Subscript()]):
                self.add("statement", node, "pass" + "\n" * self.text(node).count("\n"))
            case ast.Continue():
                self.add("statement", node, "pass")
        if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
            self.add("condition", node.test, f"(not ({self.text(node.test)}))")

    def between(self, kind: str, node: ast.AST, left: ast.AST, right: ast.AST) -> None:
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.source[start:end]
        found = re.fullmatch(rb"(\)*\s*)(is\s+not|not\s+in|is|in|and|or|[<>=!]=|[<>+-])(\s*\(*)", gap)
        if found:
            old = " ".join(found[2].decode().split())
            self.add(kind, node, FLIPPED[old], (start + found.start(2), start + found.end(2)))

    def add(self, kind: str, node: Any, new: str, at: tuple[int, int] | None = None) -> None:
        of = self.span(node)
        self.found.append(Defect(kind, self.file, node.lineno, *(at or of), new, of))

    def span(self, node: Any) -> tuple[int, int]:
        start = self.offsets[node.lineno - 1] + node.col_offset
        return start, self.offsets[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()


def _is_sequence(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return is_text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def functions(source: bytes, file: str) -> dict[tuple[str, int], CodeType]:
    """The code of each function, by its name and its first line."""
    found, codes = {}, [compile(source, file, "exec", dont_inherit=True)]
    while codes:
        code = codes.pop()
        found[code.co_qualname, code.co_firstlineno] = code
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def can_be_seeded(defect: Defect, source: bytes) -> bool:
    """Whether the functions of a loaded module can be replaced by those with the defect."""
    try:
        before, after = functions(source, ""), functions(defect.seeded(source), "")
    except SyntaxError:
        return False
    return before.keys() == after.keys() and all(after[k].co_freevars == code.co_freevars for k, code in before.items())


def draw(count: int, seed: int, taken: list[Defect]) -> Iterator[Defect]:
    """So many defects: of each folder as its lines are, of each kind as many. They overlap no place that is taken."""
    source = {str(path.relative_to(ROOT / "src")): path.read_bytes() for path in sorted(ROOT.glob("src/flo/**/*.py"))}
    folders: dict[str, list[Defect]] = {}
    lines: Counter[str] = Counter()
    for file, text in source.items():
        places = Places(file, text).found
        if places and places[0].folder not in TEXT:
            folders.setdefault(places[0].folder, []).extend(places)
            lines[places[0].folder] += text.count(b"\n")
    chance = random.Random(seed)
    for folder in chance.sample([*folders], counts=[lines[each] for each in folders], k=count):
        while True:
            kind = chance.choice(sorted({each.kind for each in folders[folder]}))
            drawn = chance.choice([each for each in folders[folder] if each.kind == kind])
            overlaps = any(drawn.file == t.file and drawn.of[0] < t.of[1] and t.of[0] < drawn.of[1] for t in taken)
            if not overlaps and can_be_seeded(drawn, source[drawn.file]):
                break
        taken.append(Defect(**{**asdict(drawn), "seed": seed, "number": len(taken)}))
        yield taken[-1]


def copy_with_probes(defects: list[Defect], to: Path) -> None:
    """Copies what tests need, with a probe at each place."""
    left_out = shutil.ignore_patterns(".*", "build", "__pycache__")
    shutil.copytree(ROOT, to, ignore=left_out)
    shutil.move(to / "tests" / "seeded_probe.py", to / "src")
    for file in {each.file for each in defects}:
        path, inserted = to / "src" / file, [probe for each in defects if each.file == file for probe in each.probes()]
        text = path.read_bytes()
        for at, probe in sorted(inserted, reverse=True):
            text = text[:at] + probe.encode() + text[at:]
        path.write_bytes(text)


def run(job: str, work: Path, minutes: float) -> None:
    """Runs the servers of a job until they end. Each has a copy of its own, as defects are written into it."""
    servers = []
    for number in range(SERVERS):
        copy = work / f"{job}-{number}"
        environment = {
            **os.environ,
            "SEEDED": json.dumps({"job": job, "work": str(work), "number": number, "of": SERVERS, "minutes": minutes}),
            "SEEDED_WORK": f"{work}/{job}-{number}",
            "PYTHONPATH": os.pathsep.join((str(copy / "src"), str(copy))),
            "PYTHONDONTWRITEBYTECODE": "" if job == "probe" else "1",
            "TMPDIR": tempfile.mkdtemp(dir=work),
            "SPARK_LOCAL_DIRS": str(work / "spark"),
        }
        command = [sys.executable, "-m", "pytest", "-p", "tests.seeded_runs", "-q", "-s", "-p", "no:cacheprovider"]
        command.append(f"--basetemp={environment['TMPDIR']}/pytest")
        with (work / f"{job}-{number}.log").open("w") as log:
            servers.append(subprocess.Popen(command, cwd=copy, env=environment, stdout=log, stderr=log))
    for number, server in enumerate(servers):
        if server.wait():
            raise SystemExit(f"a run has failed: see {work}/{job}-{number}.log")


def read(work: Path, name: str) -> list[Any]:
    return [json.loads(line) for path in sorted(work.glob(f"{name}-*.jsonl")) for line in path.open()]


def report(defects: Iterable[Defect], results: list[dict[str, Any]]) -> None:
    by_number = {each["number"]: each for each in results}
    counts: dict[str, Counter[str]] = {}
    for each in defects:
        result = by_number.get(each.number, {"outcome": "not run"})
        for row in (each.folder, "all"):
            counts.setdefault(f"seed {each.seed}: {row}", Counter())[result["outcome"]] += 1
        if result["outcome"] != "caught":
            print(
                f"{result['outcome']}: {each.file}:{each.line} {each.kind} → {each.new.strip()}", result.get("test", "")
            )
    for row, count in sorted(counts.items()):
        print(f"{row:<24}", ", ".join(f"{number} {outcome}" for outcome, number in sorted(count.items())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="how many defects, of each sample")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="of each sample")
    parser.add_argument("--minutes", type=float, default=60, help="the most that each of the two runs takes")
    parser.add_argument("--work", type=Path, help="the folder for copies and results")
    chosen = parser.parse_args()
    defects: list[Defect] = []
    for seed in chosen.seed:
        list(draw(chosen.count, seed, defects))
    work = (chosen.work or Path(tempfile.mkdtemp(prefix="seeded"))).resolve()
    work.mkdir(exist_ok=True)
    (work / "defects.json").write_text(json.dumps([asdict(each) for each in defects]))
    for job in ("probe", "seed"):
        for number in range(SERVERS):
            if not (work / f"{job}-{number}").exists():
                copy_with_probes(defects if job == "probe" else [], work / f"{job}-{number}")
        if not [*work.glob(f"{job}-*.jsonl")]:
            run(job, work, chosen.minutes)
    report(defects, read(work, "seed"))


if __name__ == "__main__":
    main()
