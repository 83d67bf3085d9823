"""The run folder: the only room that knows its file names and formats."""
