"""What an endpoint is, asked before any load."""
