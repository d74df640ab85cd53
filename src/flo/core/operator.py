"""L^O, operator languages (§3.4): an operator's type, its steps, and the measure that decreases at every step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import Field, dataclass
from enum import Enum
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from flo.core.collection import Collection, Value
from flo.core.errors import BoundednessError, CollectionError, FloError, LawError, Origin, TypeMismatch, brief
from flo.core.facts import ALL_COLUMNS, Demand, PrimaryKey, Reads, Timing
from flo.core.stream_type import Derivation, StreamType, StreamTypes
from flo.core.term import Call, Lowering, Named, Term, given_parts

Values: TypeAlias = tuple[Value, ...]
Delta: TypeAlias = Value | None
"""The right operand of `++`; None is the empty delta ∅ of every collection."""
Deltas: TypeAlias = tuple[Delta, ...]
K = TypeVar("K", bound=Collection)
Measure: TypeAlias = tuple[Any, ...]
"""An element of the well-founded order ≺: nested tuples of naturals, compared lexicographically."""


class Bound(Enum):
    """What bounds the state that an operator keeps between steps."""

    NOTHING = "keeps nothing"
    VALUE = "one value"
    GROUPS = "one value for each group or key"
    KEYS = "what its body keeps, for every key ever seen"
    WINDOWS = "the rows of open windows"
    CLOCK = "the rows that the clock has not passed"
    WAITING = "the rows that wait for the other side"
    SIDE = "the rows of the side that ends"
    END = "its input, which ends"
    ROWS = "grows with its input"
    UNKNOWN = "not declared"


@dataclass(frozen=True, slots=True)
class Step:
    """`(I, op) →δ (I', op', O')` and the rule that allows it. `inside` has the rules used in a nested graph."""

    rule: str
    inputs: Values
    operator: Operator
    outputs: Deltas
    inside: tuple[str, ...] = ()
    settled: bool = False
    """Whether it may only be taken when nothing before the operator can step: see `small_steps`."""


class Operator(Named, ABC):
    """e^O ∈ E^O: an operator expression, including its state. Subclasses are frozen dataclasses.

    The expression consists of the name and the fields in their order, nothing else: `fold(acc, f)`.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    arity: tuple[int, int] = (1, 1)
    """The numbers of inputs and outputs."""
    signature: ClassVar[str] = ""
    """The operator's type, for error messages."""
    makes_sound_steps: ClassVar[bool] = False
    """Whether its steps are known to be well-formed, so that they are not checked while a program runs."""
    waits: ClassVar[str] = ""
    """Why the operator needs a bounded input, for the error message, such as "waits for the end of its input"."""

    type_rule: ClassVar[str] = ""
    """The name of the typing rule, if it differs from the operator's name."""
    row_by_row: ClassVar[bool] = False
    """Whether it does the same to each element, regardless of the others: then its input can be spread over shards."""
    across_keys: ClassVar[bool] = False
    """Whether it needs the elements of all keys of a keyed input in one place."""
    retracts: ClassVar[bool] = True
    """Whether its output may have retractions although its inputs have none."""
    recomputes: ClassVar[tuple[str, ...]] = ()
    """The fields with functions that it calls again on what it has kept, to retract an earlier result."""
    keeps: ClassVar[Bound] = Bound.UNKNOWN
    """What bounds its state."""
    forgets_after: ClassVar[tuple[int, ...]] = ()
    """The inputs after whose end it only keeps what they had, of an operator that keeps rows."""
    retained_outputs: ClassVar[tuple[int, ...]] = ()
    """The outputs whose rows are retracted when a clock passes them."""
    timing: ClassVar[Timing] = Timing.LOSES
    """Whether rows that are on time by a clock are so in its output."""
    reads: ClassVar[Reads] = ALL_COLUMNS
    """The columns that it reads. Only what is linear may read fewer than all: see `program/pruning.py`."""
    clock_rules: ClassVar[tuple[str, ...]] = ()
    """Rules that can only be used if an input is a clock."""
    shares_flag: ClassVar[bool] = False
    """Whether all inputs have the same boundedness X in the operator's type."""

    @abstractmethod
    def type(self, inputs: StreamTypes) -> StreamTypes:
        """⊢^O: return the output types for these input types; raise `TypeMismatch` if there are none."""

    def judge(self, inputs: StreamTypes) -> Derivation:
        """Derive the premise of `{S}[op]`. Most operators only define `type`; those that use defer override this."""
        expect_name(self)
        expect_arity(self, inputs)
        outputs = self.type(inputs)
        if type(outputs) is not tuple or not all(isinstance(output, StreamType) for output in outputs):
            raise TypeMismatch(
                f"`type` of `{self.name}` must return a tuple of StreamType; got {brief(outputs)}",
                instead=(("return (StreamType(…),)", "one per output"),),
            )
        if len(outputs) != self.arity[1]:
            raise TypeMismatch(
                f"`type` of `{self.name}` must return {self.arity[1]} outputs, its arity; got {len(outputs)}",
                instead=((f"arity = ({self.arity[0]}, {len(outputs)})", "the numbers of inputs and outputs"),),
            )
        rule = self.type_rule or f"{self.name.replace('_', '-')}-type"
        return Derivation(rule, self.expects(inputs), outputs, subject=self.name)

    def expects(self, inputs: StreamTypes) -> StreamTypes:
        """I, for input types that fit it. With `shares_flag`, all inputs are unbounded as soon as one of them is."""
        bounded = all(given.bounded for given in inputs)
        return tuple(StreamType(given.collection, bounded) for given in inputs) if self.shares_flag else inputs

    def bound_on(self, inputs: StreamTypes) -> Bound:
        """Return what bounds its state on inputs of these types."""
        if self.keeps is not Bound.ROWS:
            return self.keeps
        if all(given.bounded for given in inputs):
            return Bound.END
        return Bound.SIDE if any(inputs[place].bounded for place in self.forgets_after) else Bound.ROWS

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        """Return the key of the rows of its output, which have these columns, given the keys of its inputs."""
        return None

    def demands(self, inputs: StreamTypes) -> Iterator[Demand]:
        """Yield what it requires of its functions and lattices, on inputs of these types."""
        yield from ()

    @abstractmethod
    def steps(self, inputs: Values) -> Iterator[Step]:
        """→δ: yield every step that is enabled now. Lazily: asking for the first computes only one."""

    def measure(self, inputs: Values) -> Measure:
        """≺^O: decreases at every step. By default, the amount of input left to consume."""
        return (sum(value.size() for value in inputs),)

    def advance(self, inputs: Values) -> Iterator[Step]:
        """Run to the stuck state in as few steps as possible. Must agree with taking the steps of `steps`."""
        return run(self, inputs)

    def rules_for(self, inputs: StreamTypes) -> frozenset[str] | None:
        """Return the rules that it has on inputs of these types; None if they are those that its methods name."""
        return None

    @property
    def called(self) -> str:
        """The operator's name in error messages."""
        return self.name

    def typed(self, inputs: StreamTypes) -> Self:
        """Return the operator with whatever it needs to know about its input types filled in."""
        return self

    def with_origins(self, like: Self) -> Self:
        """Return the operator with the user's lines of its graphs, taken from the same operator of the program."""
        return self

    def lower(self, lower: Lowering) -> Term:
        return Call(self.name, tuple(map(lower, given_parts(self))))


