"""One page of each kind in all looks, with axe-core, and in use; all pages: test_every_page.py.

``nox -s sweep`` looks at every page in all looks, and with all of axe-core; it takes minutes.
"""

import re

import pytest
from pages import violations
from playwright.sync_api import expect
from sweep import LOOKS, Chromium, visit

PAGES = [
    "index",
    "lessons/index",
    "lessons/kinks/index",
    "lessons/first_gradients/first_gradient",
    "lessons/recorded_graph/step_through_backward",
    "lessons/recorded_graph/three_gradients_of_one_x",
    "lessons/kinks/slopes_from_both_sides",
    "lessons/problems/backward_twice",
    "fix",
    "cheat_sheet",
    "glossary",
    "contribute/kitchen_sink",
    "search",
]
AXE_LOOKS = [("light", 1440), ("dark", 360)]


@pytest.fixture(scope="module")
def window(browser):
    window = Chromium(browser)
    yield window
    window.close()


def test_one_page_of_each_kind_in_all_looks(window, site):
    found = []
    for name in PAGES:
        found += [(name, *p) for p in visit(window, (site / f"{name}.html").as_uri(), LOOKS)]
        # On the last look, the phone; what axe-core finds on both is the same but for the menus.
        found += [(name, *violation) for violation in violations(window.tab, contrast=False)]
    assert not found


class TestInUse:
    """What appears only when a reader does something, with axe-core's contrast rule too."""

    @pytest.fixture(params=AXE_LOOKS, ids=["light", "dark"])
    def look(self, window, site, request):
        """Open a page, and look at the open one; afterwards, nothing must have been found."""
        found = []

        def look(name, part, go=False):
            if go:
                window.dress(*request.param, 16)
                window.tab.goto((site / f"{name}.html").as_uri())
            found.extend((name, *violation) for violation in violations(window.tab, part))
            return window.tab

        yield look
        assert not found

    def test_stepping_and_predicting(self, look):
        tab = look("lessons/recorded_graph/used_up_graph", "figure.graph-figure", go=True)
        figure = tab.locator("figure.graph-figure").first

        def press(name):
            figure.get_by_role("button", name=name, exact=True).click()

        def look_again(state):
            look(state, "figure.graph-figure")

        press("Next step")
        look_again("the middle")
        press("Predict")
        figure.get_by_role("textbox").fill("1 -2")
        press("Check")
        assert "your sign is the other way round" in figure.inner_text()
        look_again("wrong")
        press("Show it")
        press("Show it")
        look_again("all shown")
        press("Predict")
        press("Last step")
        press("Play")
        look_again("playing")
        figure.get_by_role("combobox").select_option(index=1)
        press("Last step")
        assert "raises the error" in figure.inner_text()
        look_again("an error midway")

    def test_a_prediction(self, look):
        tab = look("lessons/first_gradients/first_gradient", ".prediction", go=True)
        for answer, verdict in (("no idea", "Type one number"), ("14", "the run gives 28")):
            prediction = tab.locator(".prediction").first
            prediction.get_by_role("textbox").fill(answer)
            prediction.get_by_role("button", name="Check").click()
            assert verdict in prediction.inner_text()
            look(verdict, ".prediction")

    def test_play_needs_no_motion(self, window, site):
        tab = window.tab
        tab.emulate_media(reduced_motion="reduce")
        tab.goto((site / "lessons/recorded_graph/used_up_graph.html").as_uri())
        tab.get_by_role("button", name="Play", exact=True).first.click()
        expect(tab.locator(".player-count").first).to_have_text(re.compile("^Step 2"))
        moving = tab.evaluate(
            "[...document.querySelectorAll('*')].map((e) => getComputedStyle(e)).filter((s) =>"
            " s.animationName !== 'none' || s.scrollBehavior !== 'auto').length"
        )
        tab.emulate_media(reduced_motion="no-preference")
        assert moving == 0

    def test_figures_are_seen_in_forced_colours(self, window, site):
        """Even where the theme chosen here is dark and the system's colours are light."""
        tab = window.tab
        tab.emulate_media(forced_colors="active", color_scheme="light")
        window.dressed = None
        for name, parts in (
            ("lessons/recorded_graph/used_up_graph", ".node rect, .edge path"),
            ("kinks", ".kink-plot path.f, .kink-plot path.g"),
        ):
            tab.goto((site / f"{name}.html").as_uri())
            tab.evaluate("document.body.dataset.theme = 'dark'")
            lines = tab.eval_on_selector_all(
                parts, "all => [...new Set(all.map((e) => getComputedStyle(e).stroke))]"
            )
            for line in lines:
                red, green, blue = map(int, re.findall(r"\d+", line)[:3])
                assert 0.2126 * red + 0.7152 * green + 0.0722 * blue < 160, (name, line)
        tab.emulate_media(forced_colors="none")
