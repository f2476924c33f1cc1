"""Warnings of the package: where they point, and the switch that silences them."""

import warnings
from pathlib import Path

import pytest

from pdpbook.advice import Advice, CuratorWarning, PublicNumbersWarning, advise, silence
from pdpbook.pages import figures

KINDS = (CuratorWarning, PublicNumbersWarning)


@pytest.mark.parametrize("kind", KINDS)
def test_advice_points_at_the_callers_line(kind):
    with pytest.warns(kind, match="mind the noise") as heard:
        advise("mind the noise", kind)
    assert [Path(w.filename) for w in heard] == [Path(__file__)]


def heard_after(switch):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        switch()
        for kind in KINDS:
            advise("mind the noise", kind)
        warnings.warn("not ours", UserWarning, stacklevel=1)
    return [w.category for w in heard]


def test_one_switch_silences_all_advice_and_nothing_else():
    assert heard_after(lambda: None) == [*KINDS, UserWarning]
    assert heard_after(silence) == [UserWarning]


def test_a_page_is_silent_from_its_set_up_cell_on():
    assert heard_after(figures.use) == [UserWarning]


def test_advice_is_heard_unless_somebody_says_otherwise():
    assert all(issubclass(kind, Advice) and issubclass(kind, UserWarning) for kind in KINDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CuratorWarning, match="mind the noise"):
            advise("mind the noise", CuratorWarning)
