"""Code that runs in the driver: inputs, micro-batches, the query, sinks and views."""
