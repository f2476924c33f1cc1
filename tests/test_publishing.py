"""What GitHub is told: workflows that cannot run here are read, and the configuration they publish.

Rules about a workflow are functions of its text that return what is wrong; each is also run on a
planted fault.
"""

import json
import re
import struct
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import card
import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = {path.stem: path.read_text("utf-8") for path in (ROOT / ".github").rglob("*.yml")}
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

# --- workflows -----------------------------------------------------------------------------------

# job -> what its token may write, and nothing else may
WRITES = {
    ("publish", "pages"): {"pages", "id-token"},
    ("publish", "release"): {"contents"},
    ("weekly", "report"): {"issues"},
}
HOST = {
    "gh",
    "sha256sum",
    "if",
    "then",
    "else",
    "fi",
    "tee",
    "number",
}  # of the runner, of the shell


def jobs(text):
    return yaml.safe_load(text)["jobs"]


def steps(text):
    return [step for job in jobs(text).values() for step in job["steps"]]


def unpinned(name, text):
    """An action is a commit, with its version beside it."""
    used = re.findall(r"^ *-? ?uses: (.*)$", text, re.M)
    good = r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    return [use for use in used if not re.fullmatch(good, use)]


def too_powerful(name, text):
    """The token reads; what it writes is in the table above."""
    wrong = [] if yaml.safe_load(text).get("permissions") == {"contents": "read"} else ["the top"]
    for job, row in jobs(text).items():
        asked = row.get("permissions", {})
        if asked == "write-all" or {k for k, v in asked.items() if v != "read"} != WRITES.get(
            (name, job), set()
        ):
            wrong.append(job)
    return wrong


def secrets(name, text):
    return [s for s in re.findall(r"secrets\.(\w+)|secrets\[", text) if s != "GITHUB_TOKEN"]


def endless(name, text):
    """A run ends, and does not race another one."""
    wrong = [job for job, row in jobs(text).items() if not 0 < row.get("timeout-minutes", 0) <= 120]
    return wrong + ([] if "group" in yaml.safe_load(text).get("concurrency", {}) else ["the top"])


def commands(text):
    """The lines of every `run`, with those of a matrix in place."""
    for job in jobs(text).values():
        matrix = job.get("strategy", {}).get("matrix", {}).get("include", [])
        for step in job["steps"]:
            run = step.get("run", "")
            if run == "${{ matrix.command }}":
                run = "\n".join(row["command"] for row in matrix)
            yield from run.replace("\\\n", " ").splitlines()


