"""What runs on executors: rows of inputs on their way to shards, and the turns of a shard with its state."""
