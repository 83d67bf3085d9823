"""Runs against runs and against requirements: verdicts by interval."""
