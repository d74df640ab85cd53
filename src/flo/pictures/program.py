"""The typed dataflow as a picture: verbs as boxes, streams with their columns between them, bodies inside.

A stream is a small box of its own below the verb that emits it, so its type never lies on something else. A body is
laid out by itself and drawn inside its verb. A `write_defer` leads back to its `read_defer`, along the side, and the
result of a `fixpoint` to its relation. On a page, a verb can be expanded to its operators, which are a picture of their
own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from flo.api.flow import Flow
from flo.api.scope import AnyBase, AnyStream, Scope, Vertex
from flo.api.verb_calls import VerbCall, name_streams, verb_calls
from flo.core.errors import Origin, TypeMismatch
from flo.core.nest import ReadDefer, WriteDefer
from flo.core.text_rows import wrap
from flo.core.type_names import column_texts, type_name
from flo.pictures.layered import BELOW, Box, Diagram, Link, lay_out
from flo.pictures.svg import MONO, Picture, own_file, palette, shorten, tag, text_width
from flo.program.dag import live_vertices
from flo.program.outline import describe_operator
from flo.values.operators.fixpoint import Fixpoint

SIZE, SMALL = 12.5, 10.5
PAD, LANE = 18.0, 14.0
LINE = 15.0
"""The height of a line of text."""
WIDEST, MOST_LINES = 42, 4
"""The characters of a line, and the lines of a name or of the columns of a stream."""
MARK_WIDTH = 26
"""The characters of a line that a script fills in."""
IN_LATE = " (in result.late)"
STYLE = own_file("picture.css").replace("var(--mono)", MONO)


@dataclass(eq=False)
class Drawn:
    """A box of the picture with its text: the whole in a tooltip, and the lines that are drawn."""

    box: Box
    kind: str
    whole: str
    lines: tuple[str, ...]
    small: int = 0
    """How many of the last lines are small."""
    body: BodyLayout | None = None
    number: int | None = None
    """Of a verb: which one it is, if it can be expanded."""
    mark: str = ""
    """The name of the last line, which a script fills in; empty if there is no such line."""
    corner: tuple[float, float] = (0.0, 0.0)
    """Where its lower left corner is in the picture."""

    @property
    def head(self) -> float:
        """The height of its text."""
        return 11.0 + LINE * len(self.lines)


@dataclass(frozen=True, eq=False)
class BoxPart:
    """What a box is made of: a verb, or one operator."""

    text: str
    origin: Origin | None
    vertices: list[Vertex]
    inputs: list[AnyBase]
    outputs: list[AnyStream]
    body: Scope | None


@dataclass(eq=False)
class BodyLayout:
    """The boxes and links of a scope, laid out. `backs` lead from a write to the read of the next round."""

    drawn: list[Drawn] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    backs: list[tuple[Box, Box, str]] = field(default_factory=list)
    layout: Diagram = field(default_factory=lambda: Diagram(0, 0, ()))
    parts: list[tuple[BoxPart, Box]] = field(default_factory=list)
    """What the boxes of verbs or operators are made of."""

    @property
    def width(self) -> float:
        return self.layout.width + LANE * (len(self.backs) + 1) * bool(self.backs)

    @property
    def height(self) -> float:
        return self.layout.height + 2 * BELOW * bool(self.backs)


@dataclass(frozen=True, slots=True, repr=False)
class ProgramPicture(Picture):
    """The picture of a program. In a page, its verbs can be expanded to their operators."""

    name: str = ""
    expanded: tuple[tuple[VerbCall, Drawn], ...] = ()

    def save(self, path: str | PathLike[str]) -> None:
        """Write an SVG; or a page on which verbs can be expanded, if the name ends in `.html`."""
        ending = Path(path).suffix
        if ending not in (".svg", ".html", ".htm"):
            raise TypeMismatch(
                f"a picture is saved as .svg or .html; got {ending or 'a name without an ending'}",
                facts=(("given", str(path)),),
            ).at_users_line()
        if ending != ".svg":
            from flo.pictures.program_page import save_program

            save_program(
                path, self.name, self.svg, [(drawn.corner, text, svg) for drawn, text, svg in self.operators()]
            )
        else:
            Picture.save(self, path)

    def operators(self) -> Iterator[tuple[Drawn, str, str]]:
        """Yield for each verb that can be expanded its box, its text and the picture of its operators."""
        for call, drawn in self.expanded:
            yield drawn, call.text, _picture(_lay_out_operators(call), f"the operators of {call.text}")


def draw_flow(flow: Flow, marked: bool = False) -> ProgramPicture:
    """Draw the program, finished or not. What no output depends on is pale.

    If it is marked, its inputs, verbs and outputs have an empty line each, for figures of a run."""
    outputs = {**flow._outputs, **{f"{name}{IN_LATE}": stream for name, stream in flow._late().items()}}
    expanded: list[tuple[VerbCall, Drawn]] = []
    body = _lay_out_scope(flow._scope, outputs, expanded, marked=marked)
    return ProgramPicture(_picture(body, f"flow {flow.name}"), flow.name, tuple(expanded))


def _picture(body: BodyLayout, title: str) -> str:
    width, height = body.width + 2 * PAD, body.height + 2 * PAD
    ground = tag("rect", class_="ground", width=width, height=height)
    style = tag("style", palette(".flo-picture") + STYLE)
    content = "\n".join([tag("title", escape(title)), style, ground, *_draw_body(body, PAD, PAD)])
    return tag(
        "svg",
        f"\n{content}\n",
        xmlns="http://www.w3.org/2000/svg",
        class_="flo-picture",
        role="img",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
    )


def _lay_out_scope(
    scope: Scope,
    outputs: Mapping[str, AnyStream],
    expanded: list[tuple[VerbCall, Drawn]],
    relations: int = 0,
    marked: bool = False,
) -> BodyLayout:
    """Lay out the verbs of a program or of a body. So many of its first inputs are what it gave in the round before."""
    body, boxes = BodyLayout(), dict[AnyBase, Box]()
    read = {stream for vertex in scope.vertices for stream in vertex.inputs} | set(outputs.values())
    live = set(live_vertices(scope.vertices, outputs.values()))
    read_again: list[Box] = []
    for stream in scope.inputs:
        pill = _add(body, "input", f"input {stream.name}", stream.origin, 0, 1)
        if marked:
            _mark(pill, f"input {stream.name}")
        _add_stream(body, boxes, pill.box, 0, stream)
        read_again.append(pill.box)
    for number, call in enumerate(verb_calls(scope.vertices)):
        part = BoxPart(call.text, call.origin, call.vertices, call.inputs, call.outputs, call.body)
        is_live = not live.isdisjoint(call.vertices)
        drawn = _add_part(body, boxes, part, {*read, *(() if is_live else call.outputs)}, expanded)
        drawn.kind += "" if is_live else " idle"
        if marked:
            _mark(drawn, f"verb {number}")
        if part.body is None and not drawn.kind.startswith("operator defer"):
            drawn.number = len(expanded)
            expanded.append((call, drawn))
    given = _add_outputs(body, boxes, outputs, marked=marked)
    names = [stream.name for stream in scope.inputs[:relations]]
    body.backs += zip(given, read_again, names, strict=False)
    return _laid_out(body)


def _lay_out_operators(call: VerbCall) -> BodyLayout:
    """Lay out the operators of one verb: between the streams that it reads, and its results."""
    body, boxes, names = BodyLayout(), dict[AnyBase, Box](), dict[AnyBase, str]()
    name_streams(call.vertices[0].outputs[0].scope, [call], names) if call.vertices[0].outputs else None
    for stream in call.inputs:
        pill = _add(body, "input", names.get(stream, stream.name), None, 0, 1)
        _add_stream(body, boxes, pill.box, 0, stream)
    for vertex in call.vertices:
        part = BoxPart(_operator_text(vertex), None, [vertex], [*vertex.inputs], [*vertex.outputs], vertex.body)
        _add_part(body, boxes, part, set(vertex.outputs), [])
    _add_outputs(body, boxes, {names.get(stream, stream.name): stream for stream in call.outputs}, "")
    return _laid_out(body)


def _operator_text(vertex: Vertex) -> str:
    """Return the operator with its arguments; that of a body without, as they are drawn inside."""
    described = describe_operator(vertex.operator)
    return described.partition("(")[0] if vertex.body is not None else described


def _laid_out(body: BodyLayout) -> BodyLayout:
    body.backs += _defers(body)
    body.layout = lay_out([part.box for part in body.drawn], body.links)
    return body


def _name_lines(name: str) -> list[str]:
    """Return a name in a few lines, shortened."""
    lines = wrap(name, WIDEST) or [""]
    return (
        [*lines[: MOST_LINES - 1], shorten(" ".join(lines[MOST_LINES - 1 :]), WIDEST)] if lines[MOST_LINES:] else lines
    )


def _add(body: BodyLayout, kind: str, name: str, origin: Origin | None, ins: int, outs: int) -> Drawn:
    where = [shorten(str(origin), WIDEST)] if origin else []
    whole = f"{name}\n{origin}\n{origin.text}" if origin else name
    return _add_box(body, kind, whole, _name_lines(name), where, ins, outs)


def _add_box(
    body: BodyLayout, kind: str, whole: str, lines: list[str], small: list[str], ins: int = 1, outs: int = 1
) -> Drawn:
    widths = [*(text_width(line, SIZE) for line in lines), *(text_width(line, SMALL) for line in small)]
    drawn = Drawn(Box(max(widths) + 24, 0.0, ins, outs), kind, whole, (*lines, *small), len(small))
    drawn.box.height = drawn.head
    body.drawn.append(drawn)
    return drawn


def _mark(drawn: Drawn, name: str) -> None:
    """Add an empty line of this name, wide enough for figures."""
    drawn.mark = name
    drawn.lines, drawn.small = (*drawn.lines, ""), drawn.small + 1
    drawn.box.width = max(drawn.box.width, text_width("0" * MARK_WIDTH, SMALL) + 24)
    drawn.box.height += LINE


def _add_stream(body: BodyLayout, boxes: dict[AnyBase, Box], source: Box, port: int, stream: AnyBase) -> None:
    """Add the small box with a stream's collection and columns, below its source."""
    of = stream.known_type.collection
    row = _row_of(of)
    columns = column_texts(row)
    row_columns = f"[{type_name(row)}]" if hasattr(row, "_columns") else ""
    title = shorten(str(of).replace(row_columns, "", 1) if row_columns else str(of), WIDEST)
    name = f"{stream.name}: " if stream.assigned else ""
    whole = f"{name}{stream.known_type.in_full()}"
    lines = [f"{title} {stream.type.boundedness}", *_column_lines(columns)]
    chip = Drawn(
        Box(0.0, 4.0 + (LINE - 1) * len(lines)), f"stream {stream.type.boundedness}", whole, tuple(lines), len(lines)
    )
    chip.box.is_stream = True
    chip.box.width = max(text_width(line, SMALL) for line in lines) + 12
    body.drawn.append(chip)
    boxes[stream] = chip.box
    body.links.append(Link(source, chip.box, port))


