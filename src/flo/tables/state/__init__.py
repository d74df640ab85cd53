"""Operator state: sorted runs that are merged in levels, so that the cost of a delta follows its size."""
