"""The page of what Coq has checked, and the column of the ledger.

`tools/pages.py` writes `back/proofs` from `proofs/boxes.csv` and the formal texts: statements and
definitions as Coq read them, what differs from the box, no proofs.
"""

from reading import GENERATED, Page, Refused, code, link, statements, table

import proofs

KINDS = {"all": "all of it", "part": "in part"}
TEXT = """\
# What a machine has checked

Coq is a *proof assistant*: a program that reads a theorem and a proof, both written in its own
formal language, and accepts them only if every step follows from the rules of logic. Of the
statements of this book it has read {boxes}: {whole} as a whole, {part} in part. They are
{theorems} theorems in its language.

The machine cannot see whether a formal theorem says what a box says. People have to compare
the two, and this page is made for that: it shows what Coq read, without the proofs, and says in
words where it differs. When a box or a formal statement is changed, a test of this project fails
until somebody has read both again. Definitions were also made wrong on purpose, thirty times:
at first 27 of the changes made a proof fail, and with a few lemmas more all 30 do
(`proofs/README.md`).

**What all of it rests on.** Coq's own library of the real numbers, with classical logic: {axioms}
axioms of that library, and no others. Nothing was admitted without a proof. A vector is a function
of an index, of which the first $d$ values count, and so is a list of people. `INR` turns a natural
number into a real one; `Rmin`, `Rmax`, `Rabs` are the minimum, the maximum and the absolute value;
`fun j => ...` is a function of $j$; `->` between two statements is read "implies".

**What was not done.** All other statements of the book, among them {{prf:ref}}`lem-gamma-radius`,
which the theorems on noise in several dimensions assume; {{prf:ref}}`thm-joint-sensitivity`, whose
constant the package uses by default; and what the column *checked* below leaves out.

The files are in the folder `proofs/` of the project. `make proofs` has Coq read all of them, and
prints which axioms each theorem uses.

{table}
"""


def checked_by_machine(label: str) -> str:
    """What the ledger says of a statement: a link to its place on this page, or nothing."""
    row = next((row for row in proofs.rows() if row["label"] == label), None)
    return f"[{KINDS[row['part']]}](#proofs-{label})" if row else ""


def formal(sentences: list[str]) -> str:
    """Sentences of Coq, as it read them."""
    return "```coq\n" + "\n\n".join(f"{one}." for one in sentences) + "\n```\n"


def to_file(file: str) -> str:
    """A link to the definitions of a file."""
    return f"[{file}](#proofs-file-{file.lower()})"


def proofs_page(pages: dict[str, Page]) -> str:
    """The table of boxes, each with its formal statements, then the definitions."""
    rows, stated = proofs.rows(), {row["label"]: row for row in statements()}
    if unknown := [row["label"] for row in rows if row["label"] not in stated]:
        raise Refused(f"proofs/boxes.csv has labels that no page states: {', '.join(unknown)}")
    overview = [
        [
            link(stated[row["label"]]),
            row["foot"],
            f"[{row['file']}](#proofs-file-{row['file'].lower()})",
        ]
        for row in rows
    ]
    parts = [
        GENERATED
        + TEXT.format(
            boxes=len(rows),
            whole=sum(row["part"] == "all" for row in rows),
            part=sum(row["part"] == "part" for row in rows),
            theorems=sum(len(row["theorems"].split()) for row in rows),
            axioms=len(proofs.AXIOMS),
            table=table(["statement", "checked", "definitions"], overview),
        )
    ]
    parts += ["## The formal statements\n"]
    for row in rows:
        theorems = [proofs.theorem(row["file"], name) for name in row["theorems"].split()]
        parts += [
            f"(proofs-{row['label']})=\n### {title(row, pages)}\n",
            f"{link(stated[row['label']])}, label {code(row['label'])}. "
            f"*Checked:* {row['foot']}.\n",
            f"*What differs from the box.* {row['differs']}\n",
            formal(theorems),
        ]
    parts += ["## The definitions\n", "By file. A file also uses those of the files it imports.\n"]
    for file in proofs.files():
        if found := proofs.definitions(file):
            behind = [to_file(one) for one in proofs.imports(file)]
            parts += [f"(proofs-file-{file.lower()})=\n### {file}\n"]
            parts += [f"Imports {', '.join(behind)}.\n"] * bool(behind)
            parts += [formal(found)]
    return "\n".join(parts)


def title(row: dict[str, str], pages: dict[str, Page]) -> str:
    """The title of a box, without who had it first."""
    found = next(page.boxes[row["label"]] for page in pages.values() if row["label"] in page.boxes)
    return found.title.rpartition(";")[0] or found.title
