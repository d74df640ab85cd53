"""The columnar instance of the family: values are Arrow tables, and a step consumes all that has arrived."""
