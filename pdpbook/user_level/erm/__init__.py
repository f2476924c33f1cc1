"""Fits that protect a person with all of their records: weighted empirical risk minimization."""
