"""The finder in a real browser, from file:// addresses."""

import json
import random
from importlib.resources import files

import pytest
from playwright.sync_api import expect

MESSAGE = (
    "RuntimeError: Trying to backward through the graph a second time, but the buffers have "
    "already been freed. Specify retain_graph=True when calling backward the first time."
)
TITLE = "Trying to backward through the graph a second time"

# For a busy machine.
expect.set_options(timeout=30_000)


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
        tab.goto(f"{site.as_uri()}/{name}")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def box(tab):
    return tab.get_by_role("textbox", name="Paste a message")


def paste(tab, text: str) -> None:
    box(tab).evaluate(
        """(box, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text", text);
            box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
        }""",
        text,
    )


def expect_first(tab, title: str) -> None:
    """Wait until the finder names this page first."""
    expect(tab.locator(".problem-results > li:first-child > a")).to_have_text(title)


class TestPaste:
    def test_a_message_leads_to_its_page(self, open_page):
        tab = open_page("fix.html")
        box(tab).fill(MESSAGE)
        expect_first(tab, TITLE)
        why = tab.locator(".problem-results > li").first.locator("p").inner_text()
        assert why.startswith("Message: RuntimeError: Trying to backward")
        assert f"Best: {TITLE}" in tab.get_by_role("status").inner_text()
        tab.locator(".problem-results a").first.click()
        assert tab.locator("h1").inner_text().startswith(TITLE)

    def test_results_follow_what_is_typed(self, open_page):
        tab = open_page("fix.html")
        box(tab).fill(MESSAGE)
        expect_first(tab, TITLE)
        box(tab).fill("the gradient is None after moving the tensor")
        expect_first(tab, "The gradient is None")
        tab.get_by_role("button", name="Clear").click()
        assert tab.locator(".problem-results li").count() == 0
        assert tab.get_by_role("status").inner_text() == ""
        assert box(tab).evaluate("box => box === document.activeElement")

    def test_what_varies_does_not_matter(self, open_page):
        tab = open_page("fix.html")
        box(tab).fill(
            "2026-11-30 23:59:59,123 [rank3] ERROR trainer: \u001b[31mTraceback (most recent call "
            'last):\n  File "C:\\net\\gradient_is_none.py", line 3, in gradient_is_none\n'
            "    weight.grad is None\n\u001b[0m训练失败 RuntimeError: Trying to backward through\n"
            "the graph a second time, but the\nbuffers have already been freed. 怎么办"
        )
        expect_first(tab, TITLE)

    def test_markup_is_text(self, open_page):
        hostile = (
            "<img src=x onerror=\"document.title = 'run'\"><script>document.title = 'run'</script>"
            f"</textarea><b>{MESSAGE}</b> <a href='javascript:document.title=1'>None</a>"
        )
        for tab in (open_page("fix.html"), open_page(f"fix.html?q={hostile.replace('#', '')}")):
            box(tab).fill(hostile)
            expect_first(tab, TITLE)
            assert tab.locator(".problem-finder :is(img, script, b)").count() == 0
            assert tab.locator('.problem-finder [href^="javascript"]').count() == 0
            assert tab.title().startswith("Fix a problem")

    def test_a_huge_text(self, open_page):
        tab = open_page("fix.html")
        paste(tab, "zzzz 17 qqqq 0.25\n" * 60_000 + MESSAGE)
        expect_first(tab, TITLE)
        assert "only the start and the end" in tab.get_by_role("status").inner_text()
        assert len(box(tab).input_value()) < 30_000
        set_value = "(box, text) => { box.value = text; box.dispatchEvent(new Event('input')); }"
        box(tab).evaluate(set_value, "x" * 1_000_000)
        expect(tab.get_by_role("status")).to_contain_text("No page shares a word")

    def test_a_binary_file(self, open_page):
        noise = random.Random(0)
        tab = open_page("fix.html")
        paste(tab, "".join(chr(noise.randrange(256)) for _ in range(1_000_000)) + "\ud800")
        expect(tab.get_by_role("status")).to_contain_text("page")
        link = tab.get_by_role("link", name="Link to this search")
        assert len(link.get_attribute("href")) < 30_000

    def test_words_that_no_page_has(self, open_page):
        tab = open_page("fix.html")
        for text in ("   \n\t", "zzzz qqqq", "梯度为空", "\x00\x01\x02"):
            box(tab).fill("None")
            expect(tab.locator(".problem-results li")).not_to_have_count(0)
            box(tab).fill(text)
            expect(tab.locator(".problem-results li")).to_have_count(0)


