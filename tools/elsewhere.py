"""Run every notebook as an older processor would, and compare it with what is committed.

    python tools/elsewhere.py [book/foundations/coins.ipynb ...]

NumPy and OpenBLAS have code of their own for newer processors, which may end the last digits of a
number otherwise. Here both are told to leave it out. Equal means equal to the byte.
"""

import os
import platform
import sys
from pathlib import Path

import nbformat
from notebooks import ROOT, at_once, canonical, name_of, run, sources, text
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

OLD_CORE = {"x86_64": "Nehalem", "aarch64": "ARMV8", "arm64": "ARMV8"}  # as OpenBLAS names them


def as_older_processor() -> None:
    """Set for the kernels to come what NumPy and OpenBLAS may not use."""
    here = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    for name in sorted({*__cpu_dispatch__} - {*here}):
        print(f"{name}: this processor does not have it, skipped")
    print("switched off:", *here or ["nothing"])
    os.environ["NPY_DISABLE_CPU_FEATURES"] = " ".join(here)
    if core := OLD_CORE.get(platform.machine()):
        print("OpenBLAS as on:", core)
        os.environ["OPENBLAS_CORETYPE"] = core


def main(names: list[str]) -> int:
    """Run, and return how many notebooks differ."""
    as_older_processor()
    differ = []

    async def compare(path: Path) -> None:
        committed = path.read_text(encoding="utf-8")
        notebook = await run(nbformat.reads(committed, as_version=4), path.parent, timeout=300)
        if text(canonical(notebook)) != committed:
            there = ROOT / "_build" / "elsewhere" / path.relative_to(ROOT)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(text(notebook), encoding="utf-8")
            differ.append(path)
            print(f"{name_of(path)} differs: compare it with {os.path.relpath(there, ROOT)}")

    at_once(compare, [Path(name).resolve() for name in names] or sources())
    print(f"{len(differ)} notebooks differ")
    return len(differ)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
