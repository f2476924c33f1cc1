"""What Binder's server shows: a style sheet of the book's own, and no files of its workshop."""

from pathlib import Path

c = get_config()  # noqa: F821 (Jupyter defines it)
c.LabApp.custom_css = True
folder = str(Path(__file__).with_name("custom"))
c.ServerApp.tornado_settings.update({"static_custom_path": [folder]})
# What only the build reads is not listed beside the chapters.
c.ContentsManager.hide_globs = [
    *("__pycache__", "*.pyc", "*~", "*.egg-info"),
    *("_ext", "_extra", "_static", "*.yml", "*.bib", "statements.csv"),
]
c.ServerApp.allow_root = True  # as people are in a container
