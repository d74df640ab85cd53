"""Operators on Python values, one module per family."""
