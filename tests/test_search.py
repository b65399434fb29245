"""The search, in a real browser and from file:// addresses, and what feeds it."""

import re

import pytest
import search_text
from docutils.core import publish_doctree
from playwright.sync_api import expect
from search_words import SearchCode, parts

# What a reader types: the page that must be among the first so many.
QUERIES = [
    ("retain_grad", "lessons/problems/gradient_is_none", 4),
    ("grad_fn", "lessons/problems/nothing_requires_grad", 3),
    ("ReluBackward0", "lessons/kinks/clamp_against_relu", 3),
    ("relubackward", "lessons/kinks/clamp_against_relu", 3),
    ("relu backward", "lessons/kinks/clamp_against_relu", 3),
    ("x.grad", "lessons/problems/gradient_is_none", 10),
    ("set_detect_anomaly", "lessons/problems/modified_in_place", 3),
    ("detect anomaly", "lessons/problems/gradient_is_nan", 2),
    ("AccumulateGrad", "lessons/recorded_graph/read_the_picture", 1),
    ("accumulation", "lessons/accumulation/backward_adds", 3),
    ("clamp", "lessons/kinks/clamp_against_relu", 1),
    ("clamp or relu?", "lessons/kinks/clamp_against_relu", 1),
    ("why is my gradient None", "lessons/problems/gradient_is_none", 1),
    ("gradients are nan", "lessons/problems/gradient_is_nan", 2),
    ("leaf or not", "lessons/recorded_graph/leaf_or_not", 1),
    ("nan_hunt", "lessons/kinks/nan_hunt", 1),
    ("first gradient", "lessons/first_gradients/first_gradient", 1),
    ("Kinks", "kinks", 3),
    ("Jacobian", "lessons/problems/hessian_and_jacobian", 1),
    ("chain rule", "glossary", 1),
    ("gradcheck", "lessons/kinks/gradcheck_blind_spot", 2),
    ("vmap", "lessons/problems/vmap_errors", 1),
    ("memory leak", "lessons/problems/memory_grows", 1),
    ("saved_tensors", "lessons/problems/own_function_errors", 3),
    ("create_graph", "lessons/problems/second_derivative_missing", 3),
    ("modified by an inplace operation", "lessons/problems/modified_in_place", 1),
    ("backward through the graph a second time", "lessons/problems/backward_twice", 1),
    (
        "RuntimeError: grad can be implicitly created only for scalar outputs",
        "lessons/problems/backward_needs_a_scalar",
        1,
    ),
    ("my optimizer zzzz does not clear gradients", "lessons/problems/gradient_doubled", 5),
]


