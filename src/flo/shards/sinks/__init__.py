"""Sinks: where the changes of an output go, what they hold of it, and how they are given changes.

    micro-batch 7 ─> files of changes ─> OutputChanges ─> sink.take(…) ─> commit of version 7 ─> sink.commit(…)

Invariant: after version v a sink that is exactly once holds what the output has at v, whatever crashed in between. One
that is at least once may have taken changes of the last version twice.
"""
