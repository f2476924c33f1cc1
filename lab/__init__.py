"""Long runs, comparisons, benchmarks and mutants, beside the tables they write; see README.md.

On the path of the book and of its tests, never in the wheel. ``python -m lab`` lists what there is.
"""
