"""`flo state tag` and `flo state copy`, and `--version` of the commands that start queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flo
from flo.shards.checkpoint.commits import committed_versions
from flo.tools.cli import main

FLOW = """
import flo

flow = flo.Flow("sums")
flow.output("sums", flow.input("rows", flo.ZSet[tuple[str, int]]).group_by(key="0").agg(sum=flo.sum("1")))
"""


def start(where: Path, **options: Any) -> Any:
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("rows", flo.ZSet[tuple[str, int]]).group_by(key="0").agg(sum=flo.sum("1")))
    return flow.on(flo.here).start(checkpoint=where, **options)


def push(query: Any, numbers: range) -> None:
    for number in numbers:
        query.push(rows=[("a", number)])


def test_tags_are_made_listed_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "checkpoint")

    def said(*arguments: str, status: int = 0) -> str:
        assert main(["state", *arguments]) == status
        out, err = capsys.readouterr()
        return err if status else out

    with start(tmp_path / "checkpoint") as query:
        push(query, range(4))
        assert said("tag", where) == f"{where} has no tags\n"
        assert said("tag", where, "before-friday") == "the tag before-friday keeps version 3\n"
        assert said("tag", where, "first", "--version", "2") == "the tag first keeps version 2\n"
        push(query, range(4, 9))
        assert said("tag", where) == "before-friday: version 3\nfirst: version 2\n"
        assert "versions kept: 2 (first), 3 (before-friday), 7, 8" in said("show", where)
        assert said("verify", where) == "all files are complete and unchanged\n"
        copy = str(tmp_path / "copy")
        assert said("copy", where, copy, "--version", "first") == f"{copy} is a copy of version 2\n"
        assert said("verify", copy) == "all files are complete and unchanged\n"
        assert said("tag", where, "first", "--remove") == "the tag first, of version 2, is removed\n"
        assert committed_versions(where) == [3, 7, 8]
    assert said("tag", where, "friday", "--version", "2", status=2) == (
        "flo state: version 2 is no longer kept\n"
        "  tags         before-friday (version 3)\n"
        "  versions     3, 7 to 8\n"
        f"  checkpoint   {where}\n"
        "  instead      start(…, keep=100)              keeps more versions\n"
        "               flo state tag CHECKPOINT NAME   keeps a version under a name\n"
    )
    assert "the checkpoint has no tag `first`" in said("copy", where, str(tmp_path / "x"), "--version=first", status=2)
    assert "needs a folder that is empty or new" in said("copy", where, copy, status=2)
    assert "there is no checkpoint" in said("tag", str(tmp_path / "nothing"), status=2)
    assert "needs the NAME of a tag" in said("tag", where, "--remove", status=2)
    assert "takes no `--version`" in said("tag", where, "x", "--remove", "--version=3", status=2)
    with start(tmp_path / "copy") as query:
        assert query.view("sums").value() == {("a", 3): 1}


def test_an_unknown_version_is_rejected_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def started(*given: object, **more: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("flo.spark.session.embedded", started)
    (tmp_path / "sums.py").write_text(FLOW)
    (tmp_path / "sums.sql").write_text("CREATE VIEW sums AS SELECT * FROM rows;")
    (tmp_path / "rows.csv").write_text("a,1\n")
    with start(tmp_path / "checkpoint") as query:
        push(query, range(1))
    for command in (["run", str(tmp_path / "sums.py")], ["sql", str(tmp_path / "sums.sql")]):
        command += ["--input", f"rows={tmp_path / 'rows.csv'}", "--version", "friday"]
        assert main(command) == 2
        assert "--version is one of a checkpoint" in capsys.readouterr().err
        assert main([*command, "--checkpoint", str(tmp_path / "checkpoint")]) == 2
        assert "the checkpoint has no tag `friday`" in capsys.readouterr().err
