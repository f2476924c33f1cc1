"""Data in blocks: more people than memory holds, on one machine or on many.

What passes over people is a sum over blocks of them. `Rows` holds columns of the same people, such
as X, y and epsilon, as memory maps, as Dask arrays, or as an iterable of blocks, and computes with
one block at a time; ``Rows.passes`` says how often the rows were read.

What takes it: every estimator that needs sums over people alone, as `PDPRidge` with the square loss
does; `per_instance.stream_per_instance` and `per_instance_losses`; and for people with many
records, whose records may be in many blocks, `WeightedMean`, `SampleLimitedMean`, noisy gradients
of `WeightedERM`, `quantile_law` on a grid, and label-private regressions, which hold the rows that
may have a weight. Everything else refuses Dask arrays and `Rows`, and reads a memory map whole.
"""

from pdpbook.blocks.rows import Rows
from pdpbook.blocks.rows import in_blocks as in_blocks
from pdpbook.blocks.rows import in_memory as in_memory
from pdpbook.blocks.rows import rows_of as rows_of
from pdpbook.blocks.rows import several_passes as several_passes
from pdpbook.blocks.sources import is_dask as is_dask

__all__ = ["Rows"]
