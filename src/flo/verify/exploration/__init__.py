"""The state space of a program on given data: every schedule and every cut, and ways through it."""
