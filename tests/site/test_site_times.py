"""No page takes more than its share of the time of the whole book, whatever the machine."""

import pytest
from bs4 import BeautifulSoup

SHARE = 0.1  # nearly four times the mean of some forty notebooks


def seconds(text: str) -> dict[str, float]:
    """The table of page *Runs*: notebook -> seconds."""
    table = BeautifulSoup(text, "html.parser").find("table")
    rows = [[cell.get_text(strip=True) for cell in row("td")] for row in table("tr")[1:]]
    assert all(row[-1] == "✅" for row in rows)
    return {row[0]: float(row[3]) for row in rows}


def heavy(times: dict[str, float]) -> set[str]:
    """The notebooks that take more than their share."""
    return {name for name, one in times.items() if one > SHARE * sum(times.values())}


def test_no_page_takes_more_than_its_share(folder):
    times = seconds((folder / "book/back/runs.html").read_text("utf-8"))
    pages = {p.relative_to(folder).with_suffix("") for p in (folder / "book").rglob("*.html")}
    assert len(times) >= 36
    assert set(times) <= {page.as_posix() for page in pages}
    assert min(times.values()) > 0
    assert heavy(times) == set()


@pytest.mark.parametrize(("slow", "found"), [(9.9, set()), (12, {"book/a"})])
def test_a_slow_page_is_noticed(slow, found):
    rest = {f"book/{k}": (100 - slow) / 40 for k in range(40)}
    row = "<tr><td>{}</td><td>today</td><td>cache</td><td>{}</td><td>✅</td></tr>"
    body = "".join(row.format(name, one) for name, one in {**rest, "book/a": slow}.items())
    assert heavy(seconds(f"<table><tr><th>Document</th></tr>{body}</table>")) == found
