r"""What the noise of a mechanism does, from public numbers alone, in the units of the user.

Every estimator says once what its noise is, and has its method ``report`` from here. A released
prediction is :math:`h\,u(x)^\top\theta`, with :math:`u(x)` the row on the domain, the constant
feature last, and :math:`h` half the width of the labels. So noise :math:`Z` on :math:`\theta` with
:math:`V=\mathbb E ZZ^\top` moves it by :math:`h\sqrt{u^\top Vu}`, root mean square. Where V depends
on the data, it is taken for rows that are spread evenly within the public bounds, which is an
estimate, and is said to be one; beside it stands a bound for all data, where one is known.
"""

from pdpbook.reports.frames import Sizes
from pdpbook.reports.noise import Noise
from pdpbook.reports.report import Report
from pdpbook.reports.reported import Reported
