"""Code that runs on executors: the tasks at inputs, the tasks of stages, and the state of shards."""
