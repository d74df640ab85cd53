"""The typed dataflow as a picture: operators as boxes, streams with their types between them, bodies inside.

A stream is a small box of its own below the operator that emits it, so its type never lies on something else. A body
is laid out by itself and drawn inside its operator. A `write_defer` leads back to its `read_defer`, along the side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

from flo.api.flow import Flow
from flo.api.scope import AnyBase, AnyStream, Scope, Vertex
from flo.core.errors import Origin
from flo.core.nest import ReadDefer, WriteDefer
from flo.pictures.layered import BELOW, Box, Diagram, Link, lay_out
from flo.pictures.svg import MONO, Picture, own_file, palette, shorten, tag, text_width
from flo.program.dag import live_vertices
from flo.program.outline import describe_operator

SIZE, SMALL = 12.5, 10.5
PAD, LANE = 18.0, 14.0
MOST_OF_A_NAME, MOST_OF_A_TYPE = 38, 44
STYLE = own_file("picture.css").replace("var(--mono)", MONO)


@dataclass(eq=False)
class Drawn:
    """A box of the picture with its text: the whole in a tooltip, and the lines that are drawn."""

    box: Box
    kind: str
    whole: str
    lines: tuple[str, ...]
    body: Body | None = None


@dataclass(eq=False)
class Body:
    """The boxes and links of a scope, laid out. `backs` lead from a write to the read of the next round."""

    drawn: list[Drawn] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    backs: list[tuple[Box, Box, str]] = field(default_factory=list)
    layout: Diagram = field(default_factory=lambda: Diagram(0, 0, ()))

    @property
    def width(self) -> float:
        return self.layout.width + LANE * (len(self.backs) + 1) * bool(self.backs)

    @property
    def height(self) -> float:
        return self.layout.height + 2 * BELOW * bool(self.backs)


def draw_flow(flow: Flow) -> Picture:
    """Draw the program, finished or not. What no output depends on is pale."""
    outputs = {**flow._outputs, **{f"{name} (in result.late)": stream for name, stream in flow._late().items()}}
    body = _lay_out_scope(flow._scope, outputs)
    title = tag("title", escape(f"flow {flow.name}"))
    width, height = body.width + 2 * PAD, body.height + 2 * PAD
    ground = tag("rect", class_="ground", width=width, height=height)
    style = tag("style", palette(".flo-picture") + STYLE)
    content = "\n".join([title, style, ground, *_draw_body(body, PAD, PAD)])
    svg = tag(
        "svg",
        f"\n{content}\n",
        xmlns="http://www.w3.org/2000/svg",
        class_="flo-picture",
        role="img",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
    )
    return Picture(svg)


def _lay_out_scope(scope: Scope, outputs: Mapping[str, AnyStream]) -> Body:
    body = Body()
    boxes: dict[AnyBase, Box] = {}
    read = {stream for vertex in scope.vertices for stream in vertex.inputs} | set(outputs.values())
    live = set(live_vertices(scope.vertices, outputs.values()))
    for stream in scope.inputs:
        pill = _add(body, "input", _lines(f"input {stream.name}", stream.origin), 0, 1)
        _add_stream(body, boxes, pill.box, 0, stream)
    for vertex in scope.vertices:
        part = _add_vertex(body, vertex)
        if vertex not in live:
            part.kind += " idle"
        body.links += [Link(boxes[stream], part.box, 0, place) for place, stream in enumerate(vertex.inputs)]
        for place, stream in enumerate(vertex.outputs):
            if stream in read or vertex not in live:
                _add_stream(body, boxes, part.box, place, stream)
    for name, stream in outputs.items():
        pill = _add(body, "output", _lines(f"output {name}" if name else "result", None), 1, 0)
        body.links.append(Link(boxes[stream], pill.box))
    body.backs = list(_defers(scope, body))
    body.layout = lay_out([part.box for part in body.drawn], body.links)
    return body


def _lines(name: str, origin: Origin | None) -> tuple[str, tuple[str, ...]]:
    """Return the whole text, and the lines that are drawn: the name, shortened, and the user's line."""
    where = "" if origin is None else str(origin)
    drawn = (shorten(name, MOST_OF_A_NAME), *([shorten(where, MOST_OF_A_NAME)] if where else []))
    return (f"{name}\n{where}\n{origin.text}" if origin else name), drawn


