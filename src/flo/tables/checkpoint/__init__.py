"""Checkpoints in a folder: state in immutable files that are named by their content."""
