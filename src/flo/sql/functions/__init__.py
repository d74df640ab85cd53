"""The functions of Spark SQL that are computed on Arrow columns, by the names of their classes in Catalyst."""

from flo.sql.functions import arithmetic, casts, comparisons, dates, results, texts

__all__ = ["arithmetic", "casts", "comparisons", "dates", "results", "texts"]
