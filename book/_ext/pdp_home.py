"""Where the book lives: the address of its site, its repository, and what Binder opens.

`_config.yml` has both addresses. PDPBOOK_HOME and PDPBOOK_REPOSITORY, where they are set, take
their place: the workflow that publishes sets them from where it runs, so the site of a fork leads
to the fork.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[2]
HERE = "http://localhost:"  # how the address of `make serve` begins, as long as there is no other
BINDER = "binder"  # the branch that Binder opens; .github/workflows/publish.yml moves it


@dataclass(frozen=True)
class Place:
    """The address of the site, which ends in a slash, and the repository, empty if there is none.

    `branch` is the one that is edited, `binderhub` the address of Binder.
    """

    home: str
    repository: str
    branch: str
    binderhub: str

    @property
    def published(self) -> bool:
        """Whether anybody else can open the address."""
        return not self.home.startswith(HERE)

    def page(self, name: str, anchor: str = "") -> str:
        """The address of a page, by its name below `book/`."""
        return f"{self.home}book/{name}.html{anchor}"

    def binder(self, ref: str, file: str) -> str:
        """The address at which Binder opens a file, of a branch or a tag."""
        slug = urlsplit(self.repository).path.strip("/")
        return f"{self.binderhub}/v2/gh/{slug}/{ref}?urlpath=lab/tree/{file}"


def place(root: Path = ROOT) -> Place:
    """Read where the book lives: the environment first, then `_config.yml`."""
    config = _parsed((root / "_config.yml").read_text(encoding="utf-8"))
    home = os.environ.get("PDPBOOK_HOME") or config["html"]["baseurl"]
    repository = os.environ.get("PDPBOOK_REPOSITORY") or config["repository"]["url"]
    return Place(
        home.rstrip("/") + "/",
        repository.rstrip("/"),
        config["repository"]["branch"],
        config["launch_buttons"]["binderhub_url"],
    )


@lru_cache(maxsize=1)
def _parsed(config: str) -> Any:
    """Every cell of a sheet asks for the place; reading YAML takes a hundred times as long."""
    return yaml.safe_load(config)


def opened(root: Path = ROOT) -> str:
    """What Binder opens: its branch in development, the tag in a release."""
    version = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    return BINDER if "dev" in version else f"v{version}"