class TestAddress:
    @pytest.mark.parametrize("sign", ["?", "#"])
    def test_carries_a_query(self, open_page, sign):
        tab = open_page(f"fix.html{sign}q=backward%20through%20the%20graph%20a%20second+time")
        assert box(tab).input_value() == "backward through the graph a second time"
        expect_first(tab, TITLE)

    def test_the_link_leads_back_to_the_search(self, open_page):
        tab = open_page("fix.html")
        box(tab).fill("50 % + retain_graph & <second> time?")
        tab.get_by_role("link", name="Link to this search").wait_for()
        address = tab.get_by_role("link", name="Link to this search").get_attribute("href")
        box(tab).fill("None")
        tab.evaluate("address => { location.hash = address }", address)
        tab.wait_for_function(
            "document.querySelector('#problem-text').value.includes('<second> time?')"
        )
        assert box(tab).input_value() == "50 % + retain_graph & <second> time?"

    def test_keeps_nothing(self, open_page):
        tab = open_page("fix.html")
        box(tab).fill(MESSAGE)
        expect_first(tab, TITLE)
        assert "Trying" not in tab.evaluate("JSON.stringify([{...localStorage}, location.href])")
        tab.reload()
        assert box(tab).input_value() == ""


def test_the_keyboard_alone_is_enough(open_page):
    tab = open_page("fix.html")
    box(tab).focus()
    tab.keyboard.type("hidden state carried to the second step, retain_graph")
    tab.get_by_role("link", name="Link to this search").wait_for()
    for name in ("Link to this search", "Clear"):
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.textContent") == name
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == TITLE
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/backward_twice.html")


def test_without_javascript_all_messages_are_there(open_page, site):
    tab = open_page("fix.html", java_script_enabled=False)
    text = (site / "_static" / "problem-index.js").read_text(encoding="utf-8")
    pages = json.loads(text.partition("= ")[2].rstrip().removesuffix(";"))["pages"]
    items = tab.locator(".problem-list > li")
    assert items.count() == len(pages) >= 2
    for place, page in enumerate(pages):
        shown = " ".join(items.nth(place).inner_text().split())
        assert shown.startswith(page["title"])
        assert items.nth(place).get_by_role("link").first.get_attribute("href") == page["url"]
        for passage in [*page["symptoms"], *(message["text"] for message in page["messages"])]:
            assert " ".join(passage.split()) in shown
    assert tab.get_by_role("textbox", name="Paste").count() == 0
    note = tab.locator(".problem-finder noscript p")
    assert note.is_visible()
    assert "needs JavaScript" in note.inner_text()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_no_violation_of_accessibility(browser, site, scheme, width):
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    tab = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    tab.goto(f"{(site / 'fix.html').as_uri()}?q=gradient+None")
    tab.locator(".problem-results a").first.wait_for()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.evaluate(axe)
    violations = tab.evaluate("axe.run()")["violations"]
    tab.close()
    assert [(found["id"], found["nodes"][0]["html"][:120]) for found in violations] == []


def test_the_search_finds_each_problem_first(open_page, site):
    text = (site / "_static" / "problem-index.js").read_text(encoding="utf-8")
    tab = open_page("search.html")
    pages = json.loads(text.partition("= ")[2].rstrip().removesuffix(";"))["pages"]
    said = [{message["text"] for message in page["messages"]} for page in pages]
    for page, messages in zip(pages, said, strict=True):
        queries = [page["title"]]
        # Two pages can share a message: any of them may come first then.
        others = set().union(*(other for other in said if other is not messages))
        own = [m["text"] for m in page["messages"] if m["text"] not in others]
        if own:
            queries.append(" ".join(own[0].split()[1:10]))
        for query in queries:
            first = tab.evaluate("query => SiteSearch.find(query).results[0].docname", query)
            assert page["url"] == f"{first}.html", query
