"""The operators of the `values` instance, one module per family."""
