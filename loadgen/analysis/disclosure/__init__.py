"""The head of a report: six values and the card of what a reader must know."""
