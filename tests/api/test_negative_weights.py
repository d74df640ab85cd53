"""Rows that were retracted more often than inserted: an error in a result on every engine, unless they are allowed."""

from __future__ import annotations

from typing import Any

import pytest

import flo
from flo.core.errors import ElementError, TypeMismatch


def build() -> flo.Flow:
    flow = flo.Flow("retracted")
    flow.output("rows", flow.input("rows", flo.ZSet[str]))
    return flow


def loop_of(place: str, **options: Any) -> Any:
    return build().loop(**options) if place == "values" else build().on(flo.here).loop(**options)


@pytest.fixture(params=["values", "tables"])
def place(request: Any) -> str:
    return str(request.param)


def test_a_result_raises(place: str) -> None:
    loop = loop_of(place)
    loop.push(rows={"a": -1, "b": 2})
    loop.run()
    with pytest.raises(ElementError, match="1 rows of the output `rows` were retracted more often") as error:
        loop.result()
    assert error.value.facts[0][1] == "weight -1"
    assert 'negative="allow"' in str(error.value)
    loop.push(rows={"a": 1})
    loop.run()
    assert len(loop.result()["rows"]) == 1


def test_rows_of_a_key_raise(place: str) -> None:
    flow = flo.Flow("keyed")
    flow.output("rows", flow.input("rows", flo.ZSet[str]).key_by(len))
    loop = flow.loop() if place == "values" else flow.on(flo.here).loop()
    loop.push(rows={"a": -1, "bb": 2})
    loop.run()
    with pytest.raises(ElementError, match="1 rows of the output `rows` were retracted more often") as error:
        loop.result()
    assert error.value.facts[0] == ("{1: 'a'}", "weight -1")


def test_a_run_raises(place: str) -> None:
    run = build().run if place == "values" else build().on(flo.here).run
    with pytest.raises(ElementError, match="retracted more often"):
        run(rows={"a": -1})
    assert len(run(rows={"a": -1}, negative="allow")["rows"]) == 1


def test_they_can_be_allowed(place: str) -> None:
    loop = loop_of(place, negative="allow")
    loop.push(rows={"a": -1})
    loop.run()
    assert len(loop.result()["rows"]) == 1


def test_what_is_pulled_are_changes(place: str) -> None:
    loop = loop_of(place)
    loop.push(rows={"a": 1})
    loop.run()
    loop.pull("rows")
    loop.push(rows={"a": -1})
    loop.run()
    assert len(loop.result()["rows"]) == 1
    assert len(loop.pull("rows")) == 1


def test_another_word_is_rejected(place: str) -> None:
    with pytest.raises(TypeMismatch, match="`negative` must be one of 'raise', 'allow'; got 'drop'"):
        loop_of(place, negative="drop")


def test_changes_after_a_restart_are_changes() -> None:
    loop = build().loop()
    loop.push(rows={"a": 1})
    loop.run()
    loop.pull("rows")
    again = build().loop()
    again.restore(loop.checkpoint())
    again.push(rows={"a": -1})
    again.run()
    assert again.result()["rows"] == {"a": -1}
