"""Dated tables with their sources."""
