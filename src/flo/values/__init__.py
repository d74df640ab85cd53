"""The `values` instance of the family (§6): collections and operators on plain Python values, rule by rule."""
