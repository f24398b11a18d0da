"""Sphinx's settings for the documentation site (`make site`)."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

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

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
# A dollar beside a space is one of a shell.
myst_dmath_allow_space = False
# Formulas become MathML, which browsers typeset by themselves: no script is loaded.
html_math_renderer = "mathml"
myst_heading_anchors = 4
# Blocks without a language are what a command prints.
highlight_language = "none"
# `bounds` is an attribute of the library's schedulers and of those in Python.
suppress_warnings = ["ref.python"]

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = False


def _formula(translator: Any, node: nodes.Node) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _displayed_formula(translator: Any, node: nodes.Node) -> None:
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register how formulas are written."""
    app.add_html_math_renderer("mathml", (_formula, None), (_displayed_formula, None))
