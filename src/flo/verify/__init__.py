"""The laws that functions, operators and collections must satisfy, and the checks that try to break them."""

from flo.verify.check import check
from flo.verify.explore import Exploration
from flo.verify.laws import COLLECTION_LAWS, OPERATOR_LAWS, Law
from flo.verify.report import Counterexample, Report

__all__ = ["COLLECTION_LAWS", "OPERATOR_LAWS", "Counterexample", "Exploration", "Law", "Report", "check"]
