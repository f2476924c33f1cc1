"""Scaffolds: functions begun from their solutions, which earn nothing until they are filled."""

import ast
import contextlib
import copy
import functools
import re

import nbformat
import pytest

from course import assignment, scaffolds, settings
from course.__main__ import main
from course.checkout import Refused
from course.cuts import source
from course.grading import grade
from course.preflight import mend
from course.scaffolds import BEGUN, GAP, MINUTES, begun, read, scaffolded
from course.settings import Course
from course.sheets import plain, released
from course.teaching import exercises_of
from pdpbook.pages.exercises import ASSIGNMENTS

LONGEST_HINT = 70  # words
DERIVED = {"furthest_move": 25, "worst_pair": 20}  # minutes where gaps have to be derived
LINE = 75  # characters of a cell


@functools.cache
def solutions(name):
    """The cell of each solved function."""
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in plain(name).cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }


FUNCTIONS = [(name, one) for name in ASSIGNMENTS for one in solutions(name)]
GAPS = [(name, one, piece) for name, one in FUNCTIONS for piece in scaffolds.scaffolds()[one].gaps]


@functools.cache
def begun_notebook(name):
    solved = source(name, Course())
    return scaffolded(released(copy.deepcopy(solved)), solved)


def filled(cell, pieces):
    """A cell that is begun, after these pieces were put into its gaps, one after the other."""
    lines = [line for line in cell.split("\n") if BEGUN not in line]
    head, quotes, body = "\n".join(lines).rpartition('"""')
    for piece in pieces:
        body = body.replace(GAP, piece, 1)
    return head + quotes + body


def in_order(name, function):
    """The pieces of a function, as they follow each other in its solution."""
    body = solutions(name)[function].partition("### BEGIN SOLUTION")[2]
    return sorted(scaffolds.scaffolds()[function].gaps, key=body.index)


def set_up(name):
    """The names that the first cell of an assignment gives."""
    cell = next(one for one in plain(name).cells if one.id == "set-up").source
    space = {}
    exec(cell.replace("figures.use()", ""), space)
    return space


def test_every_function_has_a_scaffold_and_nothing_else_has():
    assert set(scaffolds.scaffolds()) == {one for _, one in FUNCTIONS}


@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_a_scaffold_filled_with_the_pieces_is_the_solution(name, function):
    cell = begun(function, solutions(name)[function])
    assert ast.dump(ast.parse(filled(cell, in_order(name, function)))) == ast.dump(
        ast.parse(solutions(name)[function])
    )
    assert max(map(len, cell.split("\n"))) <= LINE
    assert cell.count(BEGUN) == 1
    assert "SOLUTION" not in cell


@pytest.mark.parametrize(("name", "function", "piece"), GAPS)
def test_every_gap_counts(name, function, piece):
    """With all gaps filled but one a function does not have full marks."""
    pieces = ["Ellipsis" if one == piece else one for one in in_order(name, function)]
    space = set_up(name)
    exec(filled(begun(function, solutions(name)[function]), pieces), space)
    exercise = assignment(name).exercises[function]
    assert any(exercise.faults(space[function], part, seed=0) for part in ("visible", "hidden"))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_scaffold_as_handed_out_has_no_marks(tmp_path, name):
    path = tmp_path / f"{name}.ipynb"
    nbformat.write(begun_notebook(name), path)
    table = grade(path, name)
    assert table.points.sum() == 0
    assert set(table.message[table.part == "visible"]) == {"-1: not written yet"}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_filled_scaffold_has_full_marks_and_prints_what_it_says(tmp_path, capsys, name):
    notebook = copy.deepcopy(begun_notebook(name))
    space, tried = set_up(name), []
    for cell in notebook.cells:
        function = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if function in solutions(name):
            cell.source = filled(cell.source, in_order(name, function))
            exec(cell.source, space)
        elif cell.id.endswith("-tried"):
            capsys.readouterr()
            exec(cell.source, dict(space))
            said = re.findall(r"^#   (.*)$", cell.source, re.M)
            assert capsys.readouterr().out.rstrip().split("\n") == said
            assert GAP not in "".join(said)
            assert max(map(len, cell.source.split("\n"))) <= LINE
            tried.append(cell.id)
    assert len(tried) == len(solutions(name))
    path = tmp_path / f"{name}.ipynb"
    nbformat.write(notebook, path)
    table = grade(path, name)
    assert table.points.sum() == 4 * len(solutions(name))


