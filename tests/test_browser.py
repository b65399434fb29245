"""The site in a real browser, from file:// addresses."""

import pytest
from pages import WIDTHS

LESSON = "lessons/first_gradients/first_gradient.html"
PAGES = [
    "index.html",
    LESSON,
    "lessons/index.html",
    "lessons/problems/backward_twice.html",
    "questions.html",
    "misconceptions.html",
    "glossary.html",
    "search.html",
]


@pytest.fixture
def open_page(browser, site):
    """Open a page; afterwards, check that nothing was asked of a host and no error was logged."""
    contexts, problems = [], []

    def open_page(name: str, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.on(
            "request",
            lambda request: (
                problems.append(request.url) if not request.url.startswith("file:") else None
            ),
        )
        tab.on(
            "console",
            lambda message: problems.append(message.text) if message.type == "error" else None,
        )
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.goto(
            f"{(site / name.partition('?')[0]).as_uri()}?{name.partition('?')[2]}".rstrip("?")
        )
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_opens_without_error_or_foreign_request(open_page, name, scheme):
    tab = open_page(name, color_scheme=scheme)
    assert tab.locator("article h1").first.is_visible()


def luminance(tab, selector: str, name: str) -> float:
    color = tab.locator(selector).first.evaluate(f"e => getComputedStyle(e)['{name}']")
    numbers = [float(part) for part in color.split("(")[1].rstrip(")").split(",")[:3]]
    return sum(numbers) / 3


def test_graphs_follow_light_and_dark(open_page):
    for scheme, dark in (("light", False), ("dark", True)):
        tab = open_page(LESSON, color_scheme=scheme)
        assert (luminance(tab, ".graph-figure .leaf rect", "fill") < 128) == dark
        assert (luminance(tab, ".graph-figure .leaf text", "fill") > 128) == dark


def test_a_phone_needs_no_sideways_scroll(open_page):
    for name in PAGES:
        tab = open_page(name, viewport={"width": 360, "height": 740})
        needed, given = tab.evaluate(WIDTHS)
        assert needed <= given <= 360, name


def test_search_finds_retain_grad(open_page):
    tab = open_page("search.html?q=retain_grad")
    tab.wait_for_selector("#search-results li")
    results = tab.locator("#search-results li a").all_inner_texts()
    assert "The gradient is None" in results, results


def test_everything_can_be_read_without_javascript(open_page):
    tab = open_page(LESSON, java_script_enabled=False)
    prediction = tab.locator(".prediction").first
    assert prediction.inner_text().startswith("28.0")
    assert prediction.is_visible()
    assert tab.locator(".prediction input").count() == 0


class TestPrediction:
    def first(self, tab):
        return tab.locator(".prediction").first

    def test_the_output_is_covered_until_an_answer_is_given(self, open_page):
        prediction = self.first(open_page(LESSON))
        assert "28.0" not in prediction.inner_text()
        prediction.get_by_label("Your prediction: which number is y?").fill("28")
        prediction.get_by_role("button", name="Check").click()
        assert "Right." in prediction.get_by_role("status").inner_text()
        assert "28.0" in prediction.inner_text()

    def test_the_proof_is_covered_too(self, open_page):
        """It would give the answer away."""
        tab = open_page(LESSON)
        prediction = tab.locator(".prediction", has_text="assert_close").first
        assert "assert_close" not in prediction.inner_text()
        prediction.get_by_role("button", name="Show the output").click()
        assert "assert_close" in prediction.inner_text()

    def test_a_wrong_answer_is_set_beside_the_output(self, open_page):
        prediction = self.first(open_page(LESSON))
        prediction.locator("input").fill("14")
        prediction.locator("input").press("Enter")
        text = prediction.inner_text()
        assert "you said 14, the run gives 28 (yours is 0.5 times as large)" in text
        assert "You said: 14" in text
        assert "28.0" in text

    def test_an_answer_that_is_no_number_leaves_the_output_covered(self, open_page):
        prediction = self.first(open_page(LESSON))
        prediction.locator("input").fill("no idea")
        prediction.locator("input").press("Enter")
        assert "Type one number" in prediction.inner_text()
        assert "28.0" not in prediction.inner_text()

    def test_the_output_can_be_shown_at_once(self, open_page):
        prediction = self.first(open_page(LESSON))
        prediction.get_by_role("button", name="Show the output").click()
        assert "28.0" in prediction.inner_text()

    def test_print_shows_the_output_only(self, open_page):
        tab = open_page(LESSON)
        tab.emulate_media(media="print")
        assert self.first(tab).inner_text().strip() == "28.0"


@pytest.mark.parametrize("width", [360, 1100])
def test_the_menus_of_a_narrow_window_open_for_the_keyboard(open_page, width):
    tab = open_page(LESSON, viewport={"width": width, "height": 740}, reduced_motion="reduce")
    reached = set()
    # The menu of the site comes before the page's text, that of the page after it.
    for key in ["Tab"] * 20 + ["Shift+Tab"] * 40:
        tab.keyboard.press(key)
        for menu in (".sidebar-drawer", ".toc-drawer"):
            if tab.locator(f"{menu} :focus").count():
                reached.add(menu)
                box = tab.locator(":focus").bounding_box()
                assert box["x"] >= 0, menu
                assert box["x"] + box["width"] <= width, menu
    assert reached == {".sidebar-drawer", ".toc-drawer"}
    tab.locator("h1").click()
    assert tab.locator(".toc-drawer").bounding_box()["x"] >= width
