"""Checkpoints that earlier releases wrote are read by this one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.tools.cli import main
from tests.local.kept_checkpoint import SHOPS, program, push, sales
from tests.rescaling import rescale

KEPT = sorted(Path(__file__).parent.glob("checkpoint_of_format_*"))


def expected(turns: int) -> dict[str, Any]:
    rows = sales(0, 20 * turns)
    return dict(program().run(sales=rows, log=rows, shops=SHOPS[:turns], negative="allow"))


def values(query: Any) -> dict[str, Any]:
    """The outputs, without the late rows."""
    return {name: query.view(name).value() for name in program()._outputs}


@pytest.mark.parametrize("kept", KEPT, ids=lambda each: each.name)
def test_a_kept_checkpoint_goes_on(kept: Path, tmp_path: Path) -> None:
    where = tmp_path / "checkpoint"
    shutil.copytree(kept, where)
    with program().on(flo.here).start(checkpoint=where) as query:
        assert values(query) == expected(3)
        push(query, 3)
        assert values(query) == expected(4)


@pytest.mark.parametrize("kept", KEPT, ids=lambda each: each.name)
def test_a_kept_checkpoint_is_rescaled_and_shown(kept: Path, tmp_path: Path, capsys: Any) -> None:
    where = str(tmp_path / "checkpoint")
    shutil.copytree(kept, where)
    assert main(["state", "verify", where]) == 0
    rescale(where, 3)
    assert main(["state", "show", where]) == 0
    assert "totals per city" not in capsys.readouterr().err
    with program().on(flo.here).start(checkpoint=where) as query:
        push(query, 3)
        assert values(query) == expected(4)


def test_there_is_a_checkpoint_of_the_current_format() -> None:
    from flo.tables.checkpoint.store import NEWEST

    assert f"checkpoint_of_format_{NEWEST}" in {each.name for each in KEPT}
