"""L^O, operator languages (§3.4): the steps an operator can take now, the measure that falls, its type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

from flo.core.collection import Value
from flo.core.errors import BoundednessError, CollectionError, FloError, LawError, Origin, TypeMismatch, brief
from flo.core.stream_type import Derivation, StreamType, StreamTypes
from flo.core.term import Call, Lowerable, Lowering, Term, register

Values: TypeAlias = tuple[Value, ...]
Delta: TypeAlias = Value | None
"""What is concatenated to a value; None is the empty delta ∅ of every collection."""
Deltas: TypeAlias = tuple[Delta, ...]
Measure: TypeAlias = tuple[Any, ...]
"""A place in the well-founded order ≺: nested tuples of naturals, compared lexicographically."""


@dataclass(frozen=True, slots=True)
class Step:
    """`(I, op) →δ (I', op', O')`, and the rule that allows it; `inside` has the rules of a graph in the operator."""

    rule: str
    inputs: Values
    operator: Operator
    outputs: Deltas
    inside: tuple[str, ...] = ()


class Operator(Lowerable, ABC):
    """e^O ∈ E^O: an operator expression, its state included. Subclasses are frozen dataclasses.

    The name, the fields in their order, and nothing else make the expression: `fold(acc, f)`.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    arity: tuple[int, int] = (1, 1)
    """How many inputs and outputs."""
    signature: ClassVar[str] = ""
    """The operator's type, for error messages."""
    waits: ClassVar[str] = ""
    """Why the operator needs a bounded input, for the error message: "waits for the end of its input"."""

    type_rule: ClassVar[str] = ""
    """The name of the typing rule, where it is not the operator's own."""
    row_by_row: ClassVar[bool] = False
    """Whether it does the same to each element, wherever the others are: then a stream can be spread before it."""
    retracts: ClassVar[bool] = True
    """Whether a z-set that it gives may take rows back though those that it reads do not."""
    shares_flag: ClassVar[bool] = False
    """Whether all inputs have the same boundedness X in the operator's type."""

    @abstractmethod
    def type(self, inputs: StreamTypes) -> StreamTypes:
        """⊢^O: the output types on these input types; raises `TypeMismatch` if there are none."""

    def judge(self, inputs: StreamTypes) -> Derivation:
        """The typing derivation of `{S}[op]`'s premise. Operators that are not about defer only have a `type`."""
        expect_name(self)
        expect_arity(self, inputs)
        outputs = self.type(inputs)
        if type(outputs) is not tuple or not all(isinstance(output, StreamType) for output in outputs):
            raise TypeMismatch(
                f"`type` of `{self.name}` gives a tuple of the types of its outputs, and gave {brief(outputs)}",
                instead=(("return (StreamType(…),)", "one for each output"),),
            )
        if len(outputs) != self.arity[1]:
            raise TypeMismatch(
                f"`{self.name}` has {self.arity[1]} outputs, and its `type` gives {len(outputs)}",
                instead=((f"arity = ({self.arity[0]}, {len(outputs)})", "how many inputs and outputs it has"),),
            )
        rule = self.type_rule or f"{self.name.replace('_', '-')}-type"
        return Derivation(rule, self.expects(inputs), outputs, subject=self.name)

    def expects(self, inputs: StreamTypes) -> StreamTypes:
        """I, given that these types fit it: with one X for all inputs, U as soon as one of them is."""
        bounded = all(given.bounded for given in inputs)
        return tuple(StreamType(given.collection, bounded) for given in inputs) if self.shares_flag else inputs

    @abstractmethod
    def steps(self, inputs: Values) -> Iterator[Step]:
        """→δ: every step that can be taken now. Lazy: taking the first computes one."""

    def measure(self, inputs: Values) -> Measure:
        """≺^O: falls at every step. By default, what is left to consume."""
        return (sum(value.size() for value in inputs),)

    def advance(self, inputs: Values) -> Iterator[Step]:
        """Runs to the stuck state, in as few steps as it can. Must agree with taking the steps of `steps`."""
        return run(self, inputs)

    @property
    def called(self) -> str:
        """What errors call it."""
        return self.name

    def typed(self, inputs: StreamTypes) -> Self:
        """The operator with whatever it needs to know of its input types filled in."""
        return self

    def with_origins(self, like: Self) -> Self:
        """The operator with the user's lines, where it holds graphs: taken from the same operator of the program."""
        return self

    def lower(self, lower: Lowering) -> Term:
        expression = [field for field in fields(self) if field.compare]
        parts = [(getattr(self, field.name), field.default) for field in expression]
        while parts and parts[-1][0] == parts[-1][1]:  # what has its default value need not be written
            parts.pop()
        return Call(self.name, tuple(lower(part) for part, _ in parts))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            register(cls.name, cls)