@pytest.fixture(scope="module")
def tab(browser, site):
    """One tab for all tests here; at the end, nothing must have been asked or logged."""
    context = browser.new_context()
    tab = context.new_page()
    problems = []
    tab.on(
        "request",
        lambda request: request.url.startswith("file:") or problems.append(request.url),
    )
    tab.on("console", lambda said: said.type == "error" and problems.append(said.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.address = site.as_uri()
    yield tab
    context.close()
    assert problems == []


def search(tab, query: str) -> None:
    tab.goto(f"{tab.address}/search.html")
    tab.locator("#search-field").fill(query)
    tab.locator("#search-results li").first.wait_for()


def test_each_query_finds_its_page_among_the_first(tab):
    tab.goto(f"{tab.address}/search.html")
    missed = []
    for query, page, most in QUERIES:
        found = tab.evaluate(
            "q => (SiteSearch.find(q)?.results ?? []).slice(0, 10).map((r) => r.docname)", query
        )
        if page not in found[:most]:
            missed.append((query, page, most, found))
    assert not missed


class TestResults:
    def test_say_what_they_are_and_where_the_words_stand(self, tab):
        tab.goto(f"{tab.address}/search.html?q=retain_grad")
        first = tab.locator("#search-results li").first
        expect(first.locator(".search-kind")).to_have_text("Problem")
        expect(first.locator(".search-section a")).to_contain_text("retain_grad")
        assert "retain_grad" in first.locator(".search-excerpt mark").all_inner_texts()
        expect(tab.get_by_role("status")).to_have_text(re.compile(r"^\d+ pages found\.$"))
        expect(tab.locator("#search-field")).to_have_value("retain_grad")

    def test_the_section_of_a_result_is_there(self, tab):
        search(tab, "retain_grad")
        tab.locator(".search-section a").first.click()
        tab.wait_for_url("**#*")
        anchor = tab.evaluate("decodeURIComponent(location.hash.slice(1))")
        heading = tab.evaluate("id => document.getElementById(id).textContent", anchor)
        assert "retain_grad" in heading

    def test_markup_in_a_query_is_text(self, tab):
        tab.goto(f"{tab.address}/search.html")
        tab.locator("#search-field").fill("<img src=x onerror=\"document.title='run'\"> clamp")
        tab.locator("#search-results li").first.wait_for()
        assert tab.locator("#search-results img").count() == 0
        assert tab.title().startswith("Search")

    @pytest.mark.parametrize(
        ("query", "said"),
        [
            ("zzzz qqqq", "No page has these words"),
            ("the of and", "stand on every page"),
            ("!!! ??? ...", "no word in this"),
            (" ", ""),
        ],
    )
    def test_nothing_found_is_said(self, tab, query, said):
        tab.goto(f"{tab.address}/search.html")
        tab.locator("#search-field").fill("clamp")
        expect(tab.get_by_role("status")).to_contain_text("found")
        tab.locator("#search-field").fill(query)
        expect(tab.locator("#search-results li")).to_have_count(0)
        expect(tab.get_by_role("status")).to_contain_text(said)

    @pytest.mark.parametrize("word", ["constructor", "__proto__", "toString"])
    def test_a_word_that_each_object_of_javascript_knows_is_a_word(self, tab, word):
        tab.goto(f"{tab.address}/search.html")
        tab.locator("#search-field").fill(word)
        expect(tab.get_by_role("status")).to_contain_text("page")
        tab.goto(f"{tab.address}/fix.html")
        tab.get_by_role("textbox", name="Paste a message").fill(f"TypeError: {word} is wrong")
        expect(tab.get_by_role("status")).to_contain_text("page")

    def test_a_word_that_no_page_has_does_not_hide_the_rest(self, tab):
        search(tab, "zzzz clamp")
        expect(tab.get_by_role("status")).to_contain_text("No page has all of these words.")

    def test_a_long_list_is_shown_in_two_steps(self, tab):
        search(tab, "backward")
        assert tab.locator("#search-results li").count() == 20
        tab.get_by_role("button", name="more").click()
        assert tab.locator("#search-results li").count() > 20
        focused = tab.evaluate("document.activeElement.closest('li').previousElementSibling")
        assert focused is not None


class TestKeyboard:
    def focused(self, tab) -> str:
        return tab.evaluate("document.activeElement.id || document.activeElement.textContent")

    def test_arrows_go_through_the_results_and_enter_opens(self, tab):
        search(tab, "clamp")
        titles = tab.locator(".search-title a").all_inner_texts()
        tab.keyboard.press("ArrowDown")
        assert self.focused(tab) == titles[0]
        tab.keyboard.press("ArrowDown")
        assert self.focused(tab) == titles[1]
        tab.keyboard.press("ArrowUp")
        tab.keyboard.press("ArrowUp")
        assert self.focused(tab) == "search-field"
        tab.keyboard.press("ArrowDown")
        tab.keyboard.press("Enter")
        expect(tab.locator("h1")).to_contain_text(titles[0])

    def test_the_slash_leads_to_the_field_on_every_page(self, tab):
        for name in ("index", "lessons/kinks/clamp_against_relu", "search", "fix"):
            tab.goto(f"{tab.address}/{name}.html")
            tab.keyboard.press("/")
            field = tab.locator("input[name=q]:focus")
            assert field.input_value() == ""
            assert field.get_attribute("aria-keyshortcuts") == "/"
            tab.keyboard.type("a/b")
            assert field.input_value() == "a/b"

    def test_it_stays_where_one_types(self, tab):
        tab.goto(f"{tab.address}/fix.html")
        box = tab.get_by_role("textbox", name="Paste a message")
        box.press("/")
        assert box.input_value() == "/"

    def test_it_opens_the_drawer_of_a_phone(self, tab):
        tab.set_viewport_size({"width": 360, "height": 740})
        tab.goto(f"{tab.address}/index.html")
        tab.keyboard.press("/")
        expect(tab.locator("input[name=q]:focus")).to_be_in_viewport()
        tab.set_viewport_size({"width": 1280, "height": 800})

    def test_it_can_be_turned_off(self, tab):
        tab.goto(f"{tab.address}/search.html")
        setting = tab.get_by_role("checkbox", name="The key /")
        assert setting.is_checked()
        setting.uncheck()
        tab.goto(f"{tab.address}/index.html")
        tab.keyboard.press("/")
        assert tab.locator("input[name=q]:focus").count() == 0
        tab.goto(f"{tab.address}/search.html")
        setting.check()
        assert tab.evaluate("localStorage.length") == 0


def test_without_javascript_lists_lead_everywhere(browser, site):
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(f"{site.as_uri()}/search.html")
    assert "needs JavaScript" in tab.locator("article").inner_text()
    assert not tab.locator("#search-field").is_visible()
    for name in ("All lessons", "All problems", "Glossary"):
        assert tab.get_by_role("link", name=name).last.is_visible()
    tab.close()


class TestIndex:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("set_detect_anomaly", ["set", "detect", "anomaly"]),
            ("ReluBackward0", ["Relu", "Backward"]),
            ("NLLLoss", ["NLL", "Loss"]),
            ("x_1", []),
            ("gradient", []),
            ("Gradient", []),
        ],
    )
    def test_takes_names_apart(self, name, expected):
        assert parts(name) == expected

    def test_keeps_the_whole_name(self):
        assert SearchCode({}).split("call retain_grad()") == [
            *("call", "retain_grad"),
            *("retain", "grad"),
        ]


class TestText:
    def test_is_cut_by_section(self):
        doctree = publish_doctree(
            "Page\n====\n\nSome :math:`\\mathbf{x}\\cdot y`.\n\nPart\n----\n\n::\n\n  x.grad\n\n"
            ".. container:: no-search\n\n   Hidden.\n\n.. a comment\n",
            settings_overrides={"doctitle_xform": False},
        )
        assert search_text.sections(doctree) == [
            ["", "Page", "Some x·y."],
            ["part", "Part", "x.grad"],
        ]

    def test_of_a_long_page_is_limited(self):
        long = "word " * 1000
        sections = "".join(f"Part {n}\n------\n\n{long}\n\n" for n in range(20))
        doctree = publish_doctree(
            f"Page\n====\n\n{sections}", settings_overrides={"doctitle_xform": False}
        )
        lengths = [len(text) for _, _, text in search_text.sections(doctree)]
        assert max(lengths) <= search_text.SECTION
        assert sum(lengths) <= search_text.PAGE + 200 * len(lengths)

    def test_loads_on_the_search_page_only(self, site):
        loading = [
            path.name
            for path in site.rglob("*.html")
            if "search-text.js" in path.read_text(encoding="utf-8")
        ]
        assert loading == ["search.html"]
