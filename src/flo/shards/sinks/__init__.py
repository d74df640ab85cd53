"""Sinks: where the changes of an output go, what they hold of it, and how they are given changes."""