_NO_STEP: Any = object()
"""Not None, which an operator may give by mistake, and which is then refused."""


def run(operator: Operator, inputs: Values) -> Iterator[Step]:
    """→δ*: takes the first step that is enabled until there is none."""
    while (step := next(operator.steps(inputs), _NO_STEP)) is not _NO_STEP:
        yield step
        inputs, operator = step.inputs, step.operator


def concat_all(values: Values, deltas: Deltas) -> Values:
    """`++` on tuples."""
    return tuple(value if delta is None else value.concat(delta) for value, delta in zip(values, deltas, strict=True))


def expect_steps(operator: Operator, steps: Any) -> Iterator[Any]:
    """Refuses what an operator gives as its steps if they cannot be taken one by one."""
    if not isinstance(steps, Iterator):
        raise LawError(
            f"`steps` of `{operator.name}` gives its steps one by one, and returned {brief(steps)}",
            instead=(("yield Step(…)", "each of them"), ("return iter(…)", "of a list that is there already")),
        )
    return steps


def expect_step(operator: Operator, count: int, step: Any) -> None:
    """Refuses what is no step of an operator with so many inputs, whatever it does."""
    wrong = _wrong(operator, count, step)
    if wrong is not None:
        rule = f"the rule `{step.rule}`" if isinstance(step, Step) else "`steps`"
        raise LawError(
            f"{rule} of `{operator.name}` {wrong}",
            instead=(("Step(rule, inputs, operator, outputs)", "inputs and outputs are tuples of values, or None"),),
        )


def _wrong(operator: Operator, count: int, step: Any) -> str | None:
    if not isinstance(step, Step):
        return f"gives steps, and gave {brief(step)}"
    if not isinstance(step.operator, Operator):
        return f"leads to an operator, and gave {brief(step.operator)}"
    sides: list[tuple[str, Any, int, type | tuple[type, ...]]] = [
        ("inputs", step.inputs, count, Value),
        ("outputs", step.outputs, operator.arity[1], (Value, type(None))),
    ]
    for side, values, expected, kinds in sides:
        if not isinstance(values, tuple):
            return f"gives its {side} in a tuple, and gave {brief(values)}"
        if len(values) != expected:
            return f"has {expected} {side}, and gave {len(values)}"
        stranger = next((value for value in values if not isinstance(value, kinds)), Value)
        if stranger is not Value:
            return f"gives values of collections as its {side}, and gave {brief(stranger)}"
    return None


def expect_name(operator: Operator, where: Origin | None = None) -> None:
    """Refuses an operator that has no name: errors, rules and checkpoints know it by that."""
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
        raise TypeMismatch(f"`{operator.name}` takes {arity} inputs and was given {len(inputs)}")


def expect_collection(
    operator: Operator,
    given: StreamType,
    *expected: type[Any],
    index: int = 0,
    error: type[FloError] = CollectionError,
    instead: tuple[tuple[str, str], ...] = (),
) -> None:
    """Refuses an input that is none of these collections."""
    if not isinstance(given.collection, expected):
        names = " or ".join(getattr(kind, "name", "a collection of elements") for kind in expected)
        raise error(
            f"`{operator.name}` works on {names}, and {{input}} is a {given.collection.name}",
            facts=(("{input}", given.described()), (operator.name, operator.signature or f"takes {names}")),
            instead=instead,
            index=index,
        )


def expect_bounded(
    operator: Operator, given: StreamType, *, index: int = 0, instead: tuple[tuple[str, str], ...] = ()
) -> None:
    """Refuses an input that may never end (streaming progress)."""
    if not given.bounded:
        needed = StreamType(given.collection, bounded=True).described()
        raise BoundednessError(
            f"`{operator.name}` {operator.waits or 'waits for the end of its input'}, and {{input}} may never end",
            facts=(("{input}", given.described()), (operator.name, operator.signature or f"takes {needed}")),
            instead=instead,
            index=index,
        )
