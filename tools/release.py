"""Make a release: one version in every file that names it, and an archive of the built book.

    python tools/release.py version 0.2.0        or 0.3.0.dev0, which opens the next development
    python tools/release.py check v0.2.0         the tag and the files agree
    python tools/release.py archive              pack _build/html, with its SHA-256 and its notes

`CHANGELOG.md` keeps a heading `## 0.2.0, unreleased` while 0.2.0 is in development. The order of a
release is in `CONTRIBUTING.md`.
"""

import argparse
import datetime
import gzip
import hashlib
import re
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = r"\d+\.\d+\.\d+(?:\.dev0)?"
NAME = "privacy-personally"
# file -> the one line that carries the version
LINES = {
    "pdpbook/__init__.py": rf'^__version__ = "({VERSION})"$',
    "CITATION.cff": rf"^version: ({VERSION})$",
    "CHANGELOG.md": r"^## (\S+), (unreleased|\d{4}-\d\d-\d\d)$",  # the first is the newest
}


def found(root: Path, name: str) -> re.Match[str]:
    match = re.search(LINES[name], (root / name).read_text(encoding="utf-8"), re.M)
    if not match:
        raise ValueError(f"{name} has no line that matches {LINES[name]}")
    return match


def current(root: Path = ROOT) -> str:
    """The version, if every file agrees on it."""
    said = {name: found(root, name)[1] for name in LINES}
    newest = found(root, "CHANGELOG.md")
    version = said["pdpbook/__init__.py"]
    said["CHANGELOG.md"] += ".dev0" if newest[2] == "unreleased" else ""
    if set(said.values()) != {version}:
        raise ValueError(f"the files name different versions: {said}")
    dates = re.findall(r"^date-released: (\S+)$", (root / "CITATION.cff").read_text("utf-8"), re.M)
    if dates != ([] if newest[2] == "unreleased" else [newest[2]]):
        raise ValueError(f"CITATION.cff was released {dates}, CHANGELOG.md says {newest[2]}")
    return version


def replace(root: Path, name: str, old: str, new: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")


def set_version(version: str, today: str, root: Path = ROOT) -> None:
    """Release the version in development, or open the development of the next."""
    if not re.fullmatch(VERSION, version):
        raise ValueError(f"VERSION must read 1.2.3, or 1.2.3.dev0 in development; got {version}")
    before, base = current(root), version.removesuffix(".dev0")
    if (version == base) == ("dev" not in before):
        raise ValueError(f"{before} and {version}: a release and a development take turns")
    newest = found(root, "CHANGELOG.md")[0]
    if version == base:
        replace(root, "CHANGELOG.md", newest, f"## {base}, {today}")
        dated = f"version: {version}\ndate-released: {today}\n"
    else:
        replace(root, "CHANGELOG.md", newest, f"## {base}, unreleased\n\n{newest}")
        dated = f"version: {version}\n"
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    citation = re.sub(r"^version: .*\n(date-released: .*\n)?", dated, citation, flags=re.M)
    (root / "CITATION.cff").write_text(citation, encoding="utf-8")
    line = found(root, "pdpbook/__init__.py")[0]
    replace(root, "pdpbook/__init__.py", line, f'__version__ = "{version}"')


def notes(root: Path = ROOT) -> str:
    """What `CHANGELOG.md` says of the newest version, and what the archive is."""
    _, newest, *_ = re.split(r"^## .*\n", (root / "CHANGELOG.md").read_text("utf-8"), flags=re.M)
    return newest.strip() + "\n\nThe archive is the built book: unpack it and open index.html.\n"


def archive(html: Path, out: Path, version: str) -> Path:
    """Pack a built book: the same pages give the same bytes."""
    if not (html / "book" / "intro.html").is_file():
        raise ValueError(f"no built book in {html.name}: run make book first")
    out.mkdir(parents=True, exist_ok=True)
    name = f"{NAME}-{version}"
    file = out / f"{name}.tar.gz"
    with (
        gzip.GzipFile(file, "wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(p for p in html.rglob("*") if p.is_file()):
            entry = tarfile.TarInfo(f"{name}/{path.relative_to(html).as_posix()}")
            entry.size = path.stat().st_size
            with path.open("rb") as content:
                tar.addfile(entry, content)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    file.with_name(file.name + ".sha256").write_text(f"{digest}  {file.name}\n", encoding="utf-8")
    return file


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("version").add_argument("version")
    steps.add_parser("check").add_argument("tag")
    steps.add_parser("archive")
    given = parser.parse_args(arguments)
    try:
        if given.step == "version":
            set_version(given.version, datetime.date.today().isoformat())
        elif given.step == "check" and given.tag != "v" + current():
            raise ValueError(f"the tag is {given.tag}, the files say {current()}")
        elif given.step == "archive":
            out = ROOT / "_build" / "archive"
            print(archive(ROOT / "_build" / "html", out, current()))
            (out / "notes.md").write_text(notes(), encoding="utf-8")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
