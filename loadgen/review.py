"""The reading wing assembled: a run folder goes in, a summary and its outputs come out."""
