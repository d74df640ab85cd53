"""The files of a checkpoint: commits, the lease, its program, and tools that read it without the program.

    flo.json                       the program: outline, stages, outputs, number of shards     program_changes.py
    leases/00000003.json           who may commit: the third start of the query                lease.py
    commits/00000007.json          version 7 is visible, with its state versions               commits.py
    moments/00000007.json          the time of the outside world at version 7                  moments.py
    given/00000007.json            the changes of version 7 that sinks were given              given_changes.py
    state/00008/01/00003/…         states of 8 shards: stage 1, shard 3                        tasks/state.py
    outputs/sums/00000007/…        changes of an output, for its sink                          tasks/output_files.py
    diverted/orders/…              rows that an input has diverted                             tasks/output_files.py
    spark/…                        Spark's own offsets and commits                             spark_logs.py

Invariant: whatever a commit names is there, and does not change. Files that nothing names do no harm.
"""