def _row_of(of: object) -> Any:
    """Return the type of the elements of a collection, or of what is in it."""
    inner = getattr(of, "inner", None)
    if inner is not None:
        return _row_of(inner[0].collection if isinstance(inner, tuple) else inner)
    return getattr(of, "row", None) or getattr(of, "element", None)


def _column_lines(columns: list[str]) -> list[str]:
    """Return columns in a few lines, and how many more there are."""
    lines = [""]
    for place, column in enumerate(columns):
        comma = "," if place + 1 < len(columns) else ""
        if len(f"{lines[-1]} {column}{comma}") > WIDEST and lines[-1]:
            if len(lines) == MOST_LINES:
                return [*lines[:-1], f"{lines[-1]} … {len(columns) - place} more"]
            lines.append("")
        lines[-1] = f"{lines[-1]} {shorten(column, WIDEST)}{comma}".lstrip()
    return lines if columns else []


def _add_part(
    body: BodyLayout,
    boxes: dict[AnyBase, Box],
    part: BoxPart,
    read: set[AnyBase],
    expanded: list[tuple[VerbCall, Drawn]],
) -> Drawn:
    """Add the box of a verb or an operator, and those of the streams that something reads."""
    defers = any(isinstance(vertex.operator, (ReadDefer, WriteDefer)) for vertex in part.vertices)
    kind = "operator defer" if defers else "operator"
    text = f"{part.text.partition('(')[0]}" if part.body is not None else part.text
    drawn = _add(body, kind, text, part.origin, len(part.inputs), len(part.outputs))
    body.parts.append((part, drawn.box))
    if part.body is not None:
        (vertex,) = (each for each in part.vertices if each.body is part.body)
        relations = len(vertex.operator.relations) if isinstance(vertex.operator, Fixpoint) else 0
        inner = _lay_out_scope(part.body, _results(part.body), expanded, relations)
        drawn.kind, drawn.body = "body", inner
        drawn.box.width = max(drawn.box.width, inner.width + 2 * PAD)
        drawn.box.height += inner.height + 2 * PAD
    body.links += [Link(boxes[stream], drawn.box, 0, place) for place, stream in enumerate(part.inputs)]
    for place, stream in enumerate(part.outputs):
        if stream in read:
            _add_stream(body, boxes, drawn.box, place, stream)
    return drawn


