"""The code of tasks: those at inputs, those of stages, and the state of shards.

    rows ─> InputTask ─ blobs ─> StageTask of stage 1 ─ blobs ─> StageTask of stage 2 ─> states, files, reports

Invariant: a task is a function of what it receives and of the states of the version before. A task that is retried
sends and writes the same again.
"""
