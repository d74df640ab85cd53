"""What runs in the driver: a query, its inputs and outputs, turn by turn."""
