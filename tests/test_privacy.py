"""The policy of the pages, and what readers do under it. All pages: test_every_page.py."""

import re

import pytest
from pages import all_pages, page
from serving import headers, serve
from strict_csp import digest, inline_scripts, inline_styles, policy, with_policy

LESSON = "lessons/first_gradients/first_gradient.html"
STEPS = "lessons/recorded_graph/step_through_backward.html"


class TestPolicy:
    def test_hashes_are_those_that_browsers_compute(self):
        """The example of the specification."""
        assert digest("alert('Hello, world.');") == (
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        )

    def test_allows_what_a_page_holds_and_no_more(self):
        scripts = inline_scripts(
            '<script>a()</script><script src="b.js"></script>'
            '<script type="application/ld+json">{}</script>'
        )
        assert scripts == {"a()"}
        styles = inline_styles('<style>b {}</style>\n<p style="c: d &amp; e" data-style="f"></p>')
        assert styles == {"b {}", "c: d & e"}
        said = policy(scripts, styles)
        assert f"script-src 'self' {digest('a()')};" in said
        assert "unsafe-inline" not in said
        assert "unsafe-hashes" not in policy(scripts, [])

    def test_is_named_once_on_a_page(self):
        first = with_policy('<head><meta charset="utf-8"></head>', policy([], ["a {}"]))
        again = with_policy(first, policy([], []))
        assert again == with_policy('<head><meta charset="utf-8"></head>', policy([], []))
        assert again.count("http-equiv") == 1

    def test_every_page_names_one_and_needs_no_script_of_its_own(self, site):
        for path in all_pages(site):
            meta = page(path).select('meta[http-equiv="Content-Security-Policy"]')
            assert len(meta) == 1, path
            assert "script-src 'self';" in meta[0]["content"], path
            assert meta[0].find_previous_sibling(["script", "link", "style"]) is None, path

    def test_headers_allow_all_that_some_page_needs(self, site):
        sent = set(re.findall(r"'sha256-[^']*'", headers(site)["Content-Security-Policy"]))
        for path in all_pages(site):
            meta = page(path).select_one('meta[http-equiv="Content-Security-Policy"]')
            assert set(re.findall(r"'sha256-[^']*'", meta["content"])) <= sent, path


@pytest.fixture
def visit(browser, site):
    """Open pages from a host that sends our headers; afterwards, look what they did."""
    foreign, errors = [], []
    with serve(site, **headers(site)) as address:
        context = browser.new_context()
        tab = context.new_page()
        tab.on(
            "request",
            lambda request: (
                request.url.startswith((f"{address}/", "data:")) or foreign.append(request.url)
            ),
        )

        def note(text):
            # A browser asks for an icon where a page names none.
            if "favicon.ico" not in text:
                errors.append((tab.url, text))

        tab.on(
            "console",
            lambda message: (
                note(f"{message.text} {message.location['url']}")
                if message.type in ("error", "warning")
                else None
            ),
        )
        tab.on("pageerror", lambda error: note(str(error)))

        def visit(name):
            tab.goto(f"{address}/{name}")
            return tab

        visit.errors, visit.foreign = errors, foreign
        yield visit
        cookies = context.cookies()
        context.close()
    assert foreign == []
    assert errors == []
    assert cookies == []


class TestUnderThePolicy:
    """What readers do with the pages works where the host sends the policy too."""

    def test_predicting_and_choosing_colours(self, visit):
        tab = visit(LESSON)
        prediction = tab.locator(".prediction").first
        prediction.locator("input").fill("28")
        prediction.get_by_role("button", name="Check").click()
        assert "Right." in prediction.inner_text()
        before = tab.evaluate("document.body.dataset.theme")
        tab.locator(".theme-toggle:visible").first.click()
        chosen = tab.evaluate("document.body.dataset.theme")
        assert chosen != before
        assert visit("glossary.html").evaluate("document.body.dataset.theme") == chosen

    def test_stepping_searching_and_filtering(self, visit):
        tab = visit(STEPS)
        figure = tab.locator("figure.with-steps").first
        figure.get_by_role("button", name="Next step").click()
        assert "Step 2" in figure.inner_text()
        tab = visit("search.html?q=retain_grad")
        tab.wait_for_selector("#search-results .search-excerpt mark")
        tab = visit("fix.html")
        tab.locator(".problem-finder textarea").fill("element 0 of tensors does not require grad")
        tab.wait_for_selector(".problem-finder li a")
        tab = visit("kinks.html")
        tab.locator(".record-controls input[type=search]").fill("relu")
        assert tab.locator(".kink-table tbody tr:visible").count() > 0

    def test_a_script_that_a_page_does_not_name_is_refused(self, visit):
        tab = visit(LESSON)
        tab.evaluate("window.ran = false")
        refused = tab.evaluate(
            """() => new Promise((resolve) => {
              document.addEventListener("securitypolicyviolation", (event) => resolve(event.blockedURI));
              const image = new Image();
              image.src = "https://example.org/tracker.png";
              setTimeout(() => resolve("nothing"), 2000);
            })"""
        )
        assert refused == "https://example.org/tracker.png"
        # Each of the two policies, the page's and the host's, says so.
        assert ["tracker.png" in text for _, text in visit.errors] == [True, True]
        assert visit.foreign == [refused]
        visit.errors.clear()
        visit.foreign.clear()
