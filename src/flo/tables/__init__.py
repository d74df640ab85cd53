"""The engine on Arrow tables: values are tables, and one step consumes everything that has arrived."""
