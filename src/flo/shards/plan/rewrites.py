"""Switches of the rewrites that make a program faster, in worker processes and on Spark.

    flo.rewrites.hot_keys = False
    query = flow.on(spark).start(...)

Every rewrite has the results of the plain way. Switch one off before `flow.on(spark)`, which plans the program, to
compare the two; a checkpoint of one goes on with the other.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Rewrites:
    """Which rewrites are used. All are, unless you say otherwise."""

    early_sums: bool = True
    """Rows are added up, or reduced, before a shuffle."""
    hot_keys: bool = True
    """The rows of a key that has very many may be spread over shards, in a join."""
    one_scan: bool = True
    """A source that several inputs read is read once in a micro-batch."""
    narrow_inputs: bool = True
    """Columns of an input that nothing reads do not reach Python."""
    file_statistics: bool = True
    """Statistics of Parquet files may tell that a column that nothing reads has no nulls."""
    catalyst_outputs: bool = True
    """Catalyst writes outputs if it runs all that they depend on."""
    direct_reads: bool = True
    """Such an output is one plan with the files that it reads."""
    blob_files: bool = True
    """With a local master, tasks hand many rows to each other in files, past Spark's shuffle."""
    tasks_in_driver: bool = True
    """With a local master, a small micro-batch over files runs in the thread of its query, without a job of Spark."""
    lasting_files: bool = True
    """With a local master, the micro-batches of streaming files share what does not change between them."""


rewrites = Rewrites()
"""The switches of this process."""
