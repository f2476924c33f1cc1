"""What every estimator releases, promises and refuses is what the committed record says.

`tools/record.py` says how to hold a change against another commit to the bit, and how to write
`tests/record.json` anew where a change means to release something else.
"""

import copy
import inspect
import json
import re

import mechanisms
import numpy as np
import pytest
import record

from pdpbook.noise import L2Laplace
from pdpbook.personalized import PDPRidge

CASES = record.cases()
COMMITTED = json.loads(record.RECORD.read_text(encoding="utf-8"))
RENEW = "if that is meant, run `python tools/record.py write tests/record.json` and say why"


def differing(names):
    """What differs today from the committed record, by more than between two processors."""
    return record.differences(
        {name: COMMITTED[name] for name in names}, record.record(names), exact=False
    )


# --- the record is kept --------------------------------------------------------------------------


def test_a_third_of_the_record_is_kept():
    assert differing(list(CASES)[::3]) == [], RENEW


@pytest.mark.slow
def test_the_rest_of_the_record_is_kept():
    assert differing([name for k, name in enumerate(CASES) if k % 3]) == [], RENEW


def test_the_committed_record_has_every_case_and_nothing_absent():
    assert list(COMMITTED) == list(CASES), RENEW
    assert [name for name, found in COMMITTED.items() if "absent" in found] == []
    assert record.RECORD.stat().st_size < 53_500 * len(record.MODULES)


# --- every value of every setting is in it -------------------------------------------------------


def values_of(name, setting):
    """The values of a setting in the table, in the order of the table."""
    found = record.SETTINGS[name][setting]
    return [value.value if isinstance(value, record.Also) else value for value in found]


def same(one, other):
    return type(one) is type(other) and np.array_equal(one, other)


def words_allowed(model, setting):
    """The words that an estimator names when it refuses one that is none of them."""
    case = record.Case(type(model).__name__, settings={setting: record.NO_WORD})
    given = record.arguments(case, record.data_set(record.PLAIN))
    given.pop("epsilon", None)
    with pytest.raises((ValueError, TypeError)) as refused:
        model.set_params(**{setting: record.NO_WORD}).fit(**given)
    return set(re.findall(r"'([\w-]+)'", str(refused.value)))


def missing_values(name, setting, default, allowed=()):
    """Values of a setting that the table lacks: the default, a flag, a word, a second one."""
    values = values_of(name, setting)
    wanted = [] if default is inspect.Parameter.empty else [default]
    if isinstance(default, bool):
        wanted += [True, False]
    wanted += allowed
    missing = [want for want in wanted if not any(same(want, value) for value in values)]
    return missing + (["a second value"] if len(values) < 2 else [])


def test_the_table_is_of_mechanisms_and_as_many_as_are_on_record():
    known = {kind.__name__ for kind in mechanisms.KINDS} | {"private_quantile"}
    assert set(record.MODULES) <= known
    assert len(record.MODULES) >= 19  # a new mechanism may join; none may go
    assert all(record.estimator(name) is not None for name in record.MODULES)


@pytest.mark.parametrize("name", record.MODULES)
def test_the_table_has_every_setting_and_argument(name):
    kind = record.estimator(name)
    assert set(record.SETTINGS[name]) == set(record.settings_of(kind))
    taken = set(inspect.signature(kind.fit).parameters) - {"self"}
    assert taken == set(record.ARGUMENTS[name]) | {"X"}


@pytest.mark.parametrize("name", record.MODULES)
def test_the_table_has_every_value(name):
    kind = record.estimator(name)
    for setting, default in record.settings_of(kind).items():
        allowed = []
        if isinstance(default, str):
            allowed = sorted(words_allowed(kind(), setting) - {record.NO_WORD})
            assert default in allowed
        assert missing_values(name, setting, default, allowed) == [], setting


def test_a_setting_or_value_that_the_table_lacks_is_noticed():
    assert missing_values("PDPRidge", "loss", "square", ["square", "huber", "absolute"]) == [
        "absolute"
    ]
    assert missing_values("PDPRidge", "lam", 0.123) == [0.123]
    assert missing_values("PDPRidge", "clip", False) == []
    assert missing_values("AdaSSP", "bounds", None) == [None]


def test_every_setting_refuses_a_bad_value_by_its_name():
    for name, settings in record.SETTINGS.items():
        for setting in settings:
            wrong = record.REFUSED[setting]
            one = wrong if isinstance(wrong, record.Also) else record.Also(wrong)
            title = record.title_of(name)
            case = f"{title}, {record.words({**one.beside, setting: one.value})}"
            assert COMMITTED[case]["names"] == setting, case


def test_every_mechanism_is_recorded_with_releases_refusals_and_an_account():
    for name in record.MODULES:
        found = {case: out for case, out in COMMITTED.items() if CASES[case].estimator == name}
        assert sum("refused" in out for out in found.values()) >= 10
        assert sum("seed 3" in out for out in found.values()) >= 10
    charged = [out for case, out in COMMITTED.items() if CASES[case].account]
    assert sum("spent" in out for out in charged) >= 20


# --- what is planted is found --------------------------------------------------------------------


@pytest.mark.parametrize(("change", "noticed"), [(1e-8, True), (1e-11, False)])
def test_a_noise_scale_that_is_a_hair_off_is_noticed(monkeypatch, change, noticed):
    exact = PDPRidge.law

    def changed(self, people):
        law = exact(self, people)
        return L2Laplace(law.center, law.eta / (1 + change))

    monkeypatch.setattr(PDPRidge, "law", changed)
    found = differing(["PDPRidge on plain", "PDPRidge, lam=1.0", "PersonalizedMean on plain"])
    assert {line.partition(":")[0] for line in found} == (
        {"PDPRidge on plain", "PDPRidge, lam=1.0"} if noticed else set()
    )


