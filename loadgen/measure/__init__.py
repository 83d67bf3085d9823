"""The measuring wing assembled: a plan goes in, a run folder comes out."""
