"""What a student reads when a visible property fails: a small call that can be pasted."""

import contextlib
import functools
import io
import linecache
import re

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from right_answers import right_answers
from scipy import sparse
from test_exercises import CONSTANTS, EXERCISES, constant, every_exercise, reference
from wrong_answers import wrong_answers

from pdpbook.pages.exercises import assignment, check
from pdpbook.pages.exercises.notebook import LONG, WIDE, written
from pdpbook.pages.exercises.properties import SMALLER, Draws, Property, Unmet, copied, rises
from pdpbook.pages.exercises.properties import same as as_it_was


def told(exercise, answer):
    """What `check` says of an answer; empty if every visible property holds."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            check(exercise, answer)
        except AssertionError as error:
            return str(error)
    return ""


def cell(source):
    """The functions of a cell, as a notebook has them: no file, no module, but lines."""
    name = "no-notebook/1.py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"__name__": "__main__", "np": np}
    exec(compile(source, name, "exec"), space)
    return space


def calls_of(message):
    """The calls of a message as they can be pasted, each with what is said of it."""
    code = "".join(line[4:] + "\n" for line in message.splitlines()[1:] if line[:4] == "    ")
    return re.findall(r"((?:(?!# ).*\n)+)((?:# .*\n)+)", code)


# --- what is shown -------------------------------------------------------------------------------


def test_a_message_has_the_sentence_the_call_and_what_came_back():
    message = told("personalized/budget_shares", lambda epsilon: epsilon / epsilon.mean())
    assert message == (
        "personalized/budget_shares fails its visible properties:\n"
        "- there is a positive weight for each person, and the weights sum to 1\n"
        "    budget_shares(epsilon=np.array([0.2, 0.6]))\n"
        "    # it gave array([0.5, 1.5])"
    )


ROOT = """\
def root(x):
    return x ** 0.5 / (x - x)


def squared_error_of_noise(d, eta):
    length = d / eta
    return root(length)
