"""axe-core on one page of each kind: in light on a wide window, in dark on a phone."""

import pytest
from pages import violations

PAGES = [
    "index",
    "lessons/index",
    "lessons/kinks/index",
    "lessons/first_gradients/first_gradient",
    "lessons/recorded_graph/a_new_graph_each_time",
    "lessons/recorded_graph/read_the_picture",
    "lessons/recorded_graph/step_through_backward",
    "lessons/recorded_graph/three_gradients_of_one_x",
    "lessons/kinks/slopes_from_both_sides",
    "lessons/problems/backward_twice",
    "misconceptions",
    "glossary",
    "contribute/kitchen_sink",
    "search",
]


@pytest.fixture(params=[("light", 1280), ("dark", 360)], ids=["light", "dark"])
def look(browser, site, request):
    """Open a page, or look again at the open one; afterwards, nothing must have been found."""
    scheme, width = request.param
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    tab = context.new_page()
    found = []

    def look(name, part="html", go=True):
        if go:
            tab.goto((site / f"{name}.html").as_uri())
        found.extend((name, *violation) for violation in violations(tab, part))
        return tab

    yield look
    context.close()
    assert not found


def test_no_violation(look):
    for name in PAGES:
        look(name)


def test_no_violation_while_stepping_and_predicting(look):
    tab = look("lessons/recorded_graph/used_up_graph", "figure.graph-figure")
    figure = tab.locator("figure.graph-figure").first

    def press(name):
        figure.get_by_role("button", name=name, exact=True).click()

    def look_again(state):
        look(state, "figure.graph-figure", go=False)

    press("Next step")
    look_again("the middle")
    press("Predict")
    look_again("asked")
    figure.get_by_role("textbox").fill("1 -2")
    press("Check")
    assert "your sign is the other way round" in figure.inner_text()
    look_again("wrong")
    press("Show it")
    press("Show it")
    look_again("all shown")
    press("Predict")
    press("Last step")
    look_again("the end")
    press("Play")
    look_again("playing")
    figure.get_by_role("combobox").select_option(index=1)
    press("Last step")
    assert "raises the error" in figure.inner_text()
    look_again("an error midway")


def test_no_violation_after_a_prediction(look):
    tab = look("lessons/first_gradients/first_gradient", ".prediction")
    for answer, verdict in (("no idea", "Type one number"), ("14", "the run gives 28")):
        prediction = tab.locator(".prediction").first
        prediction.get_by_role("textbox").fill(answer)
        prediction.get_by_role("button", name="Check").click()
        assert verdict in prediction.inner_text()
        look(verdict, ".prediction", go=False)