def _add(body: Body, kind: str, text: tuple[str, tuple[str, ...]], ins: int, outs: int) -> Drawn:
    whole, lines = text
    width = max(text_width(line, SMALL if place else SIZE) for place, line in enumerate(lines)) + 24
    drawn = Drawn(Box(width, 26.0 + 15.0 * (len(lines) - 1), ins, outs), kind, whole, lines)
    body.drawn.append(drawn)
    return drawn


def _add_stream(body: Body, boxes: dict[AnyBase, Box], source: Box, port: int, stream: AnyBase) -> None:
    """Add the small box with a stream's type, below its source."""
    kind = "bounded" if stream.bounded else "unbounded"
    of = shorten(str(stream.type.collection), MOST_OF_A_TYPE)
    name = f"{stream.name}: " if stream.assigned else ""
    chip = Drawn(
        Box(text_width(f"{of} {kind}", SMALL) + 12, 18.0), f"stream {kind}", f"{name}{stream.type.described()}", (of,)
    )
    body.drawn.append(chip)
    boxes[stream] = chip.box
    body.links.append(Link(source, chip.box, port))


def _add_vertex(body: Body, vertex: Vertex) -> Drawn:
    operator, count = vertex.operator, len(vertex.inputs)
    kind = "operator defer" if isinstance(operator, (ReadDefer, WriteDefer)) else "operator"
    described = _named(vertex)
    drawn = _add(body, kind, _lines(described, vertex.origin), count, len(vertex.outputs))
    if vertex.body is not None:
        inner = _lay_out_scope(vertex.body, _results(vertex.body))
        drawn.kind, drawn.body = "body", inner
        drawn.box.width = max(drawn.box.width, inner.width + 2 * PAD)
        drawn.box.height += inner.height + 2 * PAD
    return drawn


def _named(vertex: Vertex) -> str:
    """Return the operator with its arguments; that of a body without, as they are drawn inside."""
    if isinstance(vertex.operator, (ReadDefer, WriteDefer)):
        return f"{vertex.operator.name}({vertex.operator.key!r})"
    described = describe_operator(vertex.operator)
    return described.partition("(")[0] if vertex.body is not None else described


def _results(scope: Scope) -> dict[str, AnyStream]:
    count = len(scope.outputs)
    return {f"{place + 1}" if count > 1 else "": stream for place, stream in enumerate(scope.outputs)}


def _defers(scope: Scope, body: Body) -> Iterator[tuple[Box, Box, str]]:
    """Yield, for every read, the write of its key."""
    parts = [part for part in body.drawn if part.kind.startswith(("operator", "body"))]
    placed = [(vertex.operator, part.box) for vertex, part in zip(scope.vertices, parts, strict=True)]
    written = {operator.key: box for operator, box in placed if isinstance(operator, WriteDefer)}
    for operator, box in placed:
        if isinstance(operator, ReadDefer) and operator.key in written:
            yield written[operator.key], box, operator.key


def _draw_body(body: Body, x: float, y: float) -> Iterator[str]:
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
    if link.target.height > 18:  # a stream has no tip: the line goes on behind it
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
    rounded = 4.0 if part.kind.startswith(("operator", "body", "stream")) else 13.0
    content = [
        tag("title", escape(part.whole)),
        tag("rect", x=left, y=top, width=box.width, height=box.height, rx=rounded),
    ]
    if part.kind.startswith("stream"):
        flag = part.kind.split()[1]
        words = escape(part.lines[0]) + tag("tspan", f" {flag}", class_="flag")
        content.append(tag("text", words, class_="small", x=middle, y=top + 12.5, text_anchor="middle"))
    else:
        for place, line in enumerate(part.lines):
            at = top + 17.5 + 15 * place
            words = escape(line)
            content.append(tag("text", words, class_="small" if place else None, x=middle, y=at, text_anchor="middle"))
    if part.body is not None:
        inner = part.body
        head = 26.0 + 15.0 * (len(part.lines) - 1)
        content += _draw_body(inner, left + (box.width - inner.width) / 2, top + head + PAD / 2)
    return tag("g", "".join(content), class_=part.kind)
