"""Python functions on symbols, so that a solver can prove what holds for all values."""
