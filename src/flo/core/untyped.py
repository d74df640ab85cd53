"""Names for what type checkers cannot know or say: each tells what the thing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Element: TypeAlias = Any
"""An element, a row, a key or a value of a lattice: the program knows its type, the engine does not."""
Unit: TypeAlias = Any
"""What one step consumes: an element of a sequence; in a bag, set or z-set, an element with its weight."""
TypeForm: TypeAlias = object
"""A Python type as an object: a class, a union, a parameterised type, or Any."""
TimeValue: TypeAlias = Any
"""A time or a duration: a number, a date, a datetime or a timedelta."""
AnyFunction: TypeAlias = Callable[..., Any]
"""A function that is called with any arguments."""
ElementFunction: TypeAlias = Callable[[Element], Any]
"""A function of the user, called with an element."""
PairFunction: TypeAlias = Callable[[Any, Element], Any]
"""A function of the user, called with two elements, or with a state and an element."""
Json: TypeAlias = Any
"""The content of a file of JSON, or a part of it. Whoever reads it checks the fields."""
StateTerm: TypeAlias = Any
"""A term of a stored state: a call, a tuple or an atom, as its place in the state says."""
