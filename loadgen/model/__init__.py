"""The words that every room speaks: frozen types, no I/O, no numpy before `table`."""
