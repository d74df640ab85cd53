"""The operators of the `values` instance, a module for each family."""
