"""The functions of Spark SQL that are computed on Arrow columns. Importing this declares them in `flo.sql.registry`.

They are those that queries need above joins and groups, as TPC-H and TPC-DS do, and those that are one call of Arrow.
Catalyst runs all others, in a segment (`flo.sql.native`).
"""

from flo.sql.functions import arithmetic, comparisons, dates, nested, results, texts

__all__ = ["arithmetic", "comparisons", "dates", "nested", "results", "texts"]
