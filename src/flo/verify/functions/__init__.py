"""The laws of functions and lattices, tried and proved; and what operators ask of the functions they are given."""
