"""The laws of functions and lattices, tried and proved; and those that operators require of their functions."""
