"""The picture of a program: every operator with its line, streams with their types, nothing on top of anything else."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from examples.auctions import auctions
from flo.pictures.layered import Box, Link, lay_out
from flo.pictures.program import WIDEST
from flo.pictures.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"


def add(a: int, b: int) -> int:
    return a + b


def parsed(flow: flo.Flow) -> ElementTree.Element:
    return ElementTree.fromstring(str(flow.draw()))


def groups(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [each for each in root.iter(f"{SVG}g") if kind in str(each.get("class")).split()]


def rectangle(group: ElementTree.Element) -> tuple[float, float, float, float]:
    rect = group.find(f"{SVG}rect")
    assert rect is not None
    x, y, width, height = (float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def texts(group: ElementTree.Element) -> list[str]:
    return ["".join(each.itertext()) for each in group.findall(f"{SVG}text")]


def expect_nothing_overlaps(root: ElementTree.Element) -> None:
    """Boxes beside each other do not touch, and texts are inside their boxes."""
    for parent in root.iter():
        boxes = [rectangle(each) for each in parent.findall(f"{SVG}g")]
        for one, other in combinations(boxes, 2):
            apart = one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
            assert apart, (one, other)
        if parent.tag == f"{SVG}g":
            left, top, right, bottom = rectangle(parent)
            assert all(left <= x and y >= top and right >= x2 and bottom >= y2 for x, y, x2, y2 in boxes)
            for each in parent.findall(f"{SVG}text"):
                size = 10.5 if each.get("class") == "small" else 12.5
                assert text_width("".join(each.itertext()), size) <= right - left
                assert top < float(each.get("y") or 0) < bottom


def test_a_program_with_bodies_and_a_defer() -> None:
    root = parsed(auctions())
    expect_nothing_overlaps(root)
    assert len(groups(root, "body")) == 2
    assert len([each for each in root.iter(f"{SVG}path") if each.get("class") == "back"]) == 1
    drawn = [text for group in groups(root, "operator") for text in texts(group)]
    assert 'tumbling(10, time="second", lateness=2)' in drawn
    assert all(
        texts(group)[-1].startswith("auctions.py:") for group in (*groups(root, "operator"), *groups(root, "body"))
    )
    types = [texts(group)[0] for group in groups(root, "stream")]
    assert "Set[int] bounded" in types
    assert "Sequence[Bid] unbounded" in types
    assert {texts(group)[0] for group in groups(root, "output")} >= {"output ring", "output late", "result"}


def test_names_are_escaped_and_shortened_and_the_whole_is_a_tooltip() -> None:
    flow = flo.Flow("<b>&")
    numbers = flow.input("a<b", flo.Sequence[int])
    long = numbers.map(
        lambda number_to_change: (
            number_to_change + 1
            if number_to_change < 1_000_000 and number_to_change > 0
            else (number_to_change - 1 if number_to_change > -1 else (number_to_change - 2) * number_to_change + 3)
        )
    )
    flow.output('"quoted" & <i>', long)
    text = str(flow.draw())
    assert "<b>" not in text
    assert "<i>" not in text
    root = ElementTree.fromstring(text)
    (operator,) = groups(root, "operator")
    title = operator.find(f"{SVG}title")
    assert title is not None
    assert "number_to_change < 1_000_000 and number_to_change > 0" in str(title.text)
    *name, _ = texts(operator)
    assert name[-1].endswith("…")
    assert max(map(len, name)) <= WIDEST


def test_a_flow_that_is_not_finished_is_drawn() -> None:
    flow = flo.Flow()
    assert "<svg" in str(flow.draw())
    flow.input("numbers", flo.Sequence[int]).map(abs)
    assert [str(each.get("class")) for each in groups(parsed(flow), "operator")] == ["operator idle"]


def test_a_picture_is_displayed_and_saved(tmp_path: Path) -> None:
    picture = auctions().draw()
    assert picture._repr_svg_() == str(picture)
    assert str(picture) in picture._repr_html_()
    picture.save(tmp_path / "auctions.svg")
    assert (tmp_path / "auctions.svg").read_text(encoding="utf-8") == str(picture)
    assert len(repr(picture)) < 80
    assert "prefers-color-scheme:dark" in str(picture)


class Sale(NamedTuple):
    shop: str
    price: float
    number: int


def cities() -> flo.Flow:
    flow = flo.Flow("cities")
    sales = flow.input("sales", flo.ZSet[Sale])
    totals = (
        sales.filter(nw.col("price") > 3)
        .group_by("shop")
        .agg(
            n=flo.count(),  # of sales
            dear=flo.count(where=nw.col("price") > 5),
        )
    )
    flow.output("totals", totals)
    return flow


def test_there_is_one_box_for_each_verb_as_it_is_written() -> None:
    root = parsed(cities())
    names = [" ".join(texts(group)[:-1]) for group in groups(root, "operator")]
    aggregates = "n=flo.count(), dear=flo.count(where=nw.col('price') > 5)"
    assert names == ['filter(nw.col("price") > 3)', f"group_by('shop').agg({aggregates})"]


def test_streams_have_their_columns() -> None:
    root = parsed(cities())
    columns = [texts(group) for group in groups(root, "stream")]
    assert columns[0] == ["ZSet[Sale] unbounded", "shop: str, price: float, number: int"]
    assert columns[-1] == ["ZSet unbounded", "shop: str, n: int, dear: int"]
    wide = flo.rows(pa.schema([pa.field(f"column_{place}", pa.int64(), False) for place in range(30)]))
    flow = flo.Flow()
    flow.output("wide", flow.input("wide", flo.ZSet[wide]))
    (lines,) = (texts(group) for group in groups(parsed(flow), "stream"))
    assert len(lines) == 5
    assert lines[-1].endswith("more")


def test_calls_of_one_line_are_boxes_of_their_own() -> None:
    flow = flo.Flow()
    numbers = first = flow.input("numbers", flo.Sequence[int])
    for _ in range(3):
        numbers = numbers.map(abs)
    for place in range(3):
        flow.output(f"{place}", first.map(abs))
    flow.output("numbers", numbers)
    assert len(groups(parsed(flow), "operator")) == 6


@pytest.mark.parametrize("count", [1, 30, pytest.param(300, marks=pytest.mark.thorough)])
def test_programs_of_every_size_are_laid_out_without_overlaps(count: int) -> None:
    drawn, flow = random.Random(count), flo.Flow()
    streams = [flow.input(f"input{place}", flo.Bag[int]) for place in range(3)]
    for _ in range(count):
        one = drawn.choice(streams[-12:])
        other = drawn.choice([each for each in streams[-20:] if each.source is None or one not in each.source.inputs])
        streams.append(one.map(abs) if drawn.random() < 0.6 else one.union(other))
    for place, stream in enumerate(streams[-6:]):
        flow.output(f"output{place}", stream)
    root = parsed(flow)
    assert len(groups(root, "operator")) == count
    expect_nothing_overlaps(root)


def test_a_link_over_several_ranks_passes_beside_the_boxes_between() -> None:
    boxes = [Box(100, 20, outs=2), Box(100, 20), Box(100, 20), Box(100, 20, ins=2)]
    links = [Link(boxes[0], boxes[1]), Link(boxes[1], boxes[2]), Link(boxes[2], boxes[3])]
    around = Link(boxes[0], boxes[3], 1, 1)
    layout = lay_out(boxes, [*links, around])
    assert [box.rank for box in boxes] == [0, 1, 2, 3]
    assert [row.top for row in layout.rows] == sorted(row.top for row in layout.rows)
    for x, y in around.corners[2:-2]:
        for box in boxes[1:3]:
            inside = box.left < x < box.left + box.width and box.top <= y <= box.top + box.height
            assert not inside


def test_an_input_is_drawn_just_above_its_reader() -> None:
    boxes = [Box(10, 10), Box(10, 10), Box(10, 10), Box(10, 10), Box(10, 10, ins=2)]
    first, second, third, late, last = boxes
    lay_out(boxes, [Link(first, second), Link(second, third), Link(third, last), Link(late, last, 0, 1)])
    assert late.rank == 2


def test_orders_with_fewer_crossings_are_found() -> None:
    tops, bottoms = [Box(10, 10) for _ in range(4)], [Box(10, 10) for _ in range(4)]
    links = [Link(one, other) for one, other in zip(tops, reversed(bottoms), strict=True)]
    lay_out([*tops, *bottoms], links)
    assert all(link.source.x == link.target.x for link in links)
