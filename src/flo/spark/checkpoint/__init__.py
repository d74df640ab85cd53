"""A checkpoint as it is on disk: what it is of, what it holds, and how it is cut anew."""
