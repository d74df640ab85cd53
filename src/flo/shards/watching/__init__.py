"""Watching a query: what its live page, its saved page and Prometheus show."""
