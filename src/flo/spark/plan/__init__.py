"""From a program to stages: where operators run, and what moves between them."""
