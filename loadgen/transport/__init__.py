"""One turn over the wire to one exchange, and its decoding. Knows no schedule."""
