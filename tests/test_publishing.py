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
import pdp_home
import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = {
    path.stem: path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")
}
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

# --- workflows -----------------------------------------------------------------------------------

# job -> what its token may write, and nothing else may
WRITES = {
    ("publish", "pages"): {"pages", "id-token"},
    ("publish", "binder"): {"contents"},
    ("publish", "release"): {"contents"},
    ("weekly", "report"): {"issues"},
}
HOST = {
    "apt-get",
    "gh",
    "git",
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


def steps(job):
    """What a job does itself; one that uses another workflow has no steps."""
    return job.get("steps", [])


def unpinned(name, text):
    """An action is a commit, with its version beside it; a workflow is one of ours."""
    used = re.findall(r"^ *-? ?uses: (.*)$", text, re.M)
    good = r"actions/[a-z-]+(?:/[a-z]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    ours = [f"./.github/workflows/{stem}.yml" for stem in WORKFLOWS]
    return [use for use in used if use not in ours and not re.fullmatch(good, use)]


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
    own = {job: row for job, row in jobs(text).items() if steps(row)}
    wrong = [job for job, row in own.items() if not 0 < row.get("timeout-minutes", 0) <= 120]
    return wrong + ([] if "group" in yaml.safe_load(text).get("concurrency", {}) else ["the top"])


def commands(text):
    """The lines of every `run`, with those of a matrix in place."""
    for job in jobs(text).values():
        matrix = job.get("strategy", {}).get("matrix", {}).get("include", [])
        for step in steps(job):
            run = step.get("run", "")
            if run == "${{ matrix.command }}":
                run = "\n".join(row["command"] for row in matrix)
            yield from run.replace("\\\n", " ").splitlines()


def unknown_commands(name, text):
    """Every command is a target of the Makefile, a file of ours, or on the runner."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    wrong = []
    for line in commands(text):
        for command in re.split(r" \| | && | \|\|$", line.split(" #")[0]):
            word, *rest = re.split(r"[\s=]+", command.strip())
            if word == "make":
                known = bool(rest) and set(rest) <= targets
            elif not word:
                known = True
            elif word == "python" and rest[:3] == ["-m", "pip", "install"]:
                known = True
            elif word in {"bash", "python", "python3", ".venv/bin/python"}:
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
        ids = {step.get("id") for step in steps(job)}
        named = re.findall(r"steps\.([\w-]+)\.", json.dumps(job))
        wrong += [step for step in named if step not in ids]
        wrong += set(needs(job)) - set(everything)
        wrong += set(re.findall(r"needs\.([\w-]+)\.", json.dumps(job))) - set(needs(job))
    return wrong


def needs(job):
    """The jobs that a job waits for."""
    needed = job.get("needs", [])
    return [needed] if isinstance(needed, str) else needed


def untested(name, text):
    """What is published has passed the tests, and only where somebody wants it published."""
    everything, wrong = jobs(text), []
    for job, row in everything.items():
        if name == "publish" and row.get("permissions"):
            waits = set(needs(row))
            while more := {one for job in waits for one in needs(everything[job])} - waits:
                waits |= more
            if "./.github/workflows/ci.yml" not in {everything[one].get("uses") for one in waits}:
                wrong.append(f"{job} does not wait for the tests")
            asked = {"vars.PUBLISH == 'true'", "github.ref_type == 'tag'"}
            if not asked & set(re.split(r" (?:&&|\|\|) ", row.get("if", ""))):
                wrong.append(f"{job} runs in a fork that never asked for it")
    return wrong


def wrong_pythons(name, text):
    """Every Python of a container is allowed by the package, and the lowest allowed one is used."""
    allowed = SpecifierSet(PROJECT["requires-python"])
    used = re.findall(r"python(?:-version)?: \"?([\d.]+)", text)
    used += re.findall(r"python:([\d.]+)-", text)
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
    untested,
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
        (unpinned, "publish", r"workflows/ci\.yml", "workflows/tests.yml"),
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
        (unknown_commands, "weekly", r"tools/smoke\.py", "tools/smoke_test.py"),
        (dangling, "weekly", r"id: links", "id: link"),
        (dangling, "weekly", r"outputs\.links", "outputs.link"),
        (dangling, "publish", r"needs: build", "needs: built"),
        (dangling, "weekly", r"needs: \[check, machines, windows, proofs\]", "needs: check"),
        (untested, "publish", r"needs: test", "needs: []"),
        (untested, "publish", r"uses: \./\.github/workflows/ci\.yml", "runs-on: ubuntu-latest"),
        (untested, "publish", r"    if: vars.*'branch'\n", ""),
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


def test_dependabot_sees_every_lock_and_every_action():
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text("utf-8"))["updates"]
    watched = {row["package-ecosystem"]: row for row in updates}
    assert set(watched) == {"pip", "github-actions"}
    assert {row["schedule"]["interval"] for row in updates} == {"weekly"}
    locks = [*ROOT.glob("requirements*.txt"), *ROOT.glob("[a-z]*/requirements*.txt")]
    assert {ROOT / name.lstrip("/") for name in watched["pip"]["directories"]} == {
        lock.parent for lock in locks
    }


# --- what the configuration promises -------------------------------------------------------------


def committed_text():
    for path in [*(ROOT / "book").rglob("*"), ROOT / "README.md"]:
        if path.suffix in {".ipynb", ".md", ".bib"}:
            yield path, path.read_text("utf-8")


def test_the_branch_of_binder_moves_with_all_that_binder_opens():
    """What its scripts and `tools/links.py` read, and what notebooks import."""
    (moves,) = [line for line in commands(WORKFLOWS["publish"]) if "git diff" in line]
    compared = set(moves.partition(" -- ")[2].removesuffix(" ||").split())
    assert compared == {
        *("binder", "book", "course", "lab", "pdpbook", "tools"),
        *("_config.yml", "_toc.yml", "pyproject.toml"),
    }
    assert all((ROOT / name).exists() for name in compared)
    assert f"HEAD:refs/heads/{pdp_home.BINDER}" in WORKFLOWS["publish"]
    assert f"origin/{pdp_home.BINDER} " in moves


def test_every_link_left_unvisited_is_there():
    """A pattern of `linkcheck_ignore` that excuses nothing would excuse the next dead link."""
    everything = "\n".join(text for _, text in committed_text())
    everything += re.sub(r"\bdoi\s*=\s*{", "https://doi.org/", everything)
    for pattern in CONFIG["sphinx"]["config"]["linkcheck_ignore"]:
        assert re.search(pattern, everything), pattern


def test_no_environment_is_read_as_a_page():
    """Sphinx reads every folder that is not excluded: those of pip hold manuals and notebooks."""
    made = re.findall(r"^[A-Z]+ := (\.venv\S*)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert len(made) == 4
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


# --- what whoever publishes is told ---------------------------------------------------------------

PUBLISHING = (ROOT / "PUBLISHING.md").read_text("utf-8")


def test_there_are_ten_ticks_with_a_setting_and_a_check_each():
    ticks = re.split(r"^- \[ \] ", PUBLISHING, flags=re.M)[1:]
    assert [tick.partition(".")[0] for tick in ticks] == [f"**{k}" for k in range(1, 11)]
    for tick in ticks:
        assert tick.index("Setting: ") < tick.index("Check:")


def test_what_the_ticks_name_is_there():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert set(re.findall(r"`make ([a-z-]+)", PUBLISHING)) <= set(targets)
    for name in re.findall(
        r"(?<!/)\b((?:tools/\w+\.py)|_config\.yml|[A-Z]+\.md|CITATION\.cff)", PUBLISHING
    ):
        assert (ROOT / name).is_file(), name
    assert set(re.findall(r"\*(publish|weekly)\*", PUBLISHING)) <= set(WORKFLOWS)
    labels = (ROOT / "book/statements.csv").read_text("utf-8")
    for label in re.findall(r"SITE/s/([a-z-]+)\.html", PUBLISHING):
        assert f"\n{label}," in labels
    moved = yaml.safe_load((ROOT / "book/redirects.yml").read_text("utf-8"))
    for page in re.findall(r"SITE/(book/\S+\.html)", PUBLISHING):
        assert page in moved or (ROOT / page).with_suffix(".ipynb").is_file()


def test_no_page_names_a_registry_that_does_not_have_the_package():
    """`pip install pdpbook` brings what somebody else has put there."""
    texts = [
        *ROOT.glob("book/**/*.ipynb"),
        *ROOT.glob("book/**/*.md"),
        *ROOT.glob("pdpbook/**/*.py"),
    ]
    texts += [path for path in ROOT.glob("*.md") if path.name != "PUBLISHING.md"]
    assert len(texts) > 150
    told = re.compile(r"pip install\b[^\n`]*(?<![\w./])pdpbook\b(?![/.])")
    assert [path.name for path in texts if told.search(path.read_text("utf-8"))] == []
