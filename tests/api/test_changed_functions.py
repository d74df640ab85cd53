"""A program whose functions have changed: it resumes, or is rejected with what has changed and where."""

from __future__ import annotations

import functools
import operator
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import flo
from flo.core.checkpoint import decode, encode
from flo.core.function_identity import changed_values, digest_code, has_other_code, identify
from flo.core.term import Call

RATE = 2
TABLE = {"a": 1}
SEEN: dict[str, int] = {}
CALLS = 0


class Sale(NamedTuple):
    shop: str
    price: int


def price_of(sale: Sale) -> int:
    return sale.price


def price_at_rate(sale: Sale) -> int:
    return sale.price * RATE


def price_by_helper(sale: Sale) -> int:
    return doubled(sale.price)


def doubled(price: int) -> int:
    return price * 2


def price_of_table(sale: Sale) -> int:
    return sale.price * TABLE["a"]


def counted(sale: Sale) -> int:
    """Changes what it reads: that is no change of the function."""
    global CALLS
    CALLS += 1
    SEEN[sale.shop] = CALLS
    return sale.price


class Tax:
    def __init__(self, rate: int) -> None:
        self.rate, self.calls, self.opened = rate, 0, object()

    def __call__(self, sale: Sale) -> int:
        return sale.price * self.rate

    def added(self, sale: Sale) -> int:
        self.calls += 1
        return self._taxed(sale.price)

    def _taxed(self, price: int) -> int:
        return price * self.rate


def with_code(function: Any, code: CodeType) -> Any:
    """The function with another body, as after an edit."""
    changed = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    changed.__qualname__, changed.__annotations__ = function.__qualname__, function.__annotations__
    return changed


def over(kind: Any, use: Callable[[Any], Any]) -> flo.Flow:
    flow = flo.Flow("sales")
    flow.output("result", use(flow.input("sales", kind)))
    return flow


class OnValues:
    def __init__(self, flow: flo.Flow, folder: Path) -> None:
        self.loop, self.file = flow.loop(), folder / "state"

    def save(self, rows: Any) -> None:
        self.loop.push(sales=rows)
        self.loop.run()
        self.file.write_bytes(self.loop.checkpoint())

    def restore(self) -> None:
        self.loop.restore(self.file.read_bytes())


class OnTables(OnValues):
    def __init__(self, flow: flo.Flow, folder: Path) -> None:
        self.loop, self.folder = flow.on(flo.here).loop(), folder

    def save(self, rows: Any) -> None:
        self.loop.push(sales=rows)
        self.loop.checkpoint(self.folder)

    def restore(self) -> None:
        self.loop.restore(self.folder)


ENGINES = [OnValues, OnTables]


def resume(engine: Any, folder: Path, before: flo.Flow, after: flo.Flow) -> Any:
    engine(before, folder).save([Sale("a", 1), Sale("b", 2)])
    resumed = engine(after, folder)
    resumed.restore()
    return resumed.loop


def rejected(engine: Any, folder: Path, before: flo.Flow, after: flo.Flow) -> str:
    with pytest.raises(flo.CheckpointError) as caught:
        resume(engine, folder, before, after)
    return str(caught.value)


def mapping(f: Any) -> Callable[[Any], Any]:
    return lambda sales: sales.map(f).distinct()


CAPTURING: dict[str, Callable[[Any], Any]] = {
    "a closure": lambda k: lambda sale: sale.price * k,
    "a default": lambda k: lambda sale, k=k: sale.price * k,
    "a keyword default": lambda k: lambda sale, *, k=k: sale.price * k,
    "a list": lambda k: (lambda rates: lambda sale: sale.price * rates[0])([k]),
    "a dict": lambda k: (lambda rates: lambda sale: sale.price * rates["x"])({"x": k}),
    "a set": lambda k: (lambda rates: lambda sale: int(sale.price in rates))({k, 7}),
    "a tuple": lambda k: (lambda rates: lambda sale: sale.price * rates[1])((1, k)),
    "a partial": lambda k: functools.partial(lambda rate, sale: sale.price * rate, k),
    "a keyword of a partial": lambda k: functools.partial(lambda sale, rate: sale.price * rate, rate=k),
    "a callable object": Tax,
    "a bound method": lambda k: Tax(k).added,
    "an object": lambda k: (lambda tax: lambda sale: sale.price * tax.rate)(Tax(k)),
    "a function within": lambda k: (lambda inner: lambda sale: inner(sale))(CAPTURING["a closure"](k)),
    "an item getter": lambda k: operator.itemgetter(k - 2),
    "a method that is captured": lambda k: (lambda taxed: lambda sale: taxed(sale))(Tax(k).added),
    "a callable object that is captured": lambda k: (lambda tax: lambda sale: tax(sale))(Tax(k)),
    "a method of an object": lambda k: (lambda tax: lambda sale: tax.added(sale))(Tax(k)),
    "an object in a dict": lambda k: (lambda taxes: lambda sale: taxes["x"].added(sale))({"x": Tax(k)}),
    "a namespace": lambda k: (lambda given: lambda sale: sale.price * given.rate)(SimpleNamespace(rate=k)),
    "a mapping that is read-only": lambda k: (lambda r: lambda s: s.price * r["x"])(MappingProxyType({"x": k})),
    "a deque": lambda k: (lambda rates: lambda sale: sale.price * rates[0])(deque([k])),
    "an array": lambda k: (lambda rates: lambda sale: int(sale.price * rates[0]))(np.array([k])),
    "an array of objects": lambda k: (lambda rates: lambda sale: int(sale.price * rates[0]))(np.array([k], object)),
    "a lambda": lambda k: (lambda f: lambda sale: f(sale))(
        (lambda sale: sale.price * 2) if k == 2 else (lambda sale: sale.price * 3)
    ),
    "a row": lambda k: (lambda row: lambda sale: sale.price * row.price)(Sale("x", k)),
}


