"""Rows and columns, shared by all engines: row types, layouts in Arrow, and column expressions with their types."""