_NO_STEP: Any = object()
"""Not None, because a faulty operator may yield None, which must be reported."""


def run(operator: Operator, inputs: Values) -> Iterator[Step]:
    """→δ*: take the first enabled step until there is none."""
    while (step := next(operator.steps(inputs), _NO_STEP)) is not _NO_STEP:
        yield step
        inputs, operator = step.inputs, step.operator


def concat_all(values: Values, deltas: Deltas) -> Values:
    """`++` on tuples."""
    return tuple(value if delta is None else value.concat(delta) for value, delta in zip(values, deltas, strict=True))


def replaced(items: tuple[Any, ...], place: int, item: object) -> Any:
    """Return the tuple with another item at this place."""
    return (*items[:place], item, *items[place + 1 :])


def expect_steps(operator: Operator, steps: Any) -> Iterator[Any]:
    """Raise unless `steps` returned an iterator."""
    if not isinstance(steps, Iterator):
        raise LawError(
            f"`steps` of `{operator.name}` must return an iterator of steps; got {brief(steps)}",
            instead=(("yield Step(…)", "one by one"), ("return iter(…)", "if you have a list already")),
        )
    return steps


def expect_step(operator: Operator, count: int, step: Any) -> None:
    """Raise unless this is a well-formed step of an operator with `count` inputs."""
    wrong = _wrong(operator, count, step)
    if wrong is not None:
        rule = f"the rule `{step.rule}`" if isinstance(step, Step) else "`steps`"
        raise LawError(
            f"{rule} of `{operator.name}` {wrong}",
            instead=(("Step(rule, inputs, operator, outputs)", "inputs and outputs are tuples of values, or None"),),
        )


