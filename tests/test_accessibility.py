"""axe-core on one page of each kind: in light on a wide window, in dark on a phone."""

from importlib.resources import files

import pytest

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
    "questions",
    "glossary",
    "contribute/kitchen_sink",
    "search",
]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_no_violation(browser, site, scheme, width):
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    tab = context.new_page()
    found = []
    for name in PAGES:
        tab.goto((site / f"{name}.html").as_uri())
        tab.evaluate(axe)
        for violation in tab.evaluate("axe.run()")["violations"]:
            found += [(name, violation["id"], node["html"][:120]) for node in violation["nodes"]]
    context.close()
    assert not found
