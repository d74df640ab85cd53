"""What a function reads of the modules of its program, also through a package, and functions in a cache."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.core.function_identity import changed_values, identify
from flo.core.labels import label

MODULES = {
    "shop_package/__init__.py": "",
    "shop_package/settings.py": "rate = 2\nclass Tax:\n    rate = 2\ndef taxed(x):\n    return x * rate\n",
    "shop_main.py": """
import shop_package.settings

def constant(x):
    return x * shop_package.settings.rate

def called(x):
    return shop_package.settings.taxed(x)

def of_class(x):
    return x * shop_package.settings.Tax.rate
""",
}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield importlib.import_module("shop_main")
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["constant", "called", "of_class"])
def test_a_constant_of_a_module_in_a_package_is_read(program: Any, name: str) -> None:
    settings = program.shop_package.settings
    before = identify(getattr(program, name))
    assert before == identify(getattr(program, name))
    settings.rate = settings.Tax.rate = 3
    ((_, was, now),) = changed_values(before.reads, identify(getattr(program, name)).reads)
    assert (was, now) == ("2", "3")


def test_a_lambda_in_a_cache_has_a_label() -> None:
    half = functools.lru_cache(lambda n: n // 2)
    assert label(half) == "lambda n: n // 2"
    flow = flo.Flow("halves")
    flow.output("halves", flow.input("numbers", flo.Sequence[int]).map(half))
    assert flow.run(numbers=[4, 5])["halves"] == [2, 2]
    with pytest.raises(flo.TypeMismatch, match="the return type of a function is unknown"):
        flow.on(flo.here)
