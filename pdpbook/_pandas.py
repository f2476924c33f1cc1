"""The library of tables, for modules that cannot do without it; absent, its extra is named."""

from pdpbook._extras import extra

extra("pandas")

import pandas as pd  # noqa: E402, F401

__all__: list[str] = []  # for the package