def local(k: int) -> Any:
    def times(sale: Sale) -> int:
        return sale.price * k

    return times


CAPTURING["a local function"] = local


def with_a_list(k: int) -> Any:
    rates = {"x": k}

    def times(sale: Sale) -> int:
        """Changes a list, but its own."""
        prices: list[int] = []
        prices.append(sale.price * rates["x"])
        prices[0] += 1
        return prices[0]

    return times


CAPTURING["a function that changes a list of its own"] = with_a_list


@pytest.mark.parametrize("name", CAPTURING)
def test_a_captured_value_belongs_to_its_function(name: str, tmp_path: Path) -> None:
    capturing = CAPTURING[name]
    resume(OnValues, tmp_path, over(flo.ZSet[Sale], mapping(capturing(2))), over(flo.ZSet[Sale], mapping(capturing(2))))
    text = rejected(
        OnValues, tmp_path, over(flo.ZSet[Sale], mapping(capturing(2))), over(flo.ZSet[Sale], mapping(capturing(3)))
    )
    assert "`map`" in text
    assert "`result`" in text


@pytest.mark.parametrize("engine", ENGINES)
def test_a_captured_value_is_named(engine: Any, tmp_path: Path) -> None:
    before, after = (over(flo.Bag[Sale], lambda sales, k=k: sales.map(local(k))) for k in (2, 3))
    text = rejected(engine, tmp_path, before, after)
    assert "`times` of `map` has captured another value" in text
    assert "`k` was 2, and is 3" in text
    assert "times   (test_changed_functions.py:" in text


def test_a_captured_text_is_not_shown(tmp_path: Path) -> None:
    """It may be a password."""
    before, after = (
        over(flo.Bag[Sale], lambda sales, k=k: sales.map(lambda sale: len(k))) for k in ("hunter2", "secret!")
    )
    text = rejected(OnValues, tmp_path, before, after)
    assert "`k`, another str than before" in text
    assert b"hunter2" not in repr(decode((tmp_path / "state").read_bytes())).encode()


USES: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda sales, f: sales.map(f),
    "filter": lambda sales, f: sales.filter(lambda sale: f(sale) > 1),
    "flat_map": lambda sales, f: sales.flat_map(lambda sale: [f(sale)]),
    "a key": lambda sales, f: sales.group_by(key=f).agg(n=flo.count()),
    "an aggregate": lambda sales, f: sales.group_by("shop").agg(n=flo.sum(f)),
    "a column": lambda sales, f: sales.with_columns(x=f),
    "a join": lambda sales, f: sales.join(sales, f, f),
    "a body of per_key": lambda sales, f: sales.key_by(price_of).per_key(lambda some: some.map(f)),
    "top": lambda sales, f: sales.top(1, f),
}


