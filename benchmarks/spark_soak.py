"""Some minutes of steady input: the memory of the driver and the workers, and the files of the checkpoint."""

from __future__ import annotations

import os
from pathlib import Path

import narwhals as nw

import flo
from benchmarks.columnar_programs import Row
from flo.spark.driver.query import Query
from flo.spark.session import embedded

SAMPLES = 12
KEYS = 10_000


def soak(scale: float, minutes: float, folder: Path) -> tuple[list[str], list[list[str]]]:
    """Sums of sums, kept as views: the state stays as large as the keys are many."""
    spark = embedded("soak", cores=2)
    try:
        rows = spark.readStream.format("rate").option("rowsPerSecond", max(100, int(50_000 * scale))).load()
        rows = rows.selectExpr(f"value % {KEYS} as k", "value % 1000 as v")
        query = _flow().on(spark).start({"rows": rows}, checkpoint=folder / "soak")
        try:
            found = []
            for _ in range(SAMPLES):
                query.wait(minutes * 60 / SAMPLES)
                found.append(_sample(query, folder / "soak"))
        finally:
            query.stop()
    finally:
        spark.stop()
    return ["micro-batch", "rows taken", "driver", "JVM", "workers", "files of the state", "all files", "bytes"], found


def _flow() -> flo.Flow:
    flow = flo.Flow("soak")
    sums = flow.input("rows", flo.ZSet[Row]).group_by("k").agg(v=flo.sum("v"))
    flow.output("sums", sums)
    flow.output("by hundreds", sums.map({"k": nw.col("k") // 100, "v": nw.col("v")}).group_by("k").agg(v=flo.sum("v")))
    return flow


def _sample(query: Query, checkpoint: Path) -> list[str]:
    last = query.progress[-1] if query.progress else None
    memory = _memory()
    sizes = {}
    for file in checkpoint.rglob("*"):
        try:
            if file.is_file():
                sizes[file] = file.stat().st_size
        except FileNotFoundError:  # removed while we look
            continue
    state = [file for file in sizes if (checkpoint / "spark") not in file.parents]
    turn, taken = (last.version, sum(last.taken.values())) if last else (-1, 0)
    cells = [f"{turn:,}", f"{taken:,}", *(f"{memory[who] / 1e6:,.0f} MB" for who in ("driver", "jvm", "workers"))]
    return [*cells, f"{len(state):,}", f"{len(sizes):,}", f"{sum(sizes.values()) / 1e6:.1f} MB"]


def _memory() -> dict[str, int]:
    """Of this process and those below it: what is resident and not of files."""
    parents = {pid: _parent(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}
    found = {"driver": _resident(os.getpid()), "jvm": 0, "workers": 0}
    for pid in parents:
        above, seen = pid, {pid}
        while above in parents and above != os.getpid() and parents[above] not in seen:
            above = parents[above]
            seen.add(above)
        if above == os.getpid() and pid != above:
            found["jvm" if _name(pid) == "java" else "workers"] += _resident(pid)
    return found


def _status(pid: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _parent(pid: int) -> int:
    return int(_status(pid).get("PPid", "0"))


def _name(pid: int) -> str:
    return _status(pid).get("Name", "")


def _resident(pid: int) -> int:
    return int(_status(pid).get("RssAnon", "0 kB").split()[0]) * 1024
