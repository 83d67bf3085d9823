"""The pieces of `speed.py`: machine, programs, a watched run, the server's log, races."""