SLIPS = [  # first ideas of somebody who fills a gap, and the gap
    ("truth_probability", "np.exp(epsilon)"),
    ("sample_l2_laplace", "rng.uniform(-1, 1, (size, d))"),
    ("sample_l2_laplace", "rng.random((size, d))"),
    ("sample_l2_laplace", "np.full(size, d / eta)"),
    ("sample_l2_laplace", "rng.exponential(d / eta, size)"),
    ("squared_error_of_noise", "d + d"),
    ("weighted_ridge", "lam", "lam * np.eye"),
    ("weighted_ridge", "X.T @ y", "X.T @ (weights * y)"),
    ("worst_event", "np.asarray(q)"),
    ("privacy_profile", "forth", "max("),
    ("privacy_profile", "back", "max("),
    ("privacy_profile", "forth + back", "max("),
    ("privacy_profile", "np.sum((p - np.exp(epsilon) * q)[p > q])", "np.maximum(p"),
    ("epsilon_lower_bound", "hits_p < hits_q", "hits_p == 0"),
    ("epsilon_lower_bound", "hits_p / draws_p", "stats.beta.ppf(alarm"),
    ("budget_shares", "len(epsilon)"),
    ("rate_that_spends_all", "epsilon / (epsilon / np.sum(epsilon))"),
    ("promise_to_each", "eta / constant"),
    ("furthest_move", "1 / np.sqrt(lam)", "min("),
    ("furthest_move", "root / lam", "min("),
    ("furthest_move", "2", "1 + root"),
    ("furthest_move", "root * residual / lam", "2 * root"),
    ("worst_neighbor", "X, y", "X.copy()"),
    ("worst_neighbor", "(X[i], label)", "(np.array(row)"),
    ("worst_neighbor", "[0 * X[0], 0 * X[0] + 1]", "product("),
    ("noise_reach", "1 - chance, d", "chance, d"),
    ("noise_reach", "eta", "1 / eta"),
    ("chance_to_be_kept", "-np.exp(-t) * np.exp(spent)", "np.exp(spent - t)"),
    ("chance_to_be_kept", "np.exp(-spent) - 1", "np.expm1(-spent)"),
    ("worst_pair", "1 / (d + 1)", "scale / (d + 1)"),
    ("worst_pair", "scale / d", "scale / (d + 1)"),
    ("fits_without_each", "(y - X @ theta)", "(y - X @ theta) / (1 - h)"),
    ("most_exposed_people", "h", "h / (1 - h)"),
    ("most_exposed_people", "np.argsort(loss)", "np.argsort(-loss)"),
    ("private_eigenvalue_bound", "np.linalg.eigvalsh(X.T @ X)[-1]", "np.linalg.eigvalsh"),
    ("private_eigenvalue_bound", "epsilon", "1 / epsilon"),
    ("private_eigenvalue_bound", "np.log(1 / beta) / epsilon", "np.log("),
    ("accuse", "stats.chi2.ppf(alarm, 1)", "stats.ncx2"),
    ("epsilon_in_all", "reads @ costs"),
    ("delta_in_all", "1 - k * delta - excess", "(1 - delta)**k"),
    ("epsilon_by_zcdp", "epsilons**2 / 2", "epsilons * np.tanh"),
    ("epsilon_by_zcdp", "1 / (2 * multipliers)", "1 / (2 * multipliers**2)"),
    ("answers_within", "np.any(cost <= left)", "np.all("),
    ("answers_within", "np.sum(cost) <= np.sum(left)", "np.all("),
    ("answers_within", "mu**2", "Fraction(str(mu))"),
    ("answers_within", "cost", "cost * fits"),
    ("cap_contributions", "own[:m]", "rng.permutation"),
    ("median_law", "1 / len(users) + 0 * y", "1 / (m *"),
    ("gwa_problem", "b", "tau[user] * b"),
    ("gwa_problem", "2 * cp.square(b)", "2 * d * cp.square"),
    ("gaussian_information", "S", "np.linalg.solve"),
    ("cheapest_noise", "np.diag(noise)", "(axes * noise)"),
    ("best_guess_rate", "np.linalg.norm(shift)", "np.sqrt("),
    ("guess_members", "inside - outside", "np.linalg.solve"),
    ("clipped_step", "len(gradients)", "batch_size"),
    ("clipped_step", "np.linalg.norm(gradients)", "np.linalg.norm"),
    ("clipped_gradients", "np.minimum(1, clip_norm)"),
    ("noisy_average", "noise_multiplier", "noise_multiplier *"),
    ("train_within", "total(len(path)) < budget", "total("),
    ("train_within", "total(len(path) - 1) <= budget", "total("),
    ("train_within", "total(1) * len(path) <= budget", "total("),
    ("coefficients_in_units", "high", "high - low"),
    ("granted_releases", "np.any(after <= budgets)", "np.all("),
    ("evidence_of_release", "weights[rows] = 0", "without[rows]"),
]


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip[0]}: {slip[1]}")
def test_a_first_idea_does_not_print_what_is_said(slip, capsys):
    """Who compares what is printed sees a slip before it costs points."""
    function, idea, begins = (*slip, "")[:3]
    name = next(name for name, one in FUNCTIONS if one == function)
    (piece,) = [one for one in in_order(name, function) if one.startswith(begins)][:1]
    pieces = [idea if one == piece else one for one in in_order(name, function)]
    space = set_up(name)
    for one, solution in solutions(name).items():
        exec(solution if one != function else "", space)
    show = scaffolds.scaffolds()[function].show
    printed = []
    for cell in (
        solutions(name)[function],
        filled(begun(function, solutions(name)[function]), pieces),
    ):
        exec(cell, space)
        with contextlib.suppress(Exception):  # an error is seen, too
            exec(show, dict(space))
        printed.append(capsys.readouterr().out)
    assert printed[0] != ""
    assert printed[1] != printed[0]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_neither_a_hint_nor_a_comment_contains_the_algorithm(name, function):
    """No piece of the solution stands outside of it, and a hint is short."""
    cells = begun_notebook(name).cells
    prompt = next(c.source for c in cells if f"**{function}** ·" in c.source)
    hint = prompt.partition(f"**{function}** ·")[2].partition("<summary>")[2]
    hint = hint.partition("</summary>")[2].partition("</details>")[0]
    assert 0 < len(hint.split()) <= LONGEST_HINT
    comments = " ".join(scaffolds.scaffolds()[function].gaps.values())
    told = re.sub(r"\s", "", hint + comments)
    for piece in scaffolds.scaffolds()[function].gaps:
        if len(piece) > 8:  # `epsilon` may be spoken of
            assert re.sub(r"\s", "", piece) not in told, piece


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_minutes_of_both_are_said(name):
    without = {one.name: one.minutes for one in exercises_of(name, plain(name))}
    within = {one.name: one.minutes for one in exercises_of(name, begun_notebook(name))}
    assert within.keys() == without.keys()
    for function, one in scaffolds.scaffolds().items():
        if function in within:
            derived = DERIVED.get(function, MINUTES * len(one.gaps))
            assert within[function] == min(without[function], derived)
    top = begun_notebook(name).cells[0].source
    assert f"Time: {sum(within.values())} minutes" in top
    assert sum(within.values()) < sum(without.values())


