"""Laws that functions, operators and collections must satisfy, and the checks that try to break them."""
