"""The server's own metrics beside ours: what it said, whether the two agree, what limits it."""
