"""Spark SQL as programs of Flo, against batch Spark after every micro-batch."""
