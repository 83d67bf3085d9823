"""The continuous-batching engine that the simulator plays: a published law."""
