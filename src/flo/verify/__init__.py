"""The laws that functions, operators, collections, lattices and programs must satisfy, and the checks that try to break
them."""

from flo.verify.check import check
from flo.verify.exploration.explore import Exploration
from flo.verify.exploration.replay import Replay, replay
from flo.verify.laws import COLLECTION_LAWS, FUNCTION_LAWS, GRAPH_LAWS, LATTICE_LAWS, OPERATOR_LAWS, Law
from flo.verify.report import Counterexample, Report, Strength

__all__ = [
    "COLLECTION_LAWS",
    "FUNCTION_LAWS",
    "GRAPH_LAWS",
    "LATTICE_LAWS",
    "OPERATOR_LAWS",
    "Counterexample",
    "Exploration",
    "Law",
    "Replay",
    "Report",
    "Strength",
    "check",
    "replay",
]
