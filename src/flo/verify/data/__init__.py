"""Values to try: made from types, given by the user, or generated."""
