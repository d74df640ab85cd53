"""Operator state: sorted runs, merged in levels, so that the cost of a delta follows the delta."""
