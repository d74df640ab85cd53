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
    "shop_package/inside.py": """
def value(x):
    from shop_package.settings import rate
    return x * rate

def module(x):
    import shop_package.settings as here
    return x * here.rate

def package(x):
    import shop_package.settings
    return x * shop_package.settings.rate

def relative(x):
    from . import settings
    return x * settings.rate

def in_another(x):
    from .settings import rate as factor
    return sum(map(lambda y: y * factor, x))

def called(x):
    from .settings import taxed
    return taxed(x)

def of_class(x):
    from .settings import Tax
    return x * Tax.rate

def _around():
    import shop_package.settings as here
    return lambda x: x * here.rate

captured = _around()
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


@pytest.mark.parametrize(
    "name", ["value", "module", "package", "relative", "in_another", "called", "of_class", "captured"]
)
def test_a_constant_that_the_body_imports_is_read(program: Any, name: str) -> None:
    del sys.modules["shop_package.settings"], program.shop_package.settings  # the body has not run yet
    function = getattr(importlib.import_module("shop_package.inside"), name)
    before = identify(function)
    settings = sys.modules["shop_package.settings"]
    settings.rate = settings.Tax.rate = 3  # type: ignore[attr-defined]
    ((_, was, now),) = changed_values(before.reads, identify(function).reads)
    assert (was, now) == ("2", "3")


def test_a_module_that_fails_when_it_is_imported_is_not_compared(program: Any, tmp_path: Path) -> None:
    (tmp_path / "shop_package" / "broken.py").write_text("raise RuntimeError\n")
    (tmp_path / "shop_late.py").write_text(
        "def late(x):\n    from shop_package.broken import rate\n    return x * rate\n"
    )
    late = importlib.import_module("shop_late").late
    assert identify(late).reads == ()


def test_a_lambda_in_a_cache_has_a_label() -> None:
    half = functools.lru_cache(lambda n: n // 2)
    assert label(half) == "lambda n: n // 2"
    flow = flo.Flow("halves")
    flow.output("halves", flow.input("numbers", flo.Sequence[int]).map(half))
    assert flow.run(numbers=[4, 5])["halves"] == [2, 2]
    with pytest.raises(flo.TypeMismatch, match="the return type of a function is unknown"):
        flow.on(flo.here)
