"""Programs cut into shards: stages, deliveries between them, tasks, versions of state, commits, and rescaling.

Every stage runs in all shards. A shard has the rows of its range of key numbers, and the state of the operators for
them. Two stages on 3 shards:

    input rows ─> tasks ─┬─> stage 1, shard 0 ─┬─> stage 2, shard 0 ─> output
                         ├─> stage 1, shard 1 ─┼─> stage 2, shard 1 ─> output
                         └─> stage 1, shard 2 ─┴─> stage 2, shard 2 ─> output
                     by the key of stage 1     by the key of stage 2

Invariant: a micro-batch takes the states of version v - 1 and the rows of version v, and gives the states and the
outputs of version v. It gives the same if it runs again.

Nothing here needs Spark. An engine runs the tasks and moves what they send: `local` in processes, `spark` in jobs.
"""