def _wrong(operator: Operator, count: int, step: Any) -> str | None:
    if not isinstance(step, Step):
        return f"must yield steps; got {brief(step)}"
    if not isinstance(step.operator, Operator):
        return f"must lead to an operator; got {brief(step.operator)}"
    sides: tuple[tuple[str, Any, int, type | tuple[type, ...]], ...] = (
        ("inputs", step.inputs, count, Value),
        ("outputs", step.outputs, operator.arity[1], (Value, type(None))),
    )
    for side, values, expected, kinds in sides:
        if not isinstance(values, tuple):
            return f"must give its {side} as a tuple; got {brief(values)}"
        if len(values) != expected:
            return f"must give {expected} {side}; got {len(values)}"
        for value in values:
            if not isinstance(value, kinds):
                return f"must give collection values as its {side}; got {brief(value)}"
    return None


def expect_name(operator: Operator, where: Origin | None = None) -> None:
    """Raise unless the operator has a name, by which errors, rules and checkpoints refer to it."""
    given = getattr(operator, "name", None)
    if not isinstance(given, str) or not given:
        kind = type(operator).__name__
        meant = "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).strip("_")
        raise LawError(
            f"the operator {kind} has no name" if given is None else f"the name of operator {kind} must be a string",
            facts=(("given", brief(given)), ("expected", "a class attribute `name`: a string")),
            instead=((f'name = "{meant}"', f"in the class {kind}"),),
            where=where,
        )


def expect_arity(operator: Operator, inputs: StreamTypes) -> None:
    arity = operator.arity[0]
    if len(inputs) != arity:
        raise TypeMismatch(f"`{operator.name}` must have {arity} inputs; got {len(inputs)}")


Advice: TypeAlias = tuple[tuple[str, str], ...]
"""What to write instead, and what it does."""
_ELEMENTS = ("Sequence", "Bag", "Set")
_TAKES: dict[str, tuple[str, ...]] = {
    "to_zset": _ELEMENTS,
    "to_set": _ELEMENTS,
    "to_bag": (*_ELEMENTS, "bounded ZSet"),
    "sort": ("bounded Bag", "bounded Set"),
    "batch": ("Sequence",),
    "tumbling": ("Sequence", "Partitioned"),
    "key_by": (*_ELEMENTS, "ZSet", "Partitioned"),
    "top": ("ZSet",),
    "over": ("ZSet",),
}
"""The collections that verbs of advice take."""
_OTHERWISE: dict[str, Advice] = {
    "Keyed": (("{input}.per_key(lambda rows: …)", "the verb within each key"),),
    "Nested": (("{input}.nest(lambda inner: …)", "the verb within each inner stream"),),
    **dict.fromkeys(("Bag", "Set", "ZSet"), (("{input}.key_by(f).per_key(…)", "a program for each key"),)),
}


def fit_advice(instead: Advice, given: StreamType) -> Advice:
    """Return the advice without verbs that the stream does not have; if nothing is left, advice for its collection."""
    name, bounded = given.collection.name, given.bounded

    def fits(code: str) -> bool:
        verb = code.removeprefix("{input}.").partition("(")[0] if code.startswith("{input}.") else ""
        return verb not in _TAKES or name in _TAKES[verb] or (bounded and f"bounded {name}" in _TAKES[verb])

    return tuple(each for each in instead if fits(each[0])) or (_OTHERWISE.get(name, ()) if instead else ())


def expect_collection(
    operator: Operator,
    given: StreamType,
    *expected: type[K],
    index: int = 0,
    error: type[FloError] = CollectionError,
    instead: tuple[tuple[str, str], ...] = (),
) -> K:
    """Return the collection of the input. Raises unless it is one of these."""
    if not isinstance(given.collection, expected):
        names = " or ".join(getattr(kind, "name", "a collection of elements") for kind in expected)
        raise error(
            f"`{operator.name}` requires {names}; {{input}} is a {given.collection.name}",
            facts=(("{input}", given.described()), (operator.name, operator.signature or f"takes {names}")),
            instead=fit_advice(instead, given),
            index=index,
        )
    return given.collection


def expect_bounded(
    operator: Operator, given: StreamType, *, index: int = 0, instead: tuple[tuple[str, str], ...] = ()
) -> None:
    """Raise unless the input is bounded (streaming progress)."""
    if not given.bounded:
        needed = StreamType(given.collection, bounded=True).described()
        raise BoundednessError(
            f"`{operator.name}` {operator.waits or 'waits for the end of its input'}, and {{input}} may never end",
            facts=(("{input}", given.described()), (operator.name, operator.signature or f"takes {needed}")),
            instead=instead,
            index=index,
        )
