"""The archive of a release, unpacked and opened as files, without a network or a server."""

import tarfile

import pytest
import release

OFFLINE = ("book/intro", "book/start", "book/foundations/noise", "book/back/statements")


@pytest.fixture(scope="module")
def unpacked(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("archive")
    with tarfile.open(release.archive(folder, out, "1.0.0")) as tar:
        tar.extractall(out, filter="data")
    return out / "privacy-personally-1.0.0"


@pytest.fixture
def tab(browser, unpacked):
    """A page that may read the unpacked files only; what goes wrong on it fails the test."""
    wrong = []
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda request: failed(request))
        page.on("request", lambda request: asked(request.url))

        def failed(request):
            if request.failure != "net::ERR_ABORTED":  # of a page that was left meanwhile
                wrong.append(request.url)

        def asked(url):
            if not url.startswith((unpacked.as_uri(), "data:", "blob:")):
                wrong.append(url)

        yield page
    assert not wrong


def test_the_front_door_leads_to_the_first_page(tab, unpacked):
    tab.goto((unpacked / "index.html").as_uri())
    tab.wait_for_url("**/book/intro.html")
    assert tab.locator("article h1").is_visible()


@pytest.mark.parametrize("name", OFFLINE)
def test_a_page_opens_as_a_file(tab, unpacked, name):
    tab.goto((unpacked / f"{name}.html").as_uri(), wait_until="networkidle")
    assert tab.locator(".math").count() == tab.locator(".math mjx-container").count()
    figures = tab.locator("[data-explore]").count()
    assert tab.locator(".explore").count() == figures
    style = tab.locator("article h1").evaluate("node => getComputedStyle(node).fontFamily")
    assert "Times" not in style


def test_the_search_answers(tab, unpacked):
    tab.goto((unpacked / "book/intro.html").as_uri())
    tab.keyboard.press("Control+k")
    tab.keyboard.type("leverage")
    tab.keyboard.press("Enter")
    link = tab.locator("#search-results li > h2 > a").first
    link.wait_for()
    link.click()
    tab.wait_for_load_state()
    assert "leverage" in tab.locator("article").inner_text().lower()


def test_a_link_without_its_preview_still_leads_on(browser, unpacked):
    """Files may not read each other: hovering shows nothing, and breaks nothing."""
    with browser.new_context(offline=True) as context:
        page, wrong = context.new_page(), []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((unpacked / "book/foundations/noise.html").as_uri())
        link = page.locator("article a[data-preview]:visible").first
        link.hover()
        page.wait_for_timeout(600)  # it opens after 250 ms
        assert not page.locator(".preview:visible").count()
        link.click()
        page.wait_for_url(lambda url: "noise.html" not in url)
        assert not wrong