@pytest.mark.parametrize("use", USES)
def test_a_changed_function_whose_results_can_be_retracted(use: str, tmp_path: Path) -> None:
    changed = with_code(price_of, (lambda sale: sale.price + 1).__code__)
    before, after = (over(flo.ZSet[Sale], lambda sales, f=f: USES[use](sales, f)) for f in (price_of, changed))
    text = rejected(OnValues, tmp_path, before, after)
    assert "price_of" in text
    assert "has changed" in text
    assert "a push to the z-set `sales` may retract rows" in text
    assert "another checkpoint" in text
    resume(OnValues, tmp_path, before, over(flo.ZSet[Sale], lambda sales: USES[use](sales, price_of)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [flo.Bag, flo.Sequence])
def test_a_corrected_function_resumes_where_no_row_is_retracted(kind: Any, engine: Any, tmp_path: Path) -> None:
    changed = with_code(price_of, (lambda sale: sale.price + 1).__code__)
    before, after = (over(kind[Sale], lambda sales, f=f: sales.map(f)) for f in (price_of, changed))
    resume(engine, tmp_path, before, after)


@pytest.mark.parametrize("engine", ENGINES)
def test_retractions_may_come_from_an_operator(engine: Any, tmp_path: Path) -> None:
    """The input has none, and groups retract their last result."""
    changed = with_code(price_of, (lambda sale: sale.price + 1).__code__)

    def largest(sales: Any, f: Any) -> Any:
        rows = sales.to_zset().group_by("shop").agg(price=flo.max("price"))
        return rows.map(lambda row: Sale(row.shop, row.price)).map(f)

    before, after = (over(flo.Bag[Sale], lambda sales, f=f: largest(sales, f)) for f in (price_of, changed))
    text = rejected(engine, tmp_path, before, after)
    assert "`agg` before it retracts rows" in text


def test_an_aggregate_retracts_what_its_function_has_returned(tmp_path: Path) -> None:
    """The key may change over rows that stay; `finish` is called again on the old total, to retract the old row."""

    def finished(total: int) -> int:
        return total

    changed = with_code(finished, (lambda total: total + 1).__code__)

    def totals(sales: Any, key: Any, f: Any) -> Any:
        return sales.to_zset().group_by(key=key).agg(price=flo.linear("price", f))

    other_key = with_code(price_of, (lambda sale: sale.price + 1).__code__)
    flows = [
        over(flo.Bag[Sale], lambda sales, key=key, f=f: totals(sales, key, f))
        for key, f in ((price_of, finished), (other_key, finished), (price_of, changed))
    ]
    resume(OnValues, tmp_path, flows[0], flows[1])
    assert "`finished`" in rejected(OnValues, tmp_path, flows[0], flows[2])


@pytest.mark.parametrize(
    ("function", "name", "value", "shown"),
    [
        (price_at_rate, "RATE", 3, "`RATE` was 2, and is 3"),
        (price_of_table, "TABLE", {"a": 2}, "`TABLE`, another dict than before"),
    ],
)
def test_constants_that_the_code_reads(
    function: Any, name: str, value: Any, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = over(flo.ZSet[Sale], mapping(function))
    resume(OnValues, tmp_path, flow, flow)
    monkeypatch.setitem(globals(), name, value)
    with pytest.raises(flo.CheckpointError) as caught:
        OnValues(flow, tmp_path).restore()
    assert shown in str(caught.value)


def price_by_class(sale: Sale) -> int:
    return Prices.taxed(sale.price)


class Prices:
    RATE = 2

    @classmethod
    def taxed(cls, price: int) -> int:
        return cls._times(price) * cls.RATE

    @staticmethod
    def _times(price: int) -> int:
        return price


def test_constants_and_methods_of_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = over(flo.ZSet[Sale], mapping(price_by_class))
    resume(OnValues, tmp_path, flow, flow)
    with monkeypatch.context() as patch:
        patch.setattr(Prices, "RATE", 3)
        with pytest.raises(flo.CheckpointError, match=r"`Prices.RATE` was 2, and is 3"):
            OnValues(flow, tmp_path).restore()
    with monkeypatch.context() as patch:
        patch.setattr(Prices, "_times", staticmethod(with_code(Prices._times, (lambda price: price + 1).__code__)))
        with pytest.raises(flo.CheckpointError, match="it calls `_times`, whose code has changed"):
            OnValues(flow, tmp_path).restore()


def test_functions_that_the_code_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = over(flo.ZSet[Sale], mapping(price_by_helper))
    resume(OnValues, tmp_path, flow, flow)
    monkeypatch.setitem(globals(), "doubled", with_code(doubled, (lambda price: price * 3).__code__))
    with pytest.raises(flo.CheckpointError, match="it calls `doubled`, whose code has changed"):
        OnValues(flow, tmp_path).restore()


@pytest.mark.parametrize("function", [counted, Tax(2).added])
def test_what_a_function_changes_itself_is_no_change(function: Any, tmp_path: Path) -> None:
    flow = over(flo.ZSet[Sale], mapping(function))
    resume(OnValues, tmp_path, flow, flow)


def test_equal_values_are_no_change_in_another_process() -> None:
    """What a set, an array of objects or a cache has in memory differs from process to process."""
    program = """
import collections, dataclasses, sys
import numpy as np
from flo.core.function_identity import identify

names = {}
exec('def f(x):\\n    return x in {"a", "b", "c", "d"} or x in ("q", frozenset({"r", "s"}))', names)

@dataclasses.dataclass
class Rates:
    rate: int
    known: dict = dataclasses.field(default_factory=dict, compare=False)

def make():
    objects, read = np.array(["x", {"k": 1}], object), collections.defaultdict(int)
    rates, some = Rates(2, {sys.argv[1]: 1}), {"a", "b", "c"}
    read[sys.argv[1]]
    return [names["f"], lambda x: objects[0], lambda x: read[x], lambda x: rates.rate, lambda x: x in some]

print([identify(each) for each in make()])
"""
    texts = []
    for seed in ("1", "2"):
        run = [sys.executable, "-c", program, seed]
        seeded = os.environ | {"PYTHONHASHSEED": seed}
        texts.append(subprocess.run(run, env=seeded, capture_output=True, check=True).stdout)
    assert texts[0] == texts[1]
    assert b"captured" in texts[0]


def test_functions_of_a_library_may_become_known() -> None:
    """Whether a function belongs to the program depends on where it is installed."""
    known = (("doubled", "function 1"), ("doubled(…)", "source:1"), ("RATE in doubled", "2"), ("rates.EUR", "3"))
    assert not list(changed_values(known, known[:1]))
    assert not list(changed_values(known[:1], known))
    assert list(changed_values((), known)) == [("doubled", "nothing", "function 1")]


@functools.cache
def remembered(sale: Sale) -> int:
    return sale.price


def test_a_cache_around_a_function_is_no_change(tmp_path: Path) -> None:
    before, after = (over(flo.ZSet[Sale], mapping(f)) for f in (remembered, remembered.__wrapped__))
    resume(OnValues, tmp_path, before, before)
    resume(OnValues, tmp_path, before, after)


def compiled(text: str) -> Any:
    """A function that has no source that can be found."""
    names: dict[str, Any] = {}
    exec(text, names)
    return names["f"]


def test_code_is_compared_without_what_does_not_matter() -> None:
    here: dict[str, Any] = {}

    def defined(text: str, at: str) -> Any:
        import linecache

        linecache.cache[at] = (len(text), None, text.splitlines(keepends=True), at)
        exec(compile(text, at, "exec"), here)
        return here["f"]

    one = defined("def f(x):\n    return x + 1\n", "<one>")
    same = defined(
        '# a comment\n\ndef f(x: int) -> int:\n    """What it does."""\n    return (x +\n       1)\n', "<same>"
    )
    other = defined("def f(x):\n    return x + 2\n", "<other>")
    assert digest_code(one.__code__) == digest_code(same.__code__)
    assert has_other_code(digest_code(one.__code__), digest_code(other.__code__))


def test_code_without_a_source_is_compared_with_the_same_version_of_python_only() -> None:
    one, other = (compiled(f"def f(x):\n    return x - {n}\n") for n in (41, 42))
    first, second = digest_code(one.__code__), digest_code(other.__code__)
    assert first.startswith("bytecode:3.")
    assert has_other_code(first, second)
    documented = compiled('def f(x):\n    """What it does."""\n    return x - 41\n')
    assert digest_code(documented.__code__) == first
    assert not has_other_code(first, "bytecode:3.1:" + second.rpartition(":")[2])
    assert not has_other_code(first, "source:1234")
    assert not has_other_code(first, "")
    assert not list(changed_values((("f(…)", first),), (("f(…)", "source:1234"),)))


def test_code_of_python_and_of_flo_may_change_with_their_versions() -> None:
    import json

    assert identify(json.dumps).code == ""
    assert identify(flo.Flow.run).code == ""
    assert identify(len).name == "len"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_changed_lambda(engine: Any, tmp_path: Path) -> None:
    before = over(flo.Bag[Sale], lambda sales: sales.map(lambda sale: sale.price))
    after = over(flo.Bag[Sale], lambda sales: sales.map(lambda sale: sale.price + 1))
    text = rejected(engine, tmp_path, before, after)
    assert "the state belongs to another program: a lambda of `map` has changed" in text
    assert re.search(r"before +lambda sale: sale.price   \(test_changed_functions.py:", text)
    assert re.search(r"now +lambda sale: sale.price \+ 1   \(test_changed_functions.py:", text)


def test_a_state_of_an_earlier_release_has_no_outline(tmp_path: Path) -> None:
    flow = over(flo.ZSet[Sale], mapping(price_of))
    resume(OnValues, tmp_path, flow, flow)
    whole = decode((tmp_path / "state").read_bytes())
    assert isinstance(whole, Call)
    earlier = encode(Call("state", whole.args[:-1]))
    flow.loop().restore(earlier)
    changed = with_code(price_of, (lambda sale: sale.price + 1).__code__)
    over(flo.ZSet[Sale], mapping(changed)).loop().restore(earlier)
    with pytest.raises(flo.CheckpointError, match="belongs to another program"):
        over(flo.ZSet[Sale], lambda sales: sales.map(price_of)).loop().restore(earlier)
