"""Rows and columns shared by all engines: row types, their layout in Arrow, and column expressions with their types."""
