"""What a replay of recorded sessions amounts to, and what it may be compared with."""
