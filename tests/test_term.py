"""A term beside other notes, the page of the bank, and exams drawn from it."""

import copy
import re

import pytest
import yaml
from reading import ROOT

from course import bank, guide, teaching
from course.__main__ import main

TEACHING, CHAPTERS, EXERCISES = teaching.load()
PAGES = {
    name: (ROOT / f"book/back/{name}.md").read_text("utf-8") for name in ("instructors", "bank")
}


# --- fourteen weeks ------------------------------------------------------------------------------


def test_the_term_has_fourteen_weeks_and_says_who_goes_on():
    weeks = TEACHING["term"]
    assert len(weeks) == 14
    for who in ("Near and Abuah", "Vadhan", "Ullman"):
        assert sum(who in week["stops"] for week in weeks) >= 4
    assert {f"/{n}" for week in weeks for n in week["read"]} <= {f"/{n}" for n in CHAPTERS}
    rows = guide._term(TEACHING, CHAPTERS, EXERCISES).splitlines()[2:]
    assert [row.count(" | ") for row in rows] == [5] * 14
    for row in rows:
        assert row in PAGES["instructors"]


CHANGES = {
    "there is no page foundations/x": lambda t: t[0]["read"].append("foundations/x"),
    "there is no exercise zzz": lambda t: t[0]["assign"].append("zzz"),
    "worst_event is given before foundations/audits is read":
        lambda t: t[0]["assign"].append("worst_event"),
    "privacy_profile stands twice": lambda t: t[2]["assign"].append("privacy_profile"),
    "What is promised: must have topic, read, assign, stops": lambda t: t[1].pop("stops"),
}  # fmt: skip


@pytest.mark.parametrize("line", CHANGES)
def test_a_week_that_cannot_be_is_said(line):
    changed = copy.deepcopy(TEACHING)
    CHANGES[line](changed["term"])
    assert f"term: {line}" in teaching.faults(changed, CHAPTERS, EXERCISES)
    assert teaching.faults(TEACHING, CHAPTERS, EXERCISES) == []


# --- the bank ------------------------------------------------------------------------------------


def test_the_page_lists_every_question_with_kind_and_minutes():
    questions = bank.questions()
    rows = re.findall(r"^\| (.+) \| ([A-Z].+) \| (\d+) \|$", PAGES["bank"], re.M)
    assert rows == [(one.title, one.kind, str(one.minutes)) for one in questions]
    assert (
        f"{len(questions)} questions, {sum(one.minutes for one in questions)} minutes"
        in (PAGES["bank"])
    )
    pages = re.findall(
        r"^\{doc\}`/book/(.+)`: (\d+) questions?, (\d+) minutes", PAGES["bank"], re.M
    )
    assert sum(int(count) for _, count, _ in pages) == len(questions)
    assert len({name for name, *_ in pages}) == len(pages)


def exam(folder, *words):
    assert main(["exam", str(folder), *map(str, words)]) == 0
    return [(folder / f"{name}.md").read_text("utf-8") for name in ("exam", "exam-solutions")]


def asked(text):
    return re.findall(r"^## \d+\. .+ \((\d+) points\)$", text, re.M)


@pytest.mark.parametrize("minutes", [8, 47, 90, 180])
def test_an_exam_fills_its_time_and_has_its_solutions_apart(tmp_path, minutes):
    text, solutions = exam(tmp_path, "--minutes", minutes)
    points = sum(map(int, asked(text)))
    assert minutes - min(bank.MINUTES.values()) < points <= minutes
    assert asked(text) == asked(solutions)
    used = [one for one in bank.questions() if one.text in text]
    assert len(used) == len(asked(text))
    for one in used:
        assert one.solution in solutions
        assert one.solution not in text
        assert one.hint not in text


def test_an_exam_of_ninety_minutes_mixes_kinds_and_pages(tmp_path):
    text, _ = exam(tmp_path, "--from", "foundations", "pac/noise")
    used = [one for one in bank.questions() if one.text in text]
    assert {one.kind for one in used} == set(bank.MINUTES)
    pages = [one.name for one in used]
    assert {name.partition("/")[0] for name in pages} == {"foundations", "pac"}
    assert max(pages.count(name) for name in pages) <= 2
    assert exam(tmp_path, "--from", "foundations", "pac/noise")[0] == text
    assert exam(tmp_path, "--from", "foundations", "pac/noise", "--seed", 1)[0] != text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from", "nowhere"], "there are no questions on nowhere"),
        (["--from", "pac/noi"], "there are no questions on pac/noi"),
        (["--minutes", "7"], "an exam takes 8 minutes or more; got 7"),
    ],
)
def test_an_exam_that_cannot_be_is_refused(tmp_path, capsys, words, says):
    assert main(["exam", str(tmp_path / "x"), *words]) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


# --- one hour ------------------------------------------------------------------------------------


def numbers(deck):
    """The number of each slide of a deck by its message; a vote has two."""
    found, number = {}, 1  # the title
    plans = yaml.safe_load((ROOT / "book" / "slides.yml").read_text("utf-8"))
    for entry in plans[deck]:
        number += 1
        found[entry.get("vote") or next(iter(entry))] = number
        number += "vote" in entry
    return found


def test_the_plan_of_one_hour_names_the_slides_that_it_means():
    hour = next(one for one in TEACHING["syllabi"] if one["name"] == "I have one hour")
    said = [part["what"] for part in hour["meetings"][0]["room"]]
    coins, pdp_op = numbers("foundations/coins"), numbers("personalized/pdp_op")
    first, plans = coins["Who will answer honestly?"], coins["Four plans keep all budgets"]
    by_hand, promise = coins["By hand, the five coins"], coins["What is promised"]
    assert said[0].endswith(f"slides {first} to {by_hand - 1} of *coins*")
    assert said[1].endswith(f"slides {by_hand} to {plans} of *coins*")
    assert said[2].endswith(f"slides {promise} and {promise + 1} of *coins*")
    last = pdp_op["PDP-OP keeps every budget"]
    assert said[3].endswith(f"slides 2 to {last} of *pdp_op*")


def test_nobody_is_named_on_a_slide_before_they_are_introduced():
    """Zoe's coin stood on the fourth slide, and Zoe on the ninth."""
    coins = numbers("foundations/coins")
    introduced = coins["By hand, the five coins"]
    for message in ("A yes confesses nothing", "Try it, choose your coin", "Chance costs twice"):
        assert coins[message] > introduced