def _add_outputs(
    body: BodyLayout,
    boxes: dict[AnyBase, Box],
    outputs: Mapping[str, AnyStream],
    kind: str = "output ",
    marked: bool = False,
) -> list[Box]:
    pills = []
    for name, stream in outputs.items():
        pill = _add(body, "output", f"{kind}{name}" if name else "result", None, 1, 0)
        if marked:
            _mark(pill, f"output {name.removesuffix(IN_LATE)}")
        body.links.append(Link(boxes[stream], pill.box))
        pills.append(pill.box)
    return pills


def _results(scope: Scope) -> dict[str, AnyStream]:
    count = len(scope.outputs)
    return {f"{place + 1}" if count > 1 else "": stream for place, stream in enumerate(scope.outputs)}


def _defers(body: BodyLayout) -> Iterator[tuple[Box, Box, str]]:
    """Yield, for every read, the write of its key."""
    placed = [(vertex.operator, box) for part, box in body.parts for vertex in part.vertices]
    written = {operator.key: box for operator, box in placed if isinstance(operator, WriteDefer)}
    for operator, box in placed:
        if isinstance(operator, ReadDefer) and operator.key in written:
            yield written[operator.key], box, operator.key


def _draw_body(body: BodyLayout, x: float, y: float) -> Iterator[str]:
    """Yield the links and then the boxes of a body whose upper left corner is at this place."""
    y += BELOW * bool(body.backs)
    for link in body.links:
        yield from _draw_link(link, x, y)
    for place, (source, target, key) in enumerate(body.backs):
        yield from _draw_back(body.layout, source, target, key, place, x, y)
    for part in body.drawn:
        yield _draw_box(part, x, y)


