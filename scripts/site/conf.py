"""Sphinx's settings for the documentation site (`make site`)."""

import pifolab

project = "pifolab"
author = "The pifolab authors"
version = release = pifolab.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_theme = "furo"
html_title = "pifolab"
html_copy_source = False
html_show_sourcelink = False
# Nothing is fetched from anywhere: the site works from a folder, without a network.
html_permalinks_icon = "#"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/icon.svg"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Blocks without a language are what a command prints.
highlight_language = "none"
# `bounds` is an attribute of the library's schedulers and of those in Python.
suppress_warnings = ["ref.python"]

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
