"""Files and seeds to sessions. Reads no clock, opens no socket."""
