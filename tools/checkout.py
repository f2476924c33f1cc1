"""The `pdpbook` that tools, tests and notebooks use is that of this checkout, and of no other.

A second checkout that shares an environment with the first would else be held against the first.
"""

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: what a kernel is asked when it has started; nothing stays in its namespace
SOURCE = {"source": "__import__('pdpbook').__file__"}


class OtherCheckout(RuntimeError):
    """Python, or a kernel, has found another `pdpbook`."""


def come_first() -> None:
    """Let this process, and those that it starts, find this checkout first."""
    beside = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *beside])
    sys.path.insert(0, str(ROOT))
    import pdpbook

    refuse_other(pdpbook.__file__)


def refuse_other(file: Any) -> None:
    """Raise unless a module is in this checkout."""
    if not Path(str(file)).resolve().is_relative_to(ROOT):
        raise OtherCheckout(f"pdpbook must be that of {ROOT}; Python found {file}")


def refuse_other_in_kernel(reply: Any) -> None:
    """Raise unless a kernel that was asked `SOURCE` has found this checkout."""
    answer = reply["content"]["user_expressions"]["source"]
    if "data" not in answer:
        raise OtherCheckout(f"pdpbook must be that of {ROOT}; the kernel says {answer['evalue']}")
    refuse_other(answer["data"]["text/plain"].strip("'"))
