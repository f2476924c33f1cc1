"""Draw the pictures that links to the book show elsewhere: one for the book, one for each part.

    python tools/card.py

Titles from `_config.yml` and `_toc.yml`, people from `book/_static/logo.svg`. Needs Chromium; the
results are committed: `book/_static/card.png`, and `cards/FOLDER.png` for the pages of a folder.
"""

import shutil
from html import escape
from pathlib import Path

import yaml
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "book" / "_static"
SIZE = {"width": 1200, "height": 630}
CLAIM = "Differential privacy, person by person.<br>Every claim is proved, run and attacked."
CARD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%s</title><style>
body { margin: 0; height: 630px; display: flex; flex-direction: column; justify-content: center;
  padding-left: 100px; color: #1a1d21; background: #fff;
  font-family: "Liberation Sans", Arial, sans-serif; }
svg { width: 790px; } h1 { font-size: 92px; margin: 50px 0 16px; letter-spacing: -2px; }
p { font-size: 40px; line-height: 1.35; margin: 0; color: #55595f; }
</style></head><body>%s<h1>%s</h1><p>%s</p></body></html>"""


def parts() -> dict[str, str]:
    """The title of each part whose pages have a folder of their own, by this folder."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    found = [(part["chapters"][0]["file"].split("/"), part["caption"]) for part in toc["parts"]]
    return {path[1]: caption for path, caption in found if len(path) > 2}


def main() -> None:
    title = escape(yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"])
    (STATIC / "cards").mkdir(exist_ok=True)
    cards = {f"cards/{folder}": (escape(part), title) for folder, part in parts().items()}
    people = (STATIC / "logo.svg").read_text("utf-8")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport=SIZE)
        for name, (head, line) in {"card": (title, CLAIM), **cards}.items():
            page.set_content(CARD % (head, people, head, line))
            page.screenshot(path=STATIC / f"{name}.png")
        chromium.close()


if __name__ == "__main__":
    main()
