"""Checkpoints in a folder: state as files that are named by their content."""
