"""The names of Flo's jobs on Spark's own pages: the flow, the micro-batch, and the operators of each stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.traceback_utils import SCCallSiteSync

from flo.core.operator import Operator
from flo.pictures.svg import shorten
from flo.shards.plan.stages import Plan

MOST = 160
"""How many characters of a description are shown."""
DESCRIPTION = "spark.job.description"


class JobNames:
    """Names the jobs of a flow, and the tasks of its plan."""

    def __init__(self, flow: str, plan: Plan) -> None:
        self.flow = flow
        levels = range(1, len(plan.stages) + 1)
        self.stages = {level: shorten(f"stage {level}: {', '.join(_operators(plan, level))}", MOST) for level in levels}
        self.all_stages = shorten("; ".join(self.stages.values()), MOST)

    def name_inputs(self, names: Iterable[str]) -> str:
        return shorten(f"input {', '.join(names)}", MOST)

    def describe(self, context: SparkContext, version: int) -> None:
        """Describes the jobs that this thread starts from now on."""
        context.setLocalProperty(DESCRIPTION, shorten(f"{self._job(version)}: {self.all_stages}", 2 * MOST))

    def site(self, context: SparkContext, version: int) -> CallSite:
        """The name that jobs and their stages get, in place of a line of Flo."""
        return CallSite(context, self._job(version))

    def _job(self, version: int) -> str:
        return f"flo {self.flow}, micro-batch {version}"


@contextmanager
def hold_description(context: SparkContext) -> Iterator[None]:
    """Restores the user's description of jobs after the block."""
    before = context.getLocalProperty(DESCRIPTION)
    try:
        yield
    finally:
        context._jsc.setLocalProperty(DESCRIPTION, before)


class CallSite(SCCallSiteSync):
    """Sets the name of the jobs that this thread starts inside. PySpark sets none while another one is set."""

    def __init__(self, context: SparkContext, name: str) -> None:
        self._context, self._call_site = context, name

    def __enter__(self) -> None:
        SCCallSiteSync._spark_stack_depth += 1
        self._context._jsc.setCallSite(self._call_site)  # also if other threads have set theirs

    def __exit__(self, *raised: object) -> None:
        SCCallSiteSync._spark_stack_depth -= 1
        self._context._jsc.setCallSite(None)


def _operators(plan: Plan, level: int) -> list[str]:
    """The names of the operators of a stage, each once."""
    operators: list[Operator] = [vertex.operator for at, vertex in plan.vertices if at == level]
    return list(dict.fromkeys(str(getattr(each, "like", each).name) for each in operators))
