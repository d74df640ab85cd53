"""The command `flo` itself: its subcommands and what it imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flo.tools.cli import SUBCOMMANDS, main, parser


def test_a_misspelt_subcommand_names_the_closest(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["chek", "file.py"])
    assert "no command `chek`. Did you mean `flo check`?" in capsys.readouterr().err


def test_an_unknown_subcommand_lists_all(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["zzz"])
    assert f"no command `zzz`. The commands are {', '.join(SUBCOMMANDS)}" in capsys.readouterr().err


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_has_arguments(name: str, capsys) -> None:
    with pytest.raises(SystemExit) as exit:
        parser(name).parse_args([name, "--help"])
    assert exit.value.code == 0
    assert "positional arguments" in capsys.readouterr().out


def test_a_check_of_rows_imports_no_pandas() -> None:
    """To make an Arrow array from a list imports pandas, which takes longer than the check."""
    program = (
        "import sys; from flo.tools.cli import main; main(['check', 'examples/first.py']); "
        "print('pandas' in sys.modules, 'pyarrow' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "False True"
