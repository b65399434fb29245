"""Lessons and the cheat sheet on paper."""

import re

import pytest

LESSON = "lessons/first_gradients/first_gradient.html"
# A4 is 210 mm wide; less the margins.
PAPER = {"width": 680, "height": 1000}


@pytest.fixture(scope="module")
def tab(browser):
    """A tab of a reader who reads in the dark."""
    context = browser.new_context(color_scheme="dark", viewport=PAPER)
    yield context.new_page()
    context.close()


@pytest.fixture
def printed(tab, site):
    tab.goto((site / LESSON).as_uri())
    tab.wait_for_selector(".backward-steps[data-ready]")
    tab.emulate_media(media="print")
    yield tab
    tab.emulate_media(media="screen")


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_cheat_sheet_is_one_page(tab, site, paper):
    tab.goto((site / "cheat_sheet.html").as_uri())
    pages = re.findall(rb"/Type\s*/Page\b", tab.pdf(format=paper))
    assert len(pages) == 1


def test_nothing_is_printed_that_only_a_screen_can_do(printed):
    for selector in ("button", "input", "nav", ".sidebar-drawer", ".toc-drawer"):
        shown = printed.locator(selector).filter(visible=True)
        assert shown.count() == 0, shown.first.evaluate("e => e.outerHTML")


def test_all_outputs_and_steps_are_printed(printed):
    for selector in (".prediction pre", ".backward-list > li"):
        all_parts = printed.locator(selector)
        assert all_parts.count() > 2
        assert all_parts.filter(visible=True).count() == all_parts.count()


def test_no_code_is_cut(printed):
    printed.locator("pre").first.evaluate("e => e.textContent = 'long '.repeat(60)")
    cut = printed.evaluate(
        "[...document.querySelectorAll('pre')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut == 0


def test_paper_is_white(printed):
    assert printed.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
