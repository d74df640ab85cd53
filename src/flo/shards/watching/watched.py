"""What is watched: the program of a query, its plan, and how it was started."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Self

import pyarrow as pa

from flo.api.flow import Flow
from flo.pictures.run_graph import RunGraph
from flo.shards.micro_batches import MicroBatches
from flo.shards.plan.explain import PlanSection
from flo.shards.sinks.output_changes import DIVERTED
from flo.shards.sinks.sinks import Sink
from flo.shards.tasks.output_files import VIEW


@dataclass(frozen=True)
class Watched:
    """The program of a query, as its page shows it."""

    name: str
    blocks: list[PlanSection]
    inputs: list[str]
    late: list[str]
    """The outputs that have late rows."""
    flow: Flow | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    """How it was started."""
    diverting: tuple[str, ...] = ()
    """The inputs whose diverted rows no sink takes."""

    @classmethod
    def of(
        cls,
        flow: Flow,
        blocks: list[PlanSection],
        inputs: Sequence[str],
        batches: MicroBatches,
        sinks: Mapping[str, Sink],
        settings: Mapping[str, object],
    ) -> Self:
        """The program of a query with these sinks. Settings that are empty are left out."""
        kept = [name for name, sink in sinks.items() if name.endswith(DIVERTED) and sink.how == VIEW]
        diverting = tuple(name.removesuffix(DIVERTED) for name in kept)
        described = describe_start(batches, sinks, settings)
        return cls(flow.name, blocks, list(inputs), late_outputs(flow), flow, described, diverting)

    @cached_property
    def graph(self) -> RunGraph | None:
        """The picture of the program: drawn when somebody looks."""
        return None if self.flow is None else RunGraph(self.flow)


def late_outputs(flow: Flow) -> list[str]:
    """The names of the outputs that have late rows, as an operator has sorted them out."""
    late = {vertex.late for vertex in flow._scope.vertices if vertex.late is not None}
    return [name for name, stream in (flow._outputs | flow._late()).items() if stream in late]


def describe_start(batches: MicroBatches, sinks: Mapping[str, Sink], settings: Mapping[str, object]) -> dict[str, str]:
    """The settings of a query as text, by name."""
    texts = {name: _text(value) for name, value in settings.items() if value not in (None, (), {}, [], "")}
    texts |= {"checkpoint": batches.folder, "shards": f"{batches.shards:,}", "tasks at a time": f"{batches.tasks:,}"}
    views = [name for name, sink in sinks.items() if sink.how == VIEW]
    texts |= {f"output {name}": sink.written for name, sink in sinks.items() if name not in views}
    texts |= {"views": ", ".join(views)} if views else {}
    return texts | {"versions": f"Flo {_flo_version()}, Python {platform.python_version()}, Arrow {pa.__version__}"}


def _flo_version() -> str:
    try:
        return version("flo-streams")
    except PackageNotFoundError:  # its source is on the path
        return "not installed"


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