def unknown_commands(name, text):
    """Every command is a target of the Makefile, a file of ours, or on the runner."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    wrong = []
    for line in commands(text):
        for command in re.split(r" \| | && ", line.split(" #")[0]):
            word, *rest = re.split(r"[\s=]+", command.strip())
            if word == "make":
                known = bool(rest) and set(rest) <= targets
            elif word in {"bash", ".venv/bin/python"}:
                known = bool(rest) and (ROOT / rest[0]).is_file()
            else:
                known = word in HOST
            if not known:
                wrong.append(line.strip())
    return wrong


def dangling(name, text):
    """Outputs and steps that an expression names are there."""
    everything = jobs(text)
    wrong = []
    for job, output in re.findall(r"needs\.([\w-]+)\.outputs\.([\w-]+)", text):
        if output not in everything.get(job, {}).get("outputs", {}):
            wrong.append(f"{job}.{output}")
    for job in everything.values():
        ids = {step.get("id") for step in job["steps"]}
        named = re.findall(r"steps\.([\w-]+)\.", json.dumps(job))
        wrong += [step for step in named if step not in ids]
        needed = job.get("needs", [])
        wrong += {needed} - set(everything) if isinstance(needed, str) else []
    return wrong


def wrong_pythons(name, text):
    """Every Python of a container is allowed by the package, and the lowest allowed one is used."""
    allowed = SpecifierSet(PROJECT["requires-python"])
    used = re.findall(r"python: \"?([\d.]+)", text) + re.findall(r"python:([\d.]+)-", text)
    floor = re.search(r">=([\d.]+)", PROJECT["requires-python"])[1]
    wrong = [version for version in used if version not in allowed]
    return wrong + ([] if floor in used else [f"not {floor}"])


RULES = [
    unpinned,
    too_powerful,
    secrets,
    endless,
    unknown_commands,
    dangling,
    wrong_pythons,
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_keep_the_rules(name, rule):
    assert rule(name, WORKFLOWS[name]) == []


@pytest.mark.parametrize(
    ("rule", "name", "old", "new"),
    [
        (unpinned, "ci", r"@[0-9a-f]{40} # v6.0.2", "@v6"),
        (unpinned, "ci", r" # v6\.0\.2", ""),
        (unpinned, "publish", r"actions/deploy-pages", "someone/deploy-pages"),
        (too_powerful, "ci", r"contents: read", "contents: write"),
        (too_powerful, "ci", r"^permissions:\n  contents: read\n", ""),
        (too_powerful, "publish", r"pages: write", "pages: write\n      contents: write"),
        (too_powerful, "weekly", r"permissions:\n      issues: write", "permissions: write-all"),
        (secrets, "publish", r"github\.token", "secrets.PERSONAL_TOKEN"),
        (endless, "ci", r"    timeout-minutes: 90\n", ""),
        (endless, "weekly", r"concurrency:\n  group: weekly\n  cancel-in-progress: false\n", ""),
        (unknown_commands, "ci", r"make test", "make tests"),
        (unknown_commands, "ci", r"\.ci/run", ".ci/runs"),
        (unknown_commands, "publish", r"tools/lint_site\.py", "tools/lint.py"),
        (unknown_commands, "weekly", r"make links", "linkchecker _build"),
        (dangling, "weekly", r"id: links", "id: link"),
        (dangling, "weekly", r"outputs\.links", "outputs.link"),
        (dangling, "publish", r"needs: build", "needs: built"),
        (wrong_pythons, "ci", r'"3.14"', '"3.10"'),
        (wrong_pythons, "publish", r"python:3\.11", "python:3.12"),
    ],
)
def test_planted_faults_of_workflows_are_noticed(rule, name, old, new):
    planted, count = re.subn(old, new, WORKFLOWS[name], flags=re.M)
    assert count
    assert rule(name, planted)


def test_the_readme_names_the_pythons_of_the_tests():
    named = re.search(r"The tests run on Python (.+)\.\n", (ROOT / "README.md").read_text("utf-8"))
    assert named[1].split(" and ") == re.findall(r'python: "([\d.]+)"', WORKFLOWS["ci"])


def test_one_action_has_one_commit():
    used = set(re.findall(r"uses: (\S+)@(\S+)", "\n".join(WORKFLOWS.values())))
    assert len({action for action, _ in used}) == len(used) >= 5


# --- what the configuration promises -------------------------------------------------------------


def committed_text():
    for path in [*(ROOT / "book").rglob("*"), ROOT / "README.md"]:
        if path.suffix in {".ipynb", ".md", ".bib"}:
            yield path, path.read_text("utf-8")


def binder_links(text):
    return re.findall(r"https://[^\s\"'()]*/v2/gh/[^\s\"'()]*", text)


def test_links_to_binder_follow_the_configuration():
    """They are moved to the tag of a release by the text that the configuration gives."""
    slug = CONFIG["repository"]["url"].removeprefix("https://github.com/")
    hub, branch = CONFIG["launch_buttons"]["binderhub_url"], CONFIG["repository"]["branch"]
    links = [link for _, text in committed_text() for link in binder_links(text)]
    assert len(links) >= 6  # the six pages of exercises
    for link in links:
        assert link.startswith(f"{hub}/v2/gh/{slug}/{branch}?urlpath="), link


def test_every_link_left_unvisited_is_there():
    """A pattern of `linkcheck_ignore` that excuses nothing would excuse the next dead link."""
    everything = "\n".join(text for _, text in committed_text())
    everything += re.sub(r"\bdoi\s*=\s*{", "https://doi.org/", everything)
    for pattern in CONFIG["sphinx"]["config"]["linkcheck_ignore"]:
        assert re.search(pattern, everything), pattern


def test_no_environment_is_read_as_a_page():
    """Sphinx reads every folder that is not excluded: those of pip hold manuals and notebooks."""
    made = re.findall(r"^[A-Z]+ := (\.venv\S*)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert len(made) == 3
    for folder in made:
        assert any(fnmatch(folder, pattern) for pattern in CONFIG["exclude_patterns"]), folder


CARDS = [*(ROOT / "book/_static/cards").glob("*.png"), ROOT / "book/_static/card.png"]


def test_every_part_has_a_card():
    assert {path.stem for path in CARDS} == {*card.parts(), "card"}
    assert "foundations" in card.parts()


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_a_card_is_a_picture_of_the_promised_size(path):
    config = CONFIG["sphinx"]["config"]
    assert config["ogp_image"] == "_static/card.png"
    data = path.read_bytes()
    size = struct.unpack(">II", data[16:24])  # a PNG begins with its header
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(data) < 60_000
    said = re.findall(
        r'og:image:(?:width|height)" content="(\d+)', "".join(config["ogp_custom_meta_tags"])
    )
    assert size == (1200, 630) == tuple(map(int, said))


def test_every_row_of_redirects_leads_from_an_old_address_to_a_page():
    rows = yaml.safe_load((ROOT / "book" / "redirects.yml").read_text("utf-8"))
    toc = (ROOT / "_toc.yml").read_text("utf-8")
    for old, new in rows.items():
        assert re.search(rf"{re.escape(new.removesuffix('.html'))}$", toc, re.M)
        assert not re.search(rf"{re.escape(old.removesuffix('.html'))}$", toc, re.M)
