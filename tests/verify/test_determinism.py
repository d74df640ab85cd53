"""Functions whose results are not determined by their arguments are found by what their code calls."""

from __future__ import annotations

import datetime as dates
import functools
import os
import random
import time
from datetime import date, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from flo.core.errors import LawError
from flo.verify.functions.determinism import expect_deterministic


def helper(x: int) -> float:
    return x + random.gauss(0, 1)


def seeded(x: int) -> float:
    return random.Random(x).random()


CULPRITS: dict[str, Any] = {
    "random.random": lambda x: random.random(),
    "random.choice": lambda x: [random.choice("ab") for _ in range(x)],
    "random.gauss": lambda x: helper(x),
    "time.time": lambda x: x + time.time(),
    "datetime.now": lambda x: datetime.now(),
    "date.today": lambda x: date.today(),
    "datetime.utcnow": lambda x: dates.datetime.utcnow(),
    "uuid.uuid4": lambda x: str(uuid4()),
    "os.urandom": lambda x: os.urandom(x),
    "time.strftime": lambda x: time.strftime("%Y") + str(x),
    "time.gmtime": lambda x: time.gmtime().tm_year + x,
}
CLOCKS = {name for name in CULPRITS if name.startswith(("time.", "date"))}


@pytest.mark.parametrize("name", CULPRITS)
def test_what_is_found(name: str) -> None:
    with pytest.raises(LawError, match=rf"it calls `{name}`"):
        expect_deterministic(CULPRITS[name])
    with pytest.raises(LawError, match=name):
        expect_deterministic(functools.partial(CULPRITS[name], 1))


@pytest.mark.parametrize("name", CULPRITS)
def test_the_advice_is_for_what_is_called(name: str) -> None:
    with pytest.raises(LawError) as caught:
        expect_deterministic(CULPRITS[name])
    assert caught.value.instead[0][0] == ('flow.now(because="…")' if name in CLOCKS else 'flo.hash("id")')


@pytest.mark.parametrize(
    "function",
    [
        seeded,
        len,
        lambda x: x + 1,
        lambda x: datetime.fromisoformat(x),
        lambda x: datetime(2024, 1, 1) < x,
        lambda x: np.float64(x),
        lambda now: now.time(),
        functools.partial(max, 1),
    ],
)
def test_what_is_fine(function: Any) -> None:
    expect_deterministic(function)


def test_the_time_of_the_outside_world_is_suggested_for_clocks_only() -> None:
    with pytest.raises(LawError) as caught:
        expect_deterministic(CULPRITS["datetime.now"])
    assert "flow.now(" in str(caught.value)
    with pytest.raises(LawError) as caught:
        expect_deterministic(CULPRITS["random.random"])
    assert "flow.now(" not in str(caught.value)
