"""`flo check`: what it finds in a file, what it says, and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import flo
import flo.verify
from flo.tools.cli import main
from tests.tools import programs

pytestmark = pytest.mark.every(check=3)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Writes files, by name, and runs `flo check` on them or on other arguments: status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("flo.tools.check.check", partial(flo.verify.check, tries=20))  # no test is about random inputs

    def run(*arguments: str, **files: str) -> tuple[int, str, str]:
        for name, source in files.items():
            (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        status = main(["check", "--seconds", "5", *(arguments or [f"{name}.py" for name in files])])
        return status, *capsys.readouterr()

    return run


def test_a_fine_flow(run: Run) -> None:
    status, out, _ = run(pipeline=programs.FINE)
    assert status == 0
    assert out.splitlines()[0].startswith("pipeline.py:3: ok: ")
    assert out.splitlines()[-1] == "1 flow, no errors"


def test_an_unbounded_fold(run: Run) -> None:
    status, out, _ = run(pipeline=programs.UNBOUNDED_FOLD)
    assert status == 1
    assert out == (
        "pipeline.py:5: error: BoundednessError: `fold` waits for the end of its input, and `bids` may never end\n"
        "    total = bids.fold(0, lambda n, bid: n + bid)\n"
        "                 ^^^^\n"
        "  bids      Sequence[int], unbounded   (pipeline.py:4)\n"
        "  fold      (Sequence[T], bounded) -> (Sequence[U], bounded)\n"
        "  instead   bids.batch(n).nest(lambda b: b.fold(…))      one result per n elements\n"
        "            bids.tumbling(…).nest(lambda w: w.fold(…))   one result per window of time\n"
        "            bids.scan(…)                                 a running result per element\n"
        "            bids.fold_lattice(…)                         one growing value, read through a threshold\n"
        "nothing checked, 1 error\n"
    )


def test_a_fold_that_depends_on_the_order_of_a_bag(run: Run) -> None:
    status, out, _ = run(pipeline=programs.ORDER_OF_A_BAG)
    assert status == 1
    assert out.startswith("pipeline.py:5: error: LawError: ")
    assert "\n    last = votes.fold(0, lambda kept, vote: vote)\n                 ^^^^\n" in out


def test_a_racing_operator_is_found_by_itself_and_in_the_flow(run: Run) -> None:
    status, out, _ = run(pipeline=programs.RACING_OPERATOR)
    errors = [line for line in out.splitlines() if ": error: " in line]
    assert status == 1
    assert [line.split(": error: ")[0] for line in errors] == ["pipeline.py:9", "pipeline.py:24"]
    assert all("breaks a law" in line for line in errors)
    assert "  eager execution (Definition 3.1): " in out
    assert out.splitlines()[-1] == "1 flow, 1 operator, 2 errors"


def test_the_sides_of_a_counterexample_stand_side_by_side(run: Run) -> None:
    _, out, _ = run(pipeline=programs.RACING_OPERATOR)
    rows = [line for line in out.splitlines() if "  |  " in line]
    assert len(rows) >= 3


def test_flows_of_functions_and_of_scripts(run: Run) -> None:
    status, out, _ = run(script=programs.SCRIPT)
    assert status == 0
    starts = [line.split(": ")[:2] for line in out.splitlines()]
    assert starts[:3] == [["script.py:10", "ok"], ["script.py:17", "ok"], ["script.py:21", "note"]]
    assert "script.py:21: note: `batches` needs `size`: with defaults it would be checked" in out
    assert out.splitlines()[-1] == "2 flows, no errors"


GAP = """from collections.abc import Iterator
from dataclasses import dataclass

import flo
from flo.core.operator import expect_collection
from flo.values.sequence import SequenceValue


@dataclass(frozen=True)
class Gapped(flo.Operator):
    name = "gapped"

    def type(self, inputs):
        expect_collection(self, inputs[0], flo.Sequence)
        return inputs

    def steps(self, inputs) -> Iterator[flo.Step]:
        (value,) = inputs
        for element, rest in value.units():
            yield flo.Step("gapped", (rest,), self, (SequenceValue.of([element]),))
        if value.ending():
            yield flo.Step("gapped-end", (value.passed(),), self, (SequenceValue.terminator(),))
        if False:
            yield flo.Step("gapped-never", inputs, self, (None,))


def make() -> flo.Flow:
    flow = flo.Flow("gaps")
    (out,) = flow.input("x", flo.Sequence[int]).apply(Gapped())
    flow.output("out", out)
    return flow
