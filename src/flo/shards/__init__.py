"""Programs cut into shards: stages, deliveries between them, tasks, versions of state, commits, and rescaling.

Nothing here needs Spark. An engine runs the tasks and moves what they send: `local` in processes, `spark` in jobs.
"""
