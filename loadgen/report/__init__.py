"""A summary to text, returned in pieces. No I/O."""
