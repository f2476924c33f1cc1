"""Frames of estimators: what every mechanism does alike, written once.

A mechanism says which law it draws from and what it promises. Settings, units, budgets, blocks,
accounts, the one draw, predictions and the report are the frame's; the mathematics is in the
mechanisms.
"""

__all__: list[str] = []  # for the estimators of the package
