"""The state space of a program on given data: every schedule and every split of the data, and runs through it."""
