"""The six pictures of the page `start`: their numbers are the package's, and they are driven.

The numbers need no built pages: the scripts are loaded into an empty one and asked on a grid.
"""

import json
import re

import nbformat
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from support import ROOT

from pdpbook.noise import ProductLaw
from pdpbook.pac import epsilon_to_success_rate
from pdpbook.personalized import PersonalizedMean, threshold_budgets
from pdpbook.user_level import WeightedMean, tradeoff_value, tradeoff_weights

SCRIPTS = ROOT / "book" / "_static" / "explore"
NAMES = ("careful", "weights", "hills", "told", "records", "game")
OWN = (0.05, 0.1, 0.3, 0.5, 2.0)
EXACT = 1e-10  # sums of a few hundred doubles, as centers and rates of the package are
every_budget = pytest.mark.parametrize("own", OWN)
every_figure = pytest.mark.parametrize("name", NAMES)


def written(name):
    """The committed cell of the page that hands the data to the script."""
    notebook = nbformat.read(ROOT / "book" / "start.ipynb", as_version=4)
    [found] = [
        output.data["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if f'data-explore="{name}"' in output.get("data", {}).get("text/html", "")
    ]
    return found


def data_of(name):
    return json.loads(
        re.search(r'<script type="application/json">(.*?)</script>', written(name))[1]
    )


@pytest.fixture(scope="module")
def ask(browser):
    """Call a function of a script in Chromium."""
    with browser.new_context() as context:
        tab = context.new_page()
        for name in ("panel", *NAMES):
            tab.add_script_tag(path=SCRIPTS / f"{name}.js")
        yield lambda function, *given: tab.evaluate(
            f"(given) => explore.{function}(...given)", list(given)
        )


# --- the numbers ---------------------------------------------------------------------------------


def law(used, answers=None):
    """What the package publishes, in days, if the members use these budgets."""
    y = np.full(600, 3.0) if answers is None else answers
    out = PersonalizedMean(y_bounds=(0, 5)).output_law(y[:, None], y, epsilon=used)
    return ProductLaw(2.5 * (out.center + 1), [2.5 / out.eta])


def members(name, own):
    data = data_of(name)
    assert (data["copies"], data["width"], data["own"]) == (100, 5, 0.5)
    return data, np.repeat([*data["epsilon"], own], 100)


@every_budget
def test_the_smallest_budget_for_all(ask, own):
    data, budgets = members("careful", own)
    found = ask("careful.solve", data, own)
    assert found["least"] == budgets.min()
    exact = law(np.full(600, budgets.min())).scale[0]
    assert found["scale"] == pytest.approx(exact, rel=EXACT)


@every_budget
def test_three_rules_and_their_noise(ask, own):
    data, budgets = members("weights", own)
    found = ask("weights.solve", data, own)
    level = threshold_budgets(budgets)
    rules = {"least": np.full(600, budgets.min()), "threshold": level, "own": budgets}
    for name, used in rules.items():
        assert found[name]["scale"] == pytest.approx(law(used).scale[0], rel=EXACT)
        np.testing.assert_allclose(
            found[name]["shares"], used.reshape(6, 100).sum(axis=1) / used.sum(), rtol=EXACT
        )
    assert found["level"] == level.max()


@every_budget
@pytest.mark.parametrize("who", range(6))
def test_hills_and_their_ratio(ask, own, who):
    data, budgets = members("hills", own)
    y = np.full(600, 3.0)  # so that the average is 3 after the answer 0 of this one:
    y[np.arange(600) != 100 * who] = 3 / (1 - budgets[100 * who] / budgets.sum())
    zero, five = (law(budgets, np.where(np.arange(600) == 100 * who, end, y)) for end in (0, 5))
    now = ask("hills.solve", data, own, who)
    assert zero.center[0] == pytest.approx(3, rel=EXACT)
    assert now["shift"] == pytest.approx((five.center - zero.center)[0], rel=1e-8)
    for result in (2.9, 2.99, 3.004, 3.05):
        exact = np.exp(five.logpdf([result]) - zero.logpdf([result]))
        assert ask("hills.ratio", data, own, who, result) == pytest.approx(exact, rel=1e-8)
        assert exact <= np.exp(now["budget"]) * (1 + 1e-8)


@every_budget
@pytest.mark.parametrize(("answer", "others"), [(5, 3.0), (0, 3.0), (3, 3.0), (5, 0.0), (1, 4.5)])
def test_actual_losses(ask, own, answer, others):
    data, budgets = members("told", own)
    y = np.full(600, others)
    y[-1] = answer
    with_you = law(budgets, y)
    points = np.array([[others - 1], [others + 1]])
    without = ProductLaw([others], with_you.scale)
    exact = np.abs(with_you.logpdf(points) - without.logpdf(points)).max()
    assert ask("told.loss", data, own, answer, others) == pytest.approx(exact, abs=1e-9)
    assert exact <= own + 1e-9


@every_budget
@pytest.mark.parametrize("mine", [1, 4, 40])
def test_caps_and_errors(ask, own, mine):
    data, budgets = members("records", own)
    sizes = np.repeat([*data["sizes"], mine], 100)
    user = np.repeat(np.arange(600), sizes)
    model = WeightedMean(sigma2=4.0, y_bounds=(0, 5), random_state=0)
    y = np.full(len(user), 3.0)
    model.fit(y[:, None], y, users=user, epsilon=budgets[user])
    cap = ask("records.best", data, own, mine)
    assert cap * budgets.max() == pytest.approx(model.h_, rel=EXACT)
    assert cap == pytest.approx(tradeoff_weights(sizes, 4 / 50, budgets).h, rel=EXACT)
    least = ask("records.solve", data, own, mine, cap)
    for h in (0.5, cap, 20, 80):
        found = ask("records.solve", data, own, mine, h)
        counts = np.minimum(sizes, h * budgets)
        np.testing.assert_allclose(found["counts"], counts[::100], rtol=EXACT)
        variance = 50 * tradeoff_value(counts / counts.sum(), sizes, 4 / 50, budgets)
        assert found["both"] ** 2 == pytest.approx(variance, rel=EXACT)
        assert found["both"] >= least["both"] * (1 - EXACT)


@every_budget
def test_rates_of_the_game(ask, own):
    data, budgets = members("game", own)
    found = ask("game.rates", data, own)
    without, with_you = (law(budgets, np.r_[np.zeros(599), end]) for end in (0, 5))
    assert found["shift"] == pytest.approx((with_you.center - without.center)[0], rel=1e-8)
    assert found["scale"] == pytest.approx(without.scale[0], rel=EXACT)
    x = np.linspace(-2, 2, 400_001)[:, None]  # a step is 1/1000 of the noise or less
    likelier = np.exp(np.maximum(without.logpdf(x), with_you.logpdf(x)))
    assert found["best"] == pytest.approx(np.trapezoid(likelier, x[:, 0]) / 2, rel=1e-5)
    assert found["ceiling"] == pytest.approx(epsilon_to_success_rate(own, 0.0), rel=EXACT)
    assert found["best"] < found["ceiling"]


def test_noise_of_the_game_is_laplace(ask):
    shares = np.array([0.001, 0.1, 0.5, 0.7, 0.999])
    exact = np.where(shares < 0.5, np.log(2 * shares), -np.log(2 * (1 - shares)))
    found = [ask("game.noise", float(u), 0.02) for u in shares]
    np.testing.assert_allclose(found, 0.02 * exact, atol=1e-15)
    beyond = np.exp(-np.abs(found) / 0.02) / 2  # the chance to lie farther out on this side
    np.testing.assert_allclose(beyond, np.minimum(shares, 1 - shares), rtol=1e-9)


def test_scripts_ask_nobody():
    for name in NAMES:
        text = (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")
        assert not re.search(r"fetch|XMLHttpRequest|import\(|https?://", text), name


# --- on the built page ---------------------------------------------------------------------------


@pytest.fixture
def visit(browser, address):
    """Open the page; what goes wrong on it fails the test."""
    contexts, wrong = [], []

    def go(**settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        tab.goto(f"{address}book/start.html")
        return tab

    yield go
    for context in contexts:
        context.close()
    assert not wrong


def panels(tab):
    found = tab.locator(".explore")
    assert found.count() == len(NAMES)
    return dict(zip(NAMES, found.all(), strict=True))


def said(figure):
    return figure.locator("output").inner_text().replace("\n", " ")


def guess(figure, place):
    figure.locator("fieldset").first.locator("button").nth(place).click()


def number(pattern, text):
    return float(re.search(pattern, text)[1])


def test_still_pictures_give_way_and_stay_without_scripts(visit):
    tab = visit()
    for figure in panels(tab).values():
        assert figure.is_visible()
        assert figure.locator("xpath=ancestor::figure//figcaption").is_visible()
    assert not any(still.is_visible() for still in tab.locator(".explore-still").all())
    plain = visit(java_script_enabled=False)
    assert plain.locator("article figure img, article figure svg.inline-figure").count() == 6
    assert not plain.locator(".explore").count()


@pytest.mark.parametrize("width", [1440, 390])
def test_your_budget_stays_through_the_page(visit, width):
    tab = visit(viewport={"width": width, "height": 844})
    figures = panels(tab)
    for figure in figures.values():
        guess(figure, 2)
    slider = figures["careful"].get_by_role("slider", name="Your budget")
    assert slider.get_attribute("aria-valuetext") == "ε = 0.5"
    slider.focus()
    tab.keyboard.press("End")
    for figure in figures.values():
        own = figure.get_by_role("slider", name="Your budget")
        assert own.get_attribute("aria-valuetext") == "ε = 2"
    weights = 100 * 2 / (2 + 2)  # the five others have 2 together
    assert number(r"counts ([\d.]+) percent", said(figures["weights"])) == weights
    figures["game"].get_by_role("slider", name="Your budget").focus()
    tab.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "ε = 0.05"
    assert number(r"the noise is ([\d.]+) days\.$", said(figures["careful"])) == 0.167


ANSWERS = {  # the place of the right guess, and a number that gives it away
    "careful": (2, "0.167"),
    "weights": (2, "4.17"),
    "hills": (2, "2.72"),
    "told": (1, "1.22"),
    "records": (1, "8.33"),
    "game": (None, "62.2"),
}


@every_figure
def test_a_guess_comes_first(visit, name):
    figure = panels(visit())[name]
    asked, answer = said(figure), ANSWERS[name][1]
    later = figure.locator("input, select, summary, fieldset:nth-of-type(n + 2)")
    assert later.count() >= 2
    assert not any(one.is_visible() for one in later.all())
    assert answer not in figure.inner_text()
    buttons = figure.locator("fieldset").first.locator("button")
    assert buttons.count() in {4, 5}
    buttons.first.focus()
    figure.page.keyboard.press("Enter")
    assert buttons.first.get_attribute("aria-pressed") == "true"
    assert buttons.nth(1).get_attribute("aria-pressed") == "false"
    assert not buttons.last.is_visible()  # Show without guessing
    assert all(one.is_visible() for one in later.all())
    assert answer in figure.inner_text()
    assert said(figure) != asked
    if name != "game":  # there the answer comes after twenty rounds
        assert said(figure).startswith("Not quite: ")


@every_figure
def test_who_does_not_guess_sees_it_too(visit, name):
    figure = panels(visit())[name]
    skip = figure.get_by_role("button", name="Show without guessing")
    skip.focus()
    figure.page.keyboard.press("Enter")
    assert skip.evaluate("one => one === document.activeElement")
    assert figure.get_by_role("slider", name="Your budget").is_visible()
    assert ANSWERS[name][1] in figure.inner_text()
    assert name == "game" or said(figure).startswith("The answer: ")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "game"])
def test_one_guess_is_right_wherever_the_sliders_are(visit, name):
    figure = panels(visit())[name]
    buttons, verdicts = figure.locator("fieldset").first.locator("button"), set()
    for key in (None, "Home", "End"):
        if key:
            figure.get_by_role("slider", name="Your budget").focus()
            figure.page.keyboard.press(key)
        right = []
        for place in range(buttons.count() - 1):
            guess(figure, place)
            if said(figure).startswith("Right: "):
                right.append(place)
        assert right == [ANSWERS[name][0]]
        guess(figure, 0)
        verdicts.add(said(figure).split(". ")[0])
    assert len(verdicts) == 1


def test_bars_of_records_are_drawn_to_scale(visit):
    figure = panels(visit())["records"]
    guess(figure, 1)
    wide = [float(bar.get_attribute("width")) for bar in figure.locator("svg rect").all()]
    handed, counts = np.array(wide).reshape(6, 2).T  # an outline and a filled bar for each member
    np.testing.assert_allclose(handed / handed[0], [1, 2, 3, 6, 40, 4], rtol=1e-9)
    np.testing.assert_allclose(counts / handed[0], [1, 2, 2, 4, 20, 4], rtol=1e-9)  # cap 20
    assert "20 of 40" in figure.inner_text()


def test_orange_is_you(visit):
    figure = panels(visit())["hills"]
    guess(figure, 2)
    orange = figure.locator('svg text[style*="fig-warm"]').all_text_contents()
    assert orange == ["you", "1.65"]
    assert figure.locator('svg path[stroke*="fig-warm"]').count() == 1
    assert figure.locator('svg path[stroke="currentColor"]').count() == 5  # the other members
    blue = figure.locator('svg text[style*="fig-blue"]').all_text_contents()
    assert blue == ["published average (days a week)"]
    assert figure.locator('svg path[stroke*="fig-blue"]').count() == 1  # what is published


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_focus_is_seen_on_every_control(visit, scheme):
    tab = visit(
        color_scheme=scheme, viewport={"width": 390, "height": 844}, reduced_motion="reduce"
    )
    for name, figure in panels(tab).items():
        guess(figure, 0)
        for control in figure.locator("button, input, select, summary").all():
            if not control.is_visible():
                continue
            tab.keyboard.press("Shift")  # the keyboard is in use
            control.focus()
            control.scroll_into_view_if_needed()
            box = control.bounding_box()
            clip = {"x": box["x"] - 6, "y": box["y"] - 6}
            clip |= {"width": box["width"] + 12, "height": box["height"] + 12}
            shown = tab.screenshot(clip=clip)
            assert control.evaluate("one => parseFloat(getComputedStyle(one).outlineWidth)") >= 3
            control.blur()
            assert shown != tab.screenshot(clip=clip), (name, control.inner_text())


@every_figure
def test_every_control_answers_to_the_keyboard_and_has_a_name(visit, name):
    figure = panels(visit())[name]
    guess(figure, 0)
    for slider in figure.locator("input[type=range]").all():
        assert slider.evaluate("one => one.labels.length") == 1
        slider.focus()
        before = slider.get_attribute("aria-valuetext")
        figure.page.keyboard.press("ArrowLeft")
        assert slider.get_attribute("aria-valuetext") != before
    for chosen in figure.locator("select").all():
        assert chosen.evaluate("one => one.labels.length") == 1
        before = said(figure)
        chosen.focus()
        figure.page.keyboard.press("ArrowDown")
        assert said(figure) != before


@pytest.mark.parametrize("touch", [False, True])
def test_twenty_rounds(visit, touch):
    tab = visit(viewport={"width": 390, "height": 844}, has_touch=touch)
    figure = panels(tab)["game"]
    guess(figure, 1)
    inside = figure.get_by_role("button", name="In it", exact=True)
    outside = figure.get_by_role("button", name="Not in it")
    for k in range(20):
        one = (inside, outside)[k % 2]
        if touch:
            one.tap()
        else:
            one.focus()
            tab.keyboard.press("Enter")
        assert said(figure).startswith(f"Round {k + 1}: ")
    text = said(figure)
    right = number(r"right in (\d+) of 20", text)
    assert 0 <= right <= 20
    assert "61.1 percent" in text
    assert "62.2 percent" in text
    assert ("luck" in text) == (right / 20 > 1 / (1 + np.exp(-0.5)))
    assert inside.is_disabled()
    if not touch:
        assert tab.evaluate("document.activeElement.textContent") == "Play again"
    figure.get_by_role("button", name="Play again").click()
    assert said(figure).startswith("0 of 0 right. Round 1")


def test_wins_are_counted_as_they_are(visit):
    """Whoever follows the best rule is right about as often as it says."""
    figure = panels(visit())["game"]
    won = figure.page.evaluate("""() => {
      const now = explore.game.rates({epsilon: [0.5, 0.2, 0.1, 0.2, 1], copies: 100, width: 5}, 2);
      let right = 0;
      for (let k = 0; k < 20000; k += 1) {
        const one = explore.game.round(now);
        right += (one.result > now.shift / 2) === one.inside;
      }
      return [right / 20000, now.best];
    }""")
    assert abs(won[0] - won[1]) < 5 * np.sqrt(won[1] * (1 - won[1]) / 20000)  # 1 in 1.7 million


@pytest.mark.parametrize("own", ["Home", "End"])
def test_nothing_is_wider_than_a_phone(visit, own):
    tab = visit(viewport={"width": 390, "height": 844})
    for name, figure in panels(tab).items():
        guess(figure, 0)
        figure.get_by_role("slider", name="Your budget").focus()
        tab.keyboard.press(own)
        figure.locator("summary").click()
        assert figure.locator("table caption").is_visible()
        outer = figure.bounding_box()
        for part in figure.locator("svg[role=img], svg text, table, .explore-value").all():
            box = part.bounding_box()
            assert box["x"] >= 0, name
            assert box["x"] + box["width"] <= outer["x"] + outer["width"] + 1, (
                name,
                part.inner_text() if part.evaluate("one => one.tagName") != "svg" else "svg",
            )
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    first = tab.locator("article table").first  # budgets and records: whole, without scrolling
    assert first.evaluate("one => one.parentElement.scrollWidth <= one.parentElement.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit, scheme):
    tab = visit(color_scheme=scheme)
    for figure in panels(tab).values():
        guess(figure, 1)
        figure.locator("summary").click()
    levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    # its own copy of the style sheets would ask for addresses that the page does not
    found = Axe().run(tab, options={"runOnly": levels, "preload": False})
    assert not found.response["violations"], found.generate_report()
