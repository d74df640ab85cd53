"""Verbs of rows with named columns, against DuckDB after every delta."""