"""


def test_an_error_comes_with_the_line_of_the_notebook_that_raised_it():
    own = cell(ROOT)["squared_error_of_noise"]
    assert told("foundations/squared_error_of_noise", own).endswith(
        "    squared_error_of_noise(d=1, eta=1.0)\n"
        "    # it raised ZeroDivisionError: float division by zero\n"
        "    # in root, line 2: return x ** 0.5 / (x - x)"
    )


def test_the_line_is_the_notebooks_where_a_library_raises():
    source = "def weighted_ridge(X, y, weights, lam):\n    return np.linalg.solve(X.T @ X, y[:0])"
    message = told("foundations/weighted_ridge", cell(source)["weighted_ridge"])
    assert "in weighted_ridge, line 2: return np.linalg.solve(X.T @ X, y[:0])" in message
    assert "pdpbook" not in message
    assert "site-packages" not in message


def test_one_error_is_told_once():
    source = "def truth_probability(epsilon):\n    return math.exp(epsilon)"
    message = told("foundations/truth_probability", cell(source)["truth_probability"])
    assert message.count("NameError") == message.count("\n- ") == 1


def test_a_generator_is_shown_by_its_seed_and_its_second_use_by_its_name():
    def sample_l2_laplace(d, eta, size, rng):
        return np.random.default_rng(rng.integers(2) * 0).normal(size=(size, d)) / eta

    calls = [call for call, _ in calls_of(told("foundations/sample_l2_laplace", sample_l2_laplace))]
    assert len(calls) == 2
    assert re.match(r"rng = np.random.default_rng\(\d+\)\nsample_l2_laplace\(d=2", calls[0])
    assert re.match(r"sample_l2_laplace\(d=2, eta=1.0, size=1, rng=rng\)", calls[1])


def test_only_the_calls_of_the_demand_that_failed_are_shown():
    def test(answer, rng):
        yield answer(1) == 1
        yield answer(2) == 4
        yield answer(3) == 9

    one = Property("squares", "the square comes back", test)
    assert one.fault(lambda x: x if x < 2 else 0, 0, "square").splitlines() == [
        "the square comes back",
        "square(x=2)",
        "# it gave 0",
    ]


def test_a_call_is_shown_as_it_was_before_the_answer_changed_its_input():
    def budget_shares(epsilon):
        epsilon *= 0
        return epsilon

    assert "budget_shares(epsilon=np.array([0.2, 1.0]))" in told(
        "personalized/budget_shares", budget_shares
    )


def test_long_arrays_are_short():
    assert written(np.arange(LONG)).count(",") == LONG - 1
    assert written(np.arange(LONG + 1.0)) == "array([ 0.,  1., ..., 39., 40.], shape=(41,))"
    assert written(np.zeros((0, 3))) == "np.zeros((0, 3))"


def test_what_is_green_says_what_that_means(capsys):
    check("foundations/squared_error_of_noise", lambda d, eta: (d / eta) ** 2)
    assert capsys.readouterr().out == (
        "foundations/squared_error_of_noise: 1 visible properties hold.\n"
        "This does not mean that it is right: 3 more grade it.\n"
    )


def test_a_notebook_shows_the_message_and_nothing_of_ours():
    source = "from pdpbook.pages.exercises import check\n\n\n"
    source += "def truth_probability(epsilon):\n    return 2"
    call = 'check("foundations/truth_probability", truth_probability)'
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, (source, call))])
    NotebookClient(notebook, timeout=120, allow_errors=True).execute()
    [output] = notebook.cells[1].outputs
    assert output.output_type == "error"
    assert "\n".join(output.traceback) == output.evalue
    assert "\n    truth_probability(epsilon=0.0)\n    # it gave 2" in output.evalue


UNLIKE = {
    "a column": (
        lambda epsilon: (epsilon / epsilon.sum())[:, None],
        "shape (1, 1), not shape (1,)",
    ),
    "a map": (lambda epsilon: map(float, epsilon), "# a map, where a number, list or plain array"),
    "values": (lambda epsilon: {1: 1}.values(), "# a dict_values, where a number, list or plain"),
    "a sparse row": (lambda epsilon: sparse.csr_array([epsilon]), "# a csr_array, where a number"),
    "a matrix": (lambda epsilon: np.matrix(epsilon / epsilon.sum()), "# a matrix, where a number"),
    "nothing": (lambda epsilon: None, "# it gave None, as a function does without a return"),
    "one number": (lambda epsilon: 1.0, "it gave no array, not shape (1,)"),
}


@pytest.mark.parametrize("kind", UNLIKE)
def test_what_came_back_is_named_and_what_is_wanted(kind):
    answer, words = UNLIKE[kind]
    assert words in told("personalized/budget_shares", answer)


def test_an_array_in_the_place_of_a_number_is_named():
    message = told(
        "personalized/rate_that_spends_all", lambda epsilon, constant: epsilon / constant
    )
    assert "; it gave shape (2,), not one number\n" in message


def test_a_generator_that_was_not_used_is_named():
    message = told(
        "per_instance/private_eigenvalue_bound",
        lambda X, epsilon, delta, rng: np.linalg.eigvalsh(X.T @ X)[0],
    )
    assert "; nothing was drawn from rng\n" in message
    drawn = told(
        "per_instance/private_eigenvalue_bound",
        lambda X, epsilon, delta, rng: 5 + 0 * rng.spawn(1)[0].normal() + 0 * rng.normal(),
    )
    assert "the next call another one\n" in drawn


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("personalized/budget_shares", lambda epsilon: np.full(len(epsilon), 1 / len(epsilon))),
        ("personalized/chance_to_be_kept", lambda epsilon, t: np.full(len(epsilon), 0.5)),
        ("foundations/truth_probability", lambda epsilon: np.full(np.shape(epsilon), 0.5)),
    ],
)
def test_what_is_said_of_several_people_is_shown_of_several(exercise, answer):
    calls = calls_of(told(exercise, answer))
    assert calls
    assert all(re.search(r"\[[^]]*, ", call) for call, _ in calls)


def test_an_accusation_is_shown_of_one_release():
    right = reference("per_instance")["accuse"]
    for answer in (lambda *given: ~right(*given), lambda *given: right(*given[:-1], 0.1)):
        shown = calls_of(told("per_instance/accuse", answer))
        assert len(shown) == 2
        assert {said for _, said in shown} <= {
            f"# it gave array([{v}])\n" for v in (" True", "False")
        }


def test_a_label_that_is_turned_around_is_seen_at_every_seed():
    right, exercise = reference("personalized")["worst_neighbor"], "worst_neighbor"

    def turned(*given):
        row, label = right(*given)
        return row, -label

    for seed in range(12):
        assert assignment("personalized").exercises[exercise].faults(turned, "visible", seed)


# --- all wrong answers ---------------------------------------------------------------------------


@functools.cache
def wrong_ones_told(name, exercise):
    """The wrong answers to an exercise that a visible property refuses, with what is said."""
    found = [one for one in wrong_answers(name) if one.exercise == exercise]
    told_of = [(one.answer, told(f"{name}/{exercise}", one.answer)) for one in found]
    return [(answer, message) for answer, message in told_of if message]


def all_told():
    return [one for name, exercise in EXERCISES for one in wrong_ones_told(name, exercise.name)]


def test_many_wrong_answers_are_told():
    assert len(all_told()) >= 60


@pytest.mark.filterwarnings("ignore")
@every_exercise
def test_the_calls_that_are_shown_give_what_is_shown(name, exercise):
    """Pasted one after another into a notebook with the student's function."""
    for answer, message in wrong_ones_told(name, exercise.name):
        space = {"np": np, exercise.name: answer}
        calls = calls_of(message)
        assert calls
        for call, said in calls:
            assert "..." not in call, "too long to paste"
            *lines, last = call.split(f"{exercise.name}(")
            exec("".join(lines), space)
            with (
                np.printoptions(threshold=LONG, edgeitems=2, linewidth=WIDE),
                np.errstate(all="ignore"),
            ):
                given = eval(f"dict({last}", space)
                before = {key: copied(argument) for key, argument in given.items()}
                found = answer(**given)
                found = repr(found) if isinstance(found, np.ndarray) else str(found)
            words = [f"it gave {found[:500]}"]
            places = {f"argument {k}": key for k, key in enumerate(given, start=1)}
            changed = [one for one, key in places.items() if not as_it_was(given[key], before[key])]
            if changed:
                words.append(f"it changed {' and '.join(changed)}")
            shown = "\n".join(line[2:] for line in said.splitlines())
            if "it changed" not in shown:  # what is said of a value is said without
                words = words[:1]
            assert same(shown, "\n".join(words)), (answer.__name__, shown)


