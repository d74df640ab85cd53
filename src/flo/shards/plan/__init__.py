"""Planning: cuts a program into stages, and decides where operators run and what is shuffled between them."""
