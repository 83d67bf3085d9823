"""Doubts as rules over facts: `table` lists them, `verdict` sums them up."""
