"""Write the addresses that stand outside of the site, from where the book lives.

`tools/pages.py` calls it. README.md defines the targets of its links in one block, CITATION.cff
names the site and the repository, and the form for new issues the private address for a promise
that does not hold. As long as nothing is published, links lead to files of the repository, and the
other two say nothing: an address that is not there is worse than none.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "book" / "_ext"))
from pdp_home import BINDER, Place, place  # noqa: E402

PAGES = {  # name of a link in README.md -> page
    "read": "intro",
    "use": "synthesis/your_data",
    "teach": "back/instructors",
    "ledger": "back/ledger",
    "method": "back/method",
    "errata": "back/errata",
    "versions": "back/versions",
}
TRY = "start"  # the page that is opened to be run
CONTACT = """\
contact_links:
  - name: A promise that does not hold
    url: {repository}/security/advisories/new
    about: Report it in private, please. A release that tells more than it says is a security bug.
"""


def file(name: str) -> str:
    """The file of a page, from the top of the repository."""
    notebook = f"book/{name}.ipynb"
    return notebook if (ROOT / notebook).is_file() else f"book/{name}.md"


def links(home: Place) -> dict[str, str]:
    """Where each link of README.md leads."""
    target = home.page if home.published else file
    leads = {name: target(page) for name, page in PAGES.items()}
    can_run = home.published and home.repository
    return {**leads, "run": home.binder(BINDER, file(TRY)) if can_run else file(TRY)}


def readme(text: str, home: Place) -> str:
    """README.md with these targets."""
    for name, target in links(home).items():
        text = re.sub(rf"^\[{name}\]: .*$", f"[{name}]: {target}", text, flags=re.M)
    return text


def citation(text: str, home: Place) -> str:
    """CITATION.cff with the site and the repository, or without."""
    text = re.sub(r"^(?:url|repository-code): .*\n", "", text, flags=re.M)
    said = f'url: "{home.home}"\n' if home.published else ""
    said += f'repository-code: "{home.repository}"\n' if home.repository else ""
    return re.sub(r"^license: .*\n", rf"\g<0>{said}", text, flags=re.M)


def issues(text: str, home: Place) -> str:
    """What the form for new issues offers besides its templates."""
    before = text.partition("contact_links:")[0]
    return before + (CONTACT.format(repository=home.repository) if home.repository else "")


FILES: dict[str, Callable[[str, Place], str]] = {
    "README.md": readme,
    "CITATION.cff": citation,
    ".github/ISSUE_TEMPLATE/config.yml": issues,
}


def write(root: Path = ROOT, *, check: bool = False) -> int:
    """Write the files, or compare them; returns the exit code."""
    code, home = 0, place(root)
    for name, make in FILES.items():
        text = (root / name).read_text(encoding="utf-8")
        made = make(text, home)
        if check:
            code = code if made == text else 1
            print(f"{name}: {'up to date' if made == text else 'out of date; run tools/pages.py'}")
        else:
            (root / name).write_text(made, encoding="utf-8")
            print(f"{name}: {'as it was' if made == text else 'written'}")
    return code
