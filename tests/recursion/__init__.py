"""Recursion on every engine, against networkx."""
