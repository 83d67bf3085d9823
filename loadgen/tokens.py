"""Text of a wanted token length, and counting tokens."""
