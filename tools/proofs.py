"""The theorems that Coq has checked, and the boxes of the book that they stand for.

    python tools/proofs.py check    # compile `proofs/`, and print the axioms of every theorem
    python tools/proofs.py record   # after a person has read box and formal statement: note both

`proofs/boxes.csv` names for each box its theorems, what is checked of it, and what differs. Its
last two columns are fingerprints of the text of the box and of the formal statement when somebody
last read the two together. A formal statement is the theorem with the definitions of its file and
of all files that this one imports, without comments, lemmas and proofs. `faults` needs no Coq, and
an ordinary test calls it: it refuses a change of either text, steps that were admitted, and axioms.
"""

import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "proofs"
BOXES = FOLDER / "boxes.csv"
BUILD = ROOT / "_build" / "proofs"
DEFINITIONS = ("Definition", "Fixpoint", "Record")
STATEMENTS = ("Theorem", "Lemma")
OTHERS = re.compile(  # all else could change what a statement means
    r"From Book Require |Require (Im|Ex)port |Arguments |Import ListNotations$|Open Scope R_scope$"
)
LIBRARIES = {"Reals", "Lra", "Lia", "Psatz", "Bool", "List", "FunctionalExtensionality"}
AXIOMS = {  # the classical real numbers of Coq's own library
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
# Commands that admit a step, assume a statement, or turn off a check of Coq.
REFUSED = re.compile(
    r"\b(Admitted|admit|Admit|give_up|Axioms?|Parameters?|Conjectures?|Hypothes[ie]s|Variables?|"
    r"Context|Section|Module|Declare|Primitive|Unset|bypass_check|Instance|Load|Abort)\b"
)


# --- the formal texts -----------------------------------------------------------------------------


@cache
def without_comments(text: str) -> str:
    """Return a text of Coq without its comments, which nest."""
    parts, depth = [], 0
    for part in re.split(r"(\(\*|\*\))", text):
        depth += (part == "(*") - (part == "*)")
        if depth == 0 and part != "*)":
            parts.append(part)
    return "".join(parts)


@cache
def split(text: str) -> list[str]:
    """Return the sentences of a text, proofs left out."""
    text = re.sub(r"\bProof\.\s.*?\b(Qed|Admitted)\.", "", text, flags=re.S)
    return [part.strip() for part in re.split(r"\.(?=\s|$)", text) if part.strip()]


def read(file: str, folder: Path = FOLDER) -> str:
    """Return the text of a file without its comments."""
    return without_comments((folder / f"{file}.v").read_text(encoding="utf-8"))


def sentences(file: str, folder: Path = FOLDER) -> list[str]:
    """Return the sentences of a file, proofs left out."""
    return split(read(file, folder))


def kind_and_name(sentence: str) -> tuple[str, str]:
    """Return the first two words of a sentence, such as `Theorem` and its name."""
    kind, name, *_ = [*sentence.split(maxsplit=2), "", ""]
    return kind, name.rstrip(":")


def imports(file: str, folder: Path = FOLDER) -> list[str]:
    """Return the files of ours that one imports, in order, each after those that it needs."""
    found: list[str] = []
    for sentence in sentences(file, folder):
        if sentence.startswith("From Book Require"):
            for name in sentence.split()[4:]:
                found += [*imports(name, folder), name]
    return list(dict.fromkeys(found))


def definitions(file: str, folder: Path = FOLDER) -> list[str]:
    """Return the definitions of one file."""
    return [s for s in sentences(file, folder) if kind_and_name(s)[0] in DEFINITIONS]


def theorem(file: str, name: str, folder: Path = FOLDER) -> str:
    """Return what a theorem says, empty if the file has none of this name."""
    stated = ((s, *kind_and_name(s)) for s in sentences(file, folder))
    return next((s for s, kind, called in stated if kind == "Theorem" and called == name), "")


def files(folder: Path = FOLDER) -> list[str]:
    """Return all files, each after those that it imports."""
    names = sorted(path.stem for path in folder.glob("*.v"))
    return list(dict.fromkeys(one for name in names for one in [*imports(name, folder), name]))


# --- the boxes ------------------------------------------------------------------------------------


@cache
def cells(chapter: str) -> list[str]:
    """Return the text cells of a chapter."""
    notebook = json.loads((ROOT / f"book/{chapter}.ipynb").read_text(encoding="utf-8"))
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"]


@cache
def chapters() -> dict[str, str]:
    """Return the chapter of every label."""
    with open(ROOT / "book/statements.csv", encoding="utf-8", newline="") as rows:
        return {row["label"]: row["chapter"] for row in csv.DictReader(rows)}


def cell_of(label: str) -> str:
    """Return the cell with the box of this label."""
    return next(cell for cell in cells(chapters()[label]) if f":label: {label}\n" in cell)


def box(label: str) -> str:
    """Return the box itself, from its opening fence to its closing one."""
    lines = cell_of(label).split("\n")
    at = lines.index(f":label: {label}")
    first = max(k for k in range(at) if lines[k].startswith(":::"))
    fence = re.match(":+", lines[first])[0]
    return "\n".join(lines[first : lines.index(fence, at) + 1])


# --- both together --------------------------------------------------------------------------------


def rows(path: Path = BOXES) -> list[dict[str, str]]:
    """Return the rows of `proofs/boxes.csv`."""
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def fingerprint(parts: list[str]) -> str:
    """Return a short hash that line breaks do not change."""
    words = "\n".join(" ".join(part.split()) for part in parts)
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def box_fingerprint(row: dict[str, str]) -> str:
    """Return the fingerprint of a box, and of the cells that say what its letters mean."""
    return fingerprint([box(row["label"]), *map(cell_of, row["rests_on"].split())])


def formal_fingerprint(row: dict[str, str], folder: Path = FOLDER) -> str:
    """Return the fingerprint of the theorems of a box with all definitions behind them."""
    behind = [*imports(row["file"], folder), row["file"]]
    stated = [theorem(row["file"], name, folder) for name in row["theorems"].split()]
    return fingerprint([d for file in behind for d in definitions(file, folder)] + stated)


def faults(folder: Path = FOLDER) -> list[str]:
    """Return what is wrong, a sentence each, as far as one can see without Coq."""
    found = []
    for file in files(folder):
        for word in REFUSED.findall(read(file, folder)):
            found.append(f"proofs/{file}.v says {word}: nothing is admitted, and nothing assumed.")
        if "Defined." in read(file, folder):
            found.append(f"proofs/{file}.v says Defined: a definition that nobody reads.")
        named = [kind_and_name(s) for one in imports(file, folder) for s in sentences(one, folder)]
        known = {name for kind, name in named if kind in (*DEFINITIONS, *STATEMENTS)}
        for sentence in sentences(file, folder):
            kind, name = kind_and_name(sentence)
            if kind in (*DEFINITIONS, *STATEMENTS):
                if name in known:
                    found.append(f"proofs/{file}.v names {name} again: it hides what it imports.")
                known.add(name)
            elif not OTHERS.match(sentence):
                found.append(f"proofs/{file}.v says {kind}: it is no part of what people read.")
            if re.match(r"(From \w+ )?Require", sentence) and not _imports_known(sentence, folder):
                found.append(f"proofs/{file}.v imports what it may not: {sentence}.")
    for row in rows(folder / BOXES.name):
        label, file = row["label"], row["file"]
        missing = [n for n in row["theorems"].split() if not theorem(file, n, folder)]
        if missing:
            found.append(f"proofs/{file}.v has no theorem {', '.join(missing)} for {label}.")
            continue
        for changed, now, then in (
            ("the box of", box_fingerprint(row), row["box_read"]),
            (
                f"the formal statement proofs/{file}.v of",
                formal_fingerprint(row, folder),
                row["formal_read"],
            ),
        ):
            if now != then:
                found.append(
                    f"{changed} {label} has changed: read the box and its formal statement "
                    "together, mend what no longer agrees, then run: python tools/proofs.py record"
                )
    return found


def _imports_known(sentence: str, folder: Path) -> bool:
    names = re.sub(r".*Require (Import|Export)?", "", sentence).split()
    ours = sentence.startswith("From Book ")
    return all((folder / f"{n}.v").is_file() if ours else n in LIBRARIES for n in names)


def record() -> None:
    """Write the fingerprints of today into `proofs/boxes.csv`."""
    table = rows()
    for row in table:
        row["box_read"], row["formal_read"] = box_fingerprint(row), formal_fingerprint(row)
    with open(BOXES, "w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


# --- Coq ------------------------------------------------------------------------------------------


def coq(*command: str) -> str:
    """Run a command of Coq in the folder of compiled files, and return what it printed."""
    run = subprocess.run(command, cwd=BUILD, text=True, capture_output=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}\n{run.stdout}{run.stderr}")
    return run.stdout


def audit() -> str:
    """Return a file of Coq that asks for the axioms of every theorem of every box."""
    asked = [f"From Book Require Import {' '.join(files())}."]
    for row in rows():
        asked += [f"Print Assumptions {row['file']}.{name}." for name in row["theorems"].split()]
    return "\n".join(asked) + "\n"


def axioms(printed: str) -> set[str]:
    """Return the names of the axioms in the answers to `Print Assumptions`."""
    return set(re.findall(r"^([\w.']+)(?= :|$)", printed, re.M)) - {"Axioms"}


def check() -> None:
    """Compile every file, and print the axioms of every theorem."""
    if shutil.which("coqc") is None:
        sys.exit(
            "The proofs need Coq 8.16 or later: on Debian and Ubuntu "
            "`sudo apt-get install --no-install-recommends coq` (1 GB on disk)."
        )
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    for file in files():
        shutil.copy(FOLDER / f"{file}.v", BUILD)
        print(f"proofs/{file}.v", flush=True)
        coq("coqc", "-Q", ".", "Book", f"{file}.v")
    (BUILD / "Audit.v").write_text(audit(), encoding="utf-8")
    printed = coq("coqc", "-Q", ".", "Book", "Audit.v")
    names = [name for row in rows() for name in row["theorems"].split()]
    answers = re.split(r"^(?=Axioms:|Closed under)", printed, flags=re.M)[1:]
    for name, answer in zip(names, answers, strict=True):
        print(f"\nPrint Assumptions {name}.\n{answer.strip()}")
    if more := axioms(printed) - AXIOMS:
        sys.exit(f"Axioms beyond the classical real numbers: {', '.join(sorted(more))}")
    print(
        f"\n{len(names)} theorems of {len(rows())} boxes; no axiom but those of the real numbers."
    )


def main(arguments: list[str]) -> None:
    """Run the command that is named."""
    commands = {"check": check, "record": record}
    if len(arguments) != 1 or arguments[0] not in commands:
        sys.exit(__doc__)
    commands[arguments[0]]()


if __name__ == "__main__":
    main(sys.argv[1:])
