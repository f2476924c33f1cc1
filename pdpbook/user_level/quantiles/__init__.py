"""Quantiles that protect a user with all of their rows: weighted, with a budget for every user.

A release is one number from a law that is known exactly.
"""
