"""Files of users, as text."""

FINE = """\
import flo

flow = flo.Flow("sums")
flow.output("sums", flow.input("numbers", flo.Sequence[int]).scan(0, lambda total, x: total + x))
"""

UNBOUNDED_FOLD = """\
import flo

flow = flo.Flow("total")
bids = flow.input("bids", flo.Sequence[int])
total = bids.fold(0, lambda n, bid: n + bid)
flow.output("total", total)
"""

ORDER_OF_A_BAG = """\
import flo

flow = flo.Flow("last")
votes = flow.input("votes", flo.Bag[int], bounded=True)
last = votes.fold(0, lambda kept, vote: vote)
flow.output("last", last)
"""

RACING_OPERATOR = """\
from dataclasses import dataclass

import flo
from flo.core.operator import expect_collection
from flo.values.sequence import SequenceValue


@dataclass(frozen=True)
class HowMany(flo.Operator):
    name = "how_many_there_are"

    def type(self, inputs):
        expect_collection(self, inputs[0], flo.Sequence)
        return (flo.StreamType(flo.Sequence(int), inputs[0].bounded),)

    def steps(self, inputs):
        (value,) = inputs
        if value.elements:
            yield flo.Step("how-many", (value.drained(),), self, (SequenceValue.of([len(value.elements)]),))
        elif value.ending():
            yield flo.Step("how-many-end", (value.passed(),), self, (SequenceValue.terminator(),))


flow = flo.Flow("race")
(many,) = flow.input("numbers", flo.Sequence[int]).apply(HowMany())
flow.output("many", many)
"""

SCRIPT = '''\
import sys
from typing import TYPE_CHECKING

import flo

if TYPE_CHECKING:
    from flo import Flow


def sums(start: int = 0) -> flo.Flow:
    """Made by a function."""
    flow = flo.Flow("sums")
    flow.output("sums", flow.input("numbers", flo.Sequence[int]).scan(start, lambda total, x: total + x))
    return flow


def only_for_type_checkers() -> "Flow":
    return sums(1)


def batches(size: int) -> flo.Flow:
    raise AssertionError("nothing gives it a size")


def unrelated() -> str:
    raise AssertionError("it gives no flow")


if __name__ == "__main__":
    sys.exit("not run when it is checked")
'''

PARSER = """import json
import flo


def parsed(line: str) -> object:
    return json.loads(line)


flow = flo.Flow("lines")
flow.output("rows", flow.input("lines", flo.Sequence[str]).map(parsed))
"""

GROWING = """\
import flo


def flow() -> flo.Flow:
    flow = flo.Flow("growing")
    numbers = flow.input("numbers", flo.ZSet[int])
    once = numbers.distinct()
    flow.output("once", once)
    flow.output("total", numbers.agg(n=flo.count()))
    return flow
"""

LATE = """\
import flo

flow = flo.Flow("late")
numbers = flow.input("numbers", flo.Sequence[int])
windows = numbers.tumbling(10, time=lambda x: x)
flow.output("sizes", windows.nest(lambda window: window.count()))
"""
