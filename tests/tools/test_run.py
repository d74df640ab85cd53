"""`flo run`: what is wrong with the command is said before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from flo.tools.cli import main

FLOW = """
import flo

flow = flo.Flow("sums")
flow.output("sums", flow.input("rows", flo.ZSet[tuple[str, int]]).group_by(key="0").agg(sum=flo.sum("1")))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def started(*given: object, **more: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("flo.spark.session.embedded", started)
    file = tmp_path / "sums.py"
    file.write_text(FLOW)
    return str(file)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--input", "row=x.csv"],
            "the flow has no input called `row`\n  inputs    rows\n  instead   rows=…   the closest name\n",
        ),
        ([], "the input `rows` was given no source\n  instead   --input rows=PATH\n"),
        (["--input", "rows=missing.csv"], "there is no file or folder `missing.csv`\n"),
        (
            ["--input", "rows=missing"],
            "there is no file or folder `missing`\n  instead   missing:   if it is a format of Spark\n",
        ),
        (["--input", "rows"], "expected NAME=VALUE; got `rows`\n"),
        (
            ["--input", "rows=rate:", "--output", "sum=noop"],
            'the flow has no output called `sum`\n  outputs   sums\n  instead   "sums"   the closest name\n',
        ),
        (
            ["--input", "rows=rate:", "--order", "row=value"],
            "the flow has no input called `row`\n  inputs    rows\n  instead   rows=…   the closest name\n",
        ),
    ],
)
def test_refused_before_spark_starts(
    program: str, given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", program, *given]) == 2
    assert capsys.readouterr().err == f"flo run: {said}"


def test_a_checkpoint_of_a_flow_that_runs_once(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(program)
    file.write_text(FLOW.replace("int]])", "int]], bounded=True)"))
    assert main(["run", program, "--input", "rows=rate:", "--checkpoint", str(file.parent / "kept")]) == 2
    assert "it runs once, and --checkpoint would keep nothing" in capsys.readouterr().err
