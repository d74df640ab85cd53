"""The laws of collections, operators and whole programs, on every small input and at random."""
