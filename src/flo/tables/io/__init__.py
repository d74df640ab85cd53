"""Reading inputs and writing outputs: files, frames, tables and plain Python."""
