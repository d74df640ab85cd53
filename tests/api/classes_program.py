"""A program whose state has rows of many classes, saved by one process and restored by another:

python tests/api/classes_program.py values|tables|spark save|restore FOLDER

As a script its classes are in `__main__`; imported, they are in a module.
"""

from __future__ import annotations

import enum
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import flo


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Click(NamedTuple):
    user: str
    at: int
    count: int


@dataclass(frozen=True)
class Point:
    x: int
    y: int


def make_class() -> Any:
    class Local(NamedTuple):
        a: int
        b: int

    return Local


Local = make_class()
DATA = {
    "save": [Click("a", 1, 1), Click("b", 2, 2), Click("a", 9, 5), Click("b", 12, 1)],
    "restore": [Click("a", 10, 7), Click("c", 30, 2)],
}


def build() -> flo.Flow:
    flow = flo.Flow("classes")
    clicks = flow.input("clicks", flo.Sequence[Click])
    clock = clicks.clock("at", lateness=2)

    def sums(window: Any) -> Any:
        return window.to_zset().group_by("user").agg(n=flo.sum("count"), counts=flo.collect("count"))

    flow.output("sessions", clock.rows.key_by("user").per_key(lambda rows: rows.session(5, clock=clock).nest(sums)))
    flow.output("points", clicks.scan(Point(0, 0), lambda sum, click: Point(sum.x + click.count, click.at)))
    flow.output(
        "last",
        clicks.key_by("user").per_key(
            lambda rows: rows.scan(Local(0, 0), lambda _, click: Local(click.count, click.at))
        ),
    )
    colors = clicks.key_by(lambda click: Color.RED if click.count > 1 else Color.BLUE)
    flow.output("pairs", colors.per_key(lambda rows: rows.batch(2)))
    return flow


def main(engine: str, action: str, where: str) -> None:
    rows, folder = DATA[action], Path(where)
    folder.mkdir(exist_ok=True)
    if engine == "spark":
        print(run_on_spark(action, rows, folder))
        return
    on_values = engine == "values"
    loop: Any = build().loop() if on_values else build().on(flo.here).loop()
    if action == "restore":
        loop.restore((folder / "state").read_bytes() if on_values else folder)
    loop.push(clicks=rows)
    if on_values:
        loop.run()
    if action == "save":
        if on_values:
            (folder / "state").write_bytes(loop.checkpoint())
        else:
            loop.checkpoint(folder)
    print(sorted((name, repr(loop.peek(name))) for name in ("sessions", "last", "pairs")))


def run_on_spark(action: str, rows: list[Click], folder: Path) -> list[tuple[str, str]]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    data = folder / "data"
    data.mkdir(exist_ok=True)
    first = 100 * len(list(data.iterdir()))
    lines = [json.dumps({**row._asdict(), "position": first + place}) for place, row in enumerate(rows)]
    (data / f"{action}.json").write_text("\n".join(lines))
    frame = spark.readStream.schema("user string, at bigint, count bigint, position bigint").json(str(data))
    query = (
        build()
        .on(spark)
        .start(
            {"clicks": frame},
            checkpoint=folder / "checkpoint",
            order={"clicks": "position"},
            trigger={"availableNow": True},
        )
    )
    query.wait()
    views = query.views()
    return sorted((name, repr(views[name].value())) for name in ("sessions", "last", "pairs"))


if __name__ == "__main__":
    main(*sys.argv[1:])
