"""Show formulas as MathML, made from LaTeX while the site is built.

Browsers lay MathML out themselves: no JavaScript, no other host, and a formula can be copied
and read aloud. The font and its stylesheet load only on pages that have a formula.
"""

from html import escape

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

logger = logging.getLogger(__name__)

_converter = LatexToMathML(fancy_error=False)


def to_mathml(latex: str, *, block: bool) -> str:
    """LaTeX to a ``<math>`` element.

    Raises:
        LatexError: LaTeX that math-core does not know.
    """
    if block and "\\\\" in latex and "\\begin" not in latex:
        # Several lines without an environment, as Sphinx's maths directive allows.
        latex = f"\\begin{{aligned}}{latex}\\end{{aligned}}"
    return _converter.convert_with_local_state(latex, displaystyle=block)


def _convert(node: nodes.Element, *, block: bool) -> str:
    latex = node.astext()
    try:
        return to_mathml(latex, block=block)
    except LatexError as error:
        logger.warning("this formula cannot be shown: %s", error, location=node, type="mathml")
        return f"<code>{escape(latex)}</code>"


def _visit_inline(self, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{_convert(node, block=False)}</span>')
    raise nodes.SkipNode


def _visit_block(self, node: nodes.math_block) -> None:
    formula = _convert(node, block=True)
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    # Focusable, so that a formula wider than the page can be scrolled with the keyboard. No id
    # here: the theme copies it to a wrapper, and it would stand twice.
    self.body.append(self.starttag({}, "div", CLASS="math", tabindex="0"))
    self.body.append(f"{formula}{number}</div>\n")
    raise nodes.SkipNode


def _is_maths(node: nodes.Node) -> bool:
    return isinstance(node, nodes.math | nodes.math_block)


def _add_font(app, pagename, templatename, context, doctree) -> None:
    if doctree is not None and next(doctree.findall(_is_maths), None) is not None:
        app.add_css_file("mathml.css")


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    app.connect("html-page-context", _add_font)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