def _draw_link(link: Link, x: float, y: float) -> Iterator[str]:
    corners = [(x + a, y + b) for a, b in link.corners]
    way = f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"
    for (ax, ay), (bx, by) in itertools.pairwise(corners):
        middle = (ay + by) / 2
        way += (
            f"V{by:.1f}" if abs(ax - bx) < 0.05 else f"C{ax:.1f} {middle:.1f} {bx:.1f} {middle:.1f} {bx:.1f} {by:.1f}"
        )
    yield tag("path", d=way)
    if not link.target.is_stream:  # a stream has no tip: the line goes on behind it
        yield _tip(*corners[-1])


def _tip(x: float, y: float, kind: str = "tip") -> str:
    return tag("path", class_=kind, d=f"M{x:.1f} {y:.1f}l-3.6 -7h7.2z")


def _draw_back(layout: Diagram, source: Box, target: Box, key: str, place: int, x: float, y: float) -> Iterator[str]:
    """Draw the way from a write to the read of the next round: between the rows, and up at the side."""
    gap = BELOW / 2 - 3
    start, end = x + source.x, x + target.x
    below, above = y + layout.rows[source.rank].bottom + gap, y + layout.rows[target.rank].top - gap
    side = x + layout.width + LANE * (place + 1)
    way = f"M{start:.1f} {y + source.top + source.height:.1f}V{below:.1f}H{side:.1f}V{above:.1f}H{end:.1f}"
    title = tag("title", escape(f"the next round reads {key!r}"))
    yield tag("path", title, class_="back", d=f"{way}V{y + target.top:.1f}")
    yield _tip(end, y + target.top, "tip warm")


def _draw_box(part: Drawn, x: float, y: float) -> str:
    box = part.box
    left, top, middle = x + box.left, y + box.top, x + box.x
    part.corner = left, top + box.height
    rounded = 4.0 if part.kind.startswith(("operator", "body", "stream")) else 13.0
    content = [
        tag("title", escape(part.whole)),
        tag("rect", x=left, y=top, width=box.width, height=box.height, rx=rounded),
    ]
    is_stream = part.kind.startswith("stream")
    for place, line in enumerate(part.lines):
        at = top + (12.5 + (LINE - 1) * place if is_stream else 17.5 + LINE * place)
        words = escape(line)
        if is_stream and not place:
            title, flag = line.rsplit(" ", 1)
            words = escape(title) + tag("tspan", f" {flag}", class_="flag")
        small = "small" if place >= len(part.lines) - part.small else None
        mark = part.mark if part.mark and place == len(part.lines) - 1 else None
        kind = small if mark is None else "mark"
        content.append(tag("text", words, class_=kind, x=middle, y=at, text_anchor="middle", data_mark=mark))
    if part.mark:
        at, most = top + box.height - 4, box.width - 16
        content.append(
            tag("rect", class_="heat", data_heat=part.mark, data_most=most, x=left + 8, y=at, width=0, height=2.5)
        )
    if part.body is not None:
        inner = part.body
        content += _draw_body(inner, left + (box.width - inner.width) / 2, top + part.head + PAD / 2)
    return tag("g", "".join(content), class_=part.kind, data_verb=part.number)
