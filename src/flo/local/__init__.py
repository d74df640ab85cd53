"""Programs on tables on this machine: in one process, or as shards in worker processes."""
