"""An autograder for Gradescope: a zip with the package, this one, their versions and two scripts.

Nothing of ours is fetched when Gradescope builds its image; what the package needs comes from the
package index, in the versions of the book. The image itself is unchecked.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from course.checkout import ROOT, Refused

SETUP = """\
#!/usr/bin/env bash
# Installs what the grader needs beside this folder: the wheel here, in the versions of the book.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
unset PYTHONPATH  # what lies elsewhere is not installed here
find_python() {
    for python in python3.11 python3.12 python3.13 python3; do
        if "$python" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
        then return; fi
    done
    return 1
}
if ! find_python; then
    apt-get update -qq
    apt-get install -y -qq python3.11 python3.11-venv || apt-get install -y -qq python3.12-venv
    find_python
fi
"$python" -m venv ../venv
../venv/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
  "$(ls ./*.whl)[accounting,gwa,plots,tables]" tqdm ipython
"""
RUN = """\
#!/usr/bin/env bash
# Grades submission/ into results/results.json.
set -euo pipefail
cd "$(dirname "${{BASH_SOURCE[0]}}")"
export PDPBOOK_EXERCISE_SEED={seed} OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
export PYTHONPATH="$PWD/source"  # where the grader lies
venv/bin/python -m course results {name} --root "$PWD"
"""
SOURCES = ("pdpbook", "pyproject.toml", "README.md", "LICENSE")


def autograder(name: str, out: Path, seed: int) -> None:
    """Write the zip that Gradescope takes as the autograder of an assignment."""
    if seed < 0:
        raise Refused(f"seed must be at least 0; got {seed}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(out, "w") as archive:
        wheel = _wheel(Path(folder))
        archive.write(wheel, wheel.name)
        archive.write(ROOT / "requirements.txt", "constraints.txt")
        for path in sorted((ROOT / "course").rglob("*.py")):
            archive.write(path, path.relative_to(ROOT))
        for file, content in (
            ("setup.sh", SETUP),
            ("run_autograder", RUN.format(name=name, seed=seed)),
        ):
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o100755 << 16  # a file that may be run
            archive.writestr(entry, content)


def _wheel(folder: Path) -> Path:
    """The package built from a copy, so that no folder of an earlier build gets into it."""
    copy = folder / "source"
    copy.mkdir()
    for source in SOURCES:
        if (ROOT / source).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / source, copy / source, ignore=unwanted)
        else:
            shutil.copy(ROOT / source, copy)
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(copy)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"the package cannot be built: {done.stderr.strip()[-300:]}")
    (wheel,) = folder.glob("*.whl")
    return wheel
