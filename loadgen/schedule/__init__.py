"""When to send, as values: arrivals and slots. Pure and seeded; reads no clock."""
