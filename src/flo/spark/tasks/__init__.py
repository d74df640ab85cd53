"""What runs on executors beside the tasks of shards: how Spark starts a task, and what stands around Catalyst."""
