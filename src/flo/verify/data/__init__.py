"""Values to try: built from types, given by the user, read from the code, or generated."""
