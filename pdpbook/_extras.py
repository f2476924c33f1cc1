"""Libraries that not every mechanism needs: each belongs to an extra, named where it is absent."""

import sys
from importlib import import_module
from typing import Any

__all__: list[str] = []  # for the package

EXTRAS = {
    "cvxpy": "gwa",
    "dp_accounting": "accounting",
    "matplotlib": "plots",
    "matplotlib_inline": "plots",
    "pandas": "tables",
}


def extra(module: str) -> Any:
    """Import a module of such a library where it is used, or say what to install."""
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        name = EXTRAS[library]
        raise ImportError(
            f"{library} cannot be imported; it is in the extra {name!r} of the package. In the "
            f"folder of the book: pip install '.[{name}]'",
            name=library,
        ) from error


def of_pandas(value: Any, *kinds: str) -> bool:
    """Whether this is a Series, or another of these; where pandas is not imported, nothing is."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, tuple(getattr(pandas, k) for k in kinds))
