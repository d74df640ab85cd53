"""The files of a checkpoint: commits, the lease, its program, and tools that read it without the program."""
