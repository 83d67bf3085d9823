"""Keeps the schedule's promise. Knows neither HTTP nor files: it is given send and sink."""
