"""Crash trials: a pipeline on Spark is disturbed, restarted until it completes, and compared with another run."""
