"""Quantiles that protect a user with all of their rows: one number from an exactly known law."""