def test_the_command_writes_scaffolds_under_the_same_names(tmp_path):
    settings.create(tmp_path, 0)
    assert main(["handout", str(tmp_path), "foundations", "--scaffold"]) == 0
    assert main(["handout", str(tmp_path), "foundations"]) == 0
    out = tmp_path / "handout"
    begun_ones = {path.name for path in (out / "scaffold").iterdir()}
    assert begun_ones == {path.name for path in out.iterdir()} - {"scaffold"}
    assert "foundations-1.ipynb" in begun_ones
    for name in ("foundations", "foundations-1"):
        paper = (out / "scaffold" / f"{name}.md").read_text(encoding="utf-8")
        assert GAP in paper
        assert "With this scaffold it prints" in paper
        text = (out / f"{name}.md").read_text(encoding="utf-8")
        assert "NotImplementedError" in text
        assert GAP not in text


def test_nbgrader_takes_a_scaffold_as_it_is():
    """It is handed in as the assignment that nbgrader released, and needs no repair."""
    solved = source("foundations", Course())
    _, done = mend(
        nbformat.writes(begun_notebook("foundations")),
        released(copy.deepcopy(solved)),
        "foundations",
    )
    assert done == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("f:\n  gaps: {a: b}", "needs gaps and show"),
        ("f:\n  gaps: {}\n  show: f()", "needs gaps and show"),
        ("f:\n  gaps: {a: }\n  show: f()", "every gap needs a comment"),
    ],
)
def test_a_scaffold_that_is_not_complete_is_refused(tmp_path, content, words):
    path = tmp_path / "scaffolds.yml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(Refused, match=words):
        read(path)


def test_a_piece_that_its_solution_lost_is_refused():
    cell = solutions("personalized")["budget_shares"]
    with pytest.raises(Refused, match="stands 0 times in the solution"):
        begun("budget_shares", cell.replace("np.sum(epsilon)", "epsilon.sum()"))
    with pytest.raises(Refused, match="has no scaffold of nobody"):
        begun("nobody", cell)
