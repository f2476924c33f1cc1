"""What Binder's server shows besides JupyterLab: a style sheet of the book's own."""

from pathlib import Path

c = get_config()  # noqa: F821 (Jupyter defines it)
c.LabApp.custom_css = True
folder = str(Path(__file__).with_name("custom"))
c.ServerApp.tornado_settings.update({"static_custom_path": [folder]})
