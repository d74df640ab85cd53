"""Spark SQL as Flo programs: queries planned by Catalyst, maintained incrementally, with Spark's own meaning."""