"""


def test_a_rule_that_never_fired_is_seen(run: Run) -> None:
    status, out, _ = run(pipeline=GAP)
    assert status == 0
    assert "ok: the flow `gaps` passes, with gaps: rule gapped-never never fired" in out
    assert out.splitlines()[-1] == "1 flow, 1 operator, 2 with gaps, no errors"


def test_too_little_work_is_an_error(run: Run) -> None:
    status, out, _ = run("--work", "1", "pipeline.py", pipeline=programs.FINE)
    assert status == 1
    assert "is undecided: only empty inputs were tried" in out
    assert out.splitlines()[-1] == "1 flow, 1 error"


def test_a_function_that_gives_no_flow(run: Run) -> None:
    status, out, _ = run(pipeline="import flo\n\n\ndef make() -> flo.Flow:\n    return None\n")
    assert status == 1
    assert "pipeline.py:4: error: `make` is annotated `-> flo.Flow`, but returned None" in out


def test_a_function_that_never_returns(run: Run) -> None:
    source = "import flo\n\n\ndef make() -> flo.Flow:\n    while True:\n        pass\n"
    status, out, _ = run("pipeline.py", "--seconds", "0.2", pipeline=source)
    assert status == 1
    assert "pipeline.py:5: error: `make` was aborted after 0.2 s of processor time\n" in out
    assert "flo check --seconds S   if it is only slow" in out


def test_an_import_that_never_ends(run: Run) -> None:
    status, out, _ = run("pipeline.py", "--seconds", "0.2", pipeline="import flo\n\nwhile True:\n    pass\n")
    assert status == 1
    assert "error: the import of pipeline.py was aborted after 0.2 s of processor time\n" in out
    assert 'if __name__ == "__main__":' in out


def test_a_function_that_ends_python(run: Run) -> None:
    source = "import sys\nimport flo\n\n\ndef make() -> flo.Flow:\n    sys.exit(3)\n"
    status, out, _ = run(pipeline=source)
    assert status == 1
    assert "pipeline.py:5: error: `make` ends Python: SystemExit(3)" in out


def test_a_function_that_raises_on_values_that_nobody_chose(run: Run) -> None:
    status, out, _ = run(pipeline=programs.PARSER)
    assert status == 0
    assert (
        "pipeline.py:10: warning: `flow` is typed, and its laws could not be tried: the function of `map` raised" in out
    )
    assert "raised at   pipeline.py:6   return json.loads(line)" in out
    assert "flo_examples = {str: […]}" in out
    assert out.splitlines()[-1] == "1 flow, 1 warning, no errors"


def test_state_that_grows_for_ever_is_a_warning(run: Run) -> None:
    status, out, _ = run(pipeline=programs.GROWING)
    assert status == 0
    growing = "`distinct` of the flow `growing` never forgets a row: its state grows with its input"
    assert f"pipeline.py:7: warning: {growing}\n  instead   rows.retain(" in out
    assert out.splitlines()[-1] == "1 flow, 1 warning, no errors"


def test_late_rows_that_nothing_reads_and_a_forgotten_lateness_are_warnings(run: Run) -> None:
    status, out, _ = run(pipeline=programs.LATE)
    assert status == 0
    assert "pipeline.py:5: warning: nothing reads the late rows of `tumbling` of the flow `late`" in out
    assert 'flow.output("late", windows.late)' in out
    assert "pipeline.py:5: warning: `tumbling` of the flow `late` has no `lateness`" in out
    for lateness in (2, 0):
        more = programs.LATE.replace("time=lambda x: x)", f"time=lambda x: x, lateness={lateness})")
        _, out, _ = run(pipeline=more + 'flow.output("late", windows.late)\n')
        assert "warning" not in out


@pytest.mark.thorough
def test_keys_that_are_never_forgotten_are_a_warning(run: Run) -> None:
    text = programs.GROWING.replace(".distinct()", ".key_by(lambda x: x).per_key(lambda x: x).entries()")
    text = text.replace("ZSet", "Bag").replace("numbers.agg(n=flo.count())", "numbers")
    status, out, _ = run(pipeline=text)
    assert status == 0
    assert "`per_key` of the flow `growing` never forgets a key: its state grows with the number of keys" in out


def test_a_file_can_say_what_it_is_tried_on(run: Run) -> None:
    status, out, _ = run(pipeline=programs.PARSER + "flo_examples = {str: ['1', '[2]']}\n")
    assert status == 0
    assert "pipeline.py:9: ok: " in out
    status, out, _ = run(pipeline=programs.PARSER + "flo_examples = {str: [3]}\n")
    assert status == 1
    assert "the examples of str contain a value of another type: 3" in out


def test_an_error_of_the_whole_flow(run: Run) -> None:
    status, out, _ = run(pipeline=programs.FINE + 'flow.input("more", flo.Sequence[int])\n')
    assert status == 1
    assert "pipeline.py:5: error: UnusedInputError: no output depends on the input `more`\n" in out


def test_flows_inside_other_statements(run: Run) -> None:
    indented = programs.FINE.replace("\n", "\n    ").replace(
        "import flo\n", "import flo\ntry:\n    if True:\n        pass", 1
    )
    status, out, _ = run(pipeline=f"{indented.rstrip()}\nfinally:\n    pass\n")
    assert status == 0
    assert out.startswith("pipeline.py:5: ok: ")


def test_a_flow_that_has_two_names_is_checked_once(run: Run) -> None:
    _, out, _ = run(pipeline=programs.FINE + "again = flow\n")
    assert out.splitlines()[-1] == "1 flow, no errors"


def test_a_syntax_error(run: Run) -> None:
    status, out, _ = run(pipeline="import flo\n\nflow = flo.Flow(\n")
    assert status == 1
    assert out == (
        "pipeline.py:3: error: SyntaxError: '(' was never closed\n"
        "    flow = flo.Flow(\n"
        "                   ^\n"
        "nothing checked, 1 error\n"
    )


def test_an_import_that_fails(run: Run) -> None:
    status, out, _ = run(pipeline="import flo\nimport no_such_library\n")
    assert status == 1
    assert out.startswith("pipeline.py:2: error: ModuleNotFoundError: No module named 'no_such_library'\n")


def test_an_exception_when_imported_shows_the_lines_of_the_user_only(run: Run) -> None:
    helper = "import json\n\n\ndef read():\n    return json.loads('x')\n"
    status, out, _ = run("pipeline.py", pipeline="import helper\n\nhelper.read()\n", helper=helper)
    assert status == 1
    assert out == (
        "helper.py:5: error: JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n"
        "    return json.loads('x')\n"
        "           ^^^^^^^^^^^^^^^\n"
        "  called at pipeline.py:3   helper.read()\n"
        "nothing checked, 1 error\n"
    )


def test_a_script_that_exits_when_imported(run: Run) -> None:
    status, out, _ = run(pipeline="import sys\n\nsys.exit(3)\n")
    assert status == 1
    assert out.startswith("pipeline.py:3: error: the file ends Python when it is imported: SystemExit(3)\n")
    assert 'if __name__ == "__main__":' in out


def test_what_the_file_prints_is_kept_apart(run: Run) -> None:
    status, out, err = run(pipeline="print('hello')\n" + programs.FINE)
    assert (status, err) == (0, "hello\n")
    assert "hello" not in out


def test_two_files(run: Run) -> None:
    status, out, _ = run(good=programs.FINE, bad=programs.UNBOUNDED_FOLD)
    assert status == 1
    assert out.startswith("good.py:3: ok: ")
    assert "\nbad.py:5: error: BoundednessError: " in out
    assert out.splitlines()[-1] == "1 flow, 1 error"


def test_files_do_not_see_each_other(run: Run, tmp_path: Path) -> None:
    """Neighbours of the same name, and operators of the same name."""
    for folder, helper in (("a", "NAME = 'a'\n"), ("b", "NAME = 1 / 0\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "helper.py").write_text(helper, encoding="utf-8")
        (tmp_path / folder / "race.py").write_text(programs.RACING_OPERATOR, encoding="utf-8")
        (tmp_path / folder / "pipeline.py").write_text("import helper\n" + programs.FINE, encoding="utf-8")
    status, out, _ = run("a/race.py", "b/race.py", "a/pipeline.py", "b/pipeline.py")
    assert status == 1
    assert "a/pipeline.py:4: ok: " in out
    assert "b/helper.py:1: error: ZeroDivisionError: division by zero\n" in out
    assert "NameTakenError" not in out
    assert not {"race", "pipeline", "helper"} & set(sys.modules)


@pytest.mark.parametrize("argument", ["shop/flows/sums.py", "shop.flows.sums"])
def test_a_file_inside_a_package(run: Run, tmp_path: Path, argument: str) -> None:
    (tmp_path / "shop" / "flows").mkdir(parents=True)
    for name, source in {
        "__init__": "",
        "flows/__init__": "",
        "flows/names": "SUMS = 'sums'\n",
        "flows/sums": "from . import names\n" + programs.FINE.replace('output("sums"', "output(names.SUMS"),
    }.items():
        (tmp_path / "shop" / f"{name}.py").write_text(source, encoding="utf-8")
    status, out, _ = run(argument)
    assert status == 0
    assert out.startswith("shop/flows/sums.py:4: ok: ")


def test_a_file_that_is_called_as_a_library_is(run: Run) -> None:
    status, _, _ = run(json=programs.FINE)
    assert status == 0
    assert "dumps" in dir(sys.modules["json"])


def test_nothing_to_check(run: Run) -> None:
    status, out, _ = run(helper="x = 1\n")
    assert status == 2
    assert out == (
        "helper.py:1: note: no flow was found\n"
        "  looked for   flows at module level\n"
        "               functions without required arguments, annotated `-> flo.Flow`\n"
        "               operators, lattices and collections defined here\n"
        "nothing checked, no errors\n"
    )


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("missing.py", "flo check: there is no file `missing.py`\n  looked in   "),
        ("no_such.module", "flo check: there is neither a file nor a module `no_such.module`\n"),
        (
            "folder",
            "flo check: `folder` is a folder, and checking a file imports it\n  instead   flo check folder/*.py",
        ),
        ("notes.txt", "flo check: `notes.txt` is not a Python file\n"),
    ],
)
def test_nothing_is_run_if_an_argument_is_wrong(run: Run, tmp_path: Path, argument: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").touch()
    status, out, err = run("good.py", argument, good=programs.FINE)
    assert (status, out) == (2, "")
    assert err.startswith(message)


def test_an_operator_that_needs_arguments(run: Run) -> None:
    source = programs.RACING_OPERATOR.split("\n\nflow")[0].replace("    name =", "    n: int\n\n    name =")
    status, out, _ = run(pipeline=source)
    assert status == 2
    assert "note: the operator `HowMany` needs arguments: `howmany = HowMany(n)` would be checked" in out
    status, out, _ = run(pipeline=f"{source}\n\nhow_many = HowMany(1)\n")
    assert status == 1
    assert out.splitlines()[-1] == "1 operator, 1 error"


def test_an_operator_that_takes_no_type_that_is_tried_is_no_error(run: Run) -> None:
    source = programs.RACING_OPERATOR.replace(
        "        return (flo.StreamType", "        assert_complex(inputs)\n        return (flo.StreamType"
    ).split("\n\nflow")[0]
    source += (
        "\n\ndef assert_complex(inputs):\n    if inputs[0].collection != flo.Sequence(complex):\n"
        "        raise flo.TypeMismatch('complex numbers only')\n"
    )
    status, out, _ = run(pipeline=source)
    assert status == 0
    assert out.startswith(
        "pipeline.py:9: note: LawError: `how_many_there_are` rejects every input type that was tried\n"
    )


def test_a_lattice_of_ones_own(run: Run) -> None:
    source = (
        "from dataclasses import dataclass\n\nimport flo\n\n\n"
        "@dataclass(frozen=True, repr=False)\nclass Plus(flo.Lattice[int]):\n    name = 'Plus'\n\n"
        "    def bottom(self):\n        return 0\n\n    def join(self, a, b):\n        return a + b\n\n"
        "    @property\n    def ordinary(self):\n        return int\n"
    )
    status, out, _ = run(pipeline=source)
    assert status == 1
    assert "pipeline.py:7: error: LawError: " in out
    assert out.splitlines()[-1] == "1 lattice, 1 error"


@pytest.mark.parametrize(
    "arguments",
    [[], ["check"], ["check", "--seconds", "0", "x.py"], ["check", "--work", "0", "x.py"], ["chekc", "x.py"]],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: flo")


def test_as_a_command(tmp_path: Path) -> None:
    (tmp_path / "pipeline.py").write_text(programs.UNBOUNDED_FOLD, encoding="utf-8")
    for command in ([sys.executable, "-m", "flo"], [str(Path(sys.executable).parent / "flo")]):
        done = subprocess.run([*command, "check", "pipeline.py"], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith(b"pipeline.py:5: error: BoundednessError: ")
        assert b"\x1b" not in done.stdout + done.stderr
        version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert version.stdout == f"flo {flo.__version__}\n"


def test_colours_and_progress_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "pipeline.py").write_text(programs.UNBOUNDED_FOLD, encoding="utf-8")
    as_if_on_one = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "flo", "check", "pipeline.py"]
    done = subprocess.run(command, cwd=tmp_path, env=as_if_on_one, capture_output=True, text=True, check=False)
    assert "\x1b[1mpipeline.py:5: \x1b[0m\x1b[1;31merror: \x1b[0m" in done.stdout
    assert "importing pipeline.py" in done.stderr
