"""Sphinx's settings for the API reference: `make docs` writes build/docs.

Nothing is fetched while it is built or read.
"""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tools.reference

project = "Sampan"
version = release = version_of("sampan")
copyright = "the authors of Sampan, Apache-2.0"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "myst_parser", "tools.reference.extension"]

html_theme = "furo"
html_title = f"Sampan {version}"
html_static_path = ["static"]
html_js_files = [("notebooks.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # a page that is read as a file may not fetch others

autodoc_inherit_docstrings = False  # the method of a base class is documented there
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100
toc_object_entries = (
    False  # with 2,400 of them every page's menu would take a second; pages list their names on top
)
myst_heading_anchors = 3
smartquotes = False  # "..." in a shape is Python