def planted(case, change):
    """What is found where the outcome of a case is changed."""
    new = {case: copy.deepcopy(COMMITTED[case])}
    change(new[case])
    old = {case: COMMITTED[case]}
    assert record.differences(old, new, exact=True)
    return record.differences(old, new, exact=False)


def pays_less(found):
    found["guarantee_"]["epsilon"]["levels"][0] *= 1 - 1e-8


def another_person(found):
    who = found["guarantee_"]["epsilon"]["each"]
    found["guarantee_"]["epsilon"]["each"] = who[1:] + who[0]


def another_relation(found):
    found["guarantee_"]["neighbors"] = "add-remove"


def another_release(found):
    found["seed 3"]["coef_"][1] += 1e-8


def no_coefficients(found):
    del found["seed 1"]["coef_"]


def a_coefficient_less(found):
    found["seed 2"]["coef_"].pop()


@pytest.mark.parametrize(
    "change",
    [
        pays_less,
        another_person,
        another_relation,
        another_release,
        no_coefficients,
        a_coefficient_less,
    ],
)
def test_another_outcome_is_noticed(change):
    assert len(planted("PDPRidge on plain", change)) == 1


def test_what_the_seeds_share_on_one_machine_alone_is_still_the_same():
    def share_less(found):
        noise = found.pop("noise_")
        for seed in record.SEEDS:
            found[f"seed {seed}"]["noise_"] = copy.deepcopy(noise)
        found["seed 2"]["noise_"]["rate"] *= 1 + 1e-12

    assert planted("PDPRidge on plain", share_less) == []


def test_another_refusal_is_noticed():
    case = "PDPRidge, lam=-1"
    assert planted(case, lambda found: found.update(names="loss"))
    assert planted(case, lambda found: found.update(refused="TypeError"))
    assert planted(case, lambda found: found.clear())


def test_another_account_is_noticed():
    def more(found):
        found["fit 2"]["remaining"]["levels"][0] *= 1 + 1e-8

    assert len(planted("PDPRidge charged two fits", more)) == 1


def test_a_solver_has_ten_times_its_tolerance_and_no_more():
    case = "GWARegression on plain"

    def by(relative):
        return planted(case, lambda found: found["noise_"].update(scale=scale * (1 + relative)))

    scale = COMMITTED[case]["noise_"]["scale"]
    assert by(0.9e-7) == []
    assert len(by(1.1e-7)) == 1


# --- the command ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "together", "each"),
    [
        ([1.0, 1e-6], [1.0, 1.1e-6], 1e-7, 0.1),
        ([2.0, 0.0], [2.0, 1e-9], 5e-10, np.inf),
        ([np.inf, np.nan, 4.0], [np.inf, np.nan, 5.0], 0.25, 0.25),
        ([np.inf, 1.0], [1.0, 1.0], np.inf, np.inf),
        ([np.nan], [1.0], np.inf, np.inf),
        ([0.0], [0.0], 0.0, 0.0),
        ([1.0, 2.0], [1.0], np.inf, np.inf),
        (["a"], ["b"], np.inf, np.inf),
        (["a"], ["a"], 0.0, 0.0),
    ],
)
def test_relative_errors_by_hand(old, new, together, each):
    old, new = np.array(old), np.array(new)
    assert record.relative_error(old, new, record.largest) == pytest.approx(together)
    assert record.relative_error(old, new, np.abs) == pytest.approx(each)


def test_arrays_come_back_from_the_file():
    for array in (np.eye(3), np.array([0.1, 0.1, 0.1, np.inf]), np.arange(4.0), np.zeros((2, 0))):
        written = json.loads(json.dumps(record.plain(array)))
        np.testing.assert_array_equal(record.array_of(written), array)
    assert "levels" in record.plain(np.eye(3))


def test_a_case_that_only_one_record_has_is_listed(tmp_path, capsys):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    first, shared, last = list(CASES)[:3]
    for file, names in ((old, [first, shared]), (new, [shared, last])):
        some = {name: COMMITTED[name] for name in names}
        file.write_text(record.text_of(some), encoding="utf-8")
    assert record.main(["compare", str(old), str(old)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 cases, 0 differ in 0 places")
    assert record.main(["compare", str(old), str(new)]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"{first}: only in the old record",
        f"{last}: only in the new record",
    ]


def test_what_a_tree_lacks_is_absent(monkeypatch):
    monkeypatch.setitem(record.MODULES, "PDPRidge", "no_such_module")
    record.estimator.cache_clear()
    assert record.record(["PDPRidge on plain"]) == {"PDPRidge on plain": {"absent": "PDPRidge"}}
    record.estimator.cache_clear()
    unknown = record.Case("PDPRidge", settings={"no_such_setting": 1})
    monkeypatch.undo()
    record.estimator.cache_clear()
    assert record.outcome(unknown) == {"absent": "no_such_setting"}


def test_a_tree_releases_the_same_bits_twice(tmp_path, capsys):
    file = tmp_path / "record.json"
    assert record.main(["write", str(file), str(record.ROOT), "--every", "40"]) == 0
    assert record.main(["compare", str(file), str(record.ROOT), "--every", "40"]) == 0
    assert " 0 differ in 0 places" in capsys.readouterr().out
