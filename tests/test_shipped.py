"""The page of licenses is made of what packages say, and stops where they say something else."""

import dataclasses

import pytest
import shipped
from reading import Refused


def test_each_package_says_what_the_page_does():
    page = shipped.licenses({})
    for part in shipped.PARTS:
        assert f"| {part.name} | " in page
    assert "| MicroPython | " in page


@pytest.mark.parametrize("part", shipped.PARTS, ids=lambda part: part.name)
def test_another_license_is_noticed(part):
    other = "MIT License" if part.license.startswith("BSD") else "BSD 3-Clause License"
    with pytest.raises(Refused, match="no longer says"):
        shipped.row(dataclasses.replace(part, words=other))
