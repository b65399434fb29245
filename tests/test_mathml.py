"""Formulas as MathML."""

import pytest
import tiny
from math_core import LatexError
from mathml import to_mathml

CONF = 'extensions = ["mathml"]\nhtml_math_renderer = "mathml"\n'


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "<mtable"),
        (r"\begin{cases} x & x > 0 \\ 0 & \text{else} \end{cases}", "<mtable"),
        (r"a &= b \\ c &= d", "<mtable"),
        (r"\frac{\partial y_i}{\partial x_j}", "<mfrac"),
        (r"\sqrt{x^2}", "<msqrt"),
        (r"\underbrace{f'(x)}_{\text{slope}}", "<munder"),
    ],
)
def test_converts_what_lessons_need(latex, part):
    mathml = to_mathml(latex, block=True)
    assert mathml.startswith("<math")
    assert part in mathml


def test_refuses_what_it_does_not_know():
    with pytest.raises(LatexError):
        to_mathml(r"\nosuchcommand", block=False)


def test_a_bad_formula_fails_the_build_with_its_place(tmp_path):
    status, messages = tiny.build(
        tmp_path, CONF, index="T\n=\n\n:math:`x`\n\n.. math::\n\n   \\nosuch\n"
    )
    assert status != 0
    assert "index.rst:6" in messages
    assert "this formula cannot be shown" in messages


def test_a_page_with_maths_loads_the_font_and_others_do_not(tmp_path):
    (tmp_path / "html").mkdir()
    pages = {
        "index": "T\n=\n\nNo maths. :doc:`maths`\n\n.. toctree::\n\n   maths\n",
        "maths": "M\n=\n\n:math:`x^2`\n",
    }
    assert tiny.build(tmp_path, CONF, **pages) == (0, "")
    assert tiny.soup(tmp_path, "maths").select('link[href*="mathml.css"]')
    assert not tiny.soup(tmp_path, "index").select('link[href*="mathml.css"]')


def test_numbered_formulas_have_one_id(tmp_path):
    index = "T\n=\n\n.. math:: x^2\n   :label: square\n\nSee :eq:`square`.\n"
    assert tiny.build(tmp_path, CONF + "html_theme = 'furo'\n", index=index) == (0, "")
    soup = tiny.soup(tmp_path)
    assert soup.select_one(".eqno").get_text() == "(1)"
    link = soup.select_one("p a[href^='#equation']")
    assert len(soup.select(link["href"])) == 1
