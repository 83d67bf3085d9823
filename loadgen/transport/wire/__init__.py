"""Sockets, TLS, connections and the stamped look at them: bytes and when they came."""
