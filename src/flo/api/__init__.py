"""The fluent API: ordinary Python code builds a typed graph and runs it."""