def same(shown, found):
    """Up to the numbers that cvxpy gives its variables."""
    return re.sub(r"var\d+", "var", shown) == re.sub(r"var\d+", "var", found)


def test_what_is_shown_is_small():
    sizes = [len(call) for _, message in all_told() for call, _ in calls_of(message)]
    assert np.median(sizes) < 150
    assert max(sizes) < 1000


# --- smaller inputs ------------------------------------------------------------------------------


@every_exercise
def test_the_reference_has_every_visible_property_on_small_inputs(name, exercise):
    holds_on_small_inputs(exercise, reference(name)[exercise.name], range(2))


@pytest.mark.weekly
@every_exercise
def test_no_right_answer_has_a_small_counterexample(name, exercise):
    right = [one.answer for one in right_answers[name] if one.exercise == exercise.name]
    for answer in right:
        holds_on_small_inputs(exercise, answer, range(15))
    holds_on_small_inputs(exercise, reference(name)[exercise.name], range(2, 15))


def holds_on_small_inputs(exercise, answer, seeds):
    for one in exercise.visible:
        for seed in seeds:
            for again, most in SMALLER:
                smaller = Draws([seed, *again], most)
                same_test = Property(one.name, one.sentence, lambda a, _: one.test(a, smaller))  # noqa: B023
                assert same_test.fault(answer, 0) == "", (one.name, most)


def test_small_draws_are_few_round_and_in_range():
    rng = Draws([0], most=3)
    assert [rng.size(n) for n in (1, 3, 50)] == [1, 3, 3]
    for found in (rng.uniform(-1, 1, 500), rng.normal(size=500)):
        np.testing.assert_allclose(10 * found, np.round(10 * found), atol=1e-12)
    numbers = rng.uniform(0.01, 1, 500)
    assert 0 < numbers.min() <= numbers.max() <= 1
    for n in (1, 5, 12):
        shares = rng.dirichlet(np.ones(n))
        assert shares.min() > 0
        assert abs(shares.sum() - 1) < 1e-12


def test_all_is_drawn_as_ever_unless_it_is_made_small():
    ours, numpys = Draws([3, 7]), np.random.default_rng([3, 7])
    assert ours.size(50) == 50
    for method, *given in (
        ("uniform", -1, 1, 9),
        ("normal", 0, 2, 9),
        ("dirichlet", np.ones(9)),
        ("integers", 9),
    ):
        np.testing.assert_array_equal(
            getattr(ours, method)(*given), getattr(numpys, method)(*given)
        )


def test_rising_numbers_are_above_zero_and_rise_from_each_to_the_next():
    assert all(rises(lambda x: x**2, (1, 2, 5)))
    for wrong in (lambda x: 0, lambda x: -1 / x, lambda x: 1, lambda x: np.nan):
        assert not all(rises(wrong, (1, 2, 5)))
    with pytest.raises(Unmet, match=r"it gave shape \(1,\), not one number"):
        all(rises(lambda x: [x], (1, 2, 5)))


# --- trivial answers -----------------------------------------------------------------------------

TRIVIAL = {
    **{f"always {value!r}": value for value in (0, 1, None, np.nan, True, 0.5, ())},
    **{f"argument {place}": place for place in range(5)},
}


@pytest.mark.parametrize("kind", TRIVIAL)
@every_exercise
def test_a_trivial_answer_fails_what_students_can_see(name, exercise, kind):
    def answer(*given):
        if kind.startswith("always"):
            return TRIVIAL[kind]
        return given[min(TRIVIAL[kind], len(given) - 1)]

    for seed in range(3):
        assert exercise.faults(answer, "visible", seed)


@every_exercise
def test_noise_alone_fails_what_students_can_see(name, exercise):
    """Normal numbers in the right shape, where the last argument is a generator."""
    right = reference(name)[exercise.name]

    def answer(*given):
        own = given[-1] if isinstance(given[-1], np.random.Generator) else np.random.default_rng(0)
        shape = np.shape(constant(right, "zeros")(*given))
        return own.normal(size=shape)

    assert "zeros" in CONSTANTS
    if exercise.name != "gwa_problem":
        for seed in range(3):
            assert exercise.faults(answer, "visible", seed)
