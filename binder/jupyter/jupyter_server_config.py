"""Settings of the server that Binder starts: a style sheet of the book's own."""

from pathlib import Path

c = get_config()  # noqa: F821 (Jupyter defines it)
c.LabApp.custom_css = True
c.ServerApp.static_custom_path = [str(Path(__file__).with_name("custom"))]
