"""Spark SQL as views: the oracle is batch Spark."""
