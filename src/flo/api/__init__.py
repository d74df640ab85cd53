"""The fluent API: ordinary Python builds a typed graph, and runs it."""
