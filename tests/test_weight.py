"""What a page weighs: only what it uses, in few requests, and nothing that moves."""

import gzip
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lean_pages import Static, lean, unused
from pages import all_pages, page
from reading_order import SECTIONS
from serving import headers, serve
from steady_pages import shown_whole, with_sizes

FIRST = '<link rel="stylesheet" type="text/css" href="../_static/first.css?v=1" />'
DEEP = '<link rel="stylesheet" type="text/css" href="../_static/styles/deep.css?v=1" />'
SOME = '<link rel="stylesheet" type="text/css" href="../_static/some.css?v=1" />'
SCRIPT = '<script src="../_static/a.js?v=1"></script>\n'
LATER = '<script defer="defer" src="../_static/b.js"></script>'


def written(*tags, body="", scripts=()):
    return "<head>" + "\n".join(tags) + f"</head><body>{body}{''.join(scripts)}</body>"


class TestLeanPages:
    @pytest.fixture
    def static(self, tmp_path):
        (tmp_path / "styles").mkdir()
        for name, text in {
            "first.css": "a {}\n",
            "styles/deep.css": "b { src: url(x.woff2) url('data:,') }\n/*# sourceMappingURL=d */",
            "some.css": "c {}\n",
            "a.js": "a()\n",
            "b.js": "b()",
            "strict.js": "// A comment\n'use strict';\nc()",
            "left.png": "",
            "licence.txt": "",
        }.items():
            (tmp_path / name).write_text(text)
        return tmp_path

    def lean(self, static, *pages, **options):
        named = {Path(str(number)): text for number, text in enumerate(pages)}
        return list(lean(named, Static(static), **{"needs": {}, **options}).values())

    def test_joins_neighbours_in_order(self, static):
        (text,) = self.lean(static, written(FIRST, DEEP))
        name = re.search(r'href="\.\./_static/(joined-\w+\.css)\?v=\w+"', text)[1]
        joined = (static / name).read_text()
        assert joined.startswith("/* joined: first.css styles/deep.css */\na {}\nb {")
        assert "url(\"styles/x.woff2\") url('data:,')" in joined
        assert "sourceMappingURL" not in joined
        assert text.count("<link") == 1

    def test_keeps_what_differs_apart(self, static):
        (text,) = self.lean(static, written(scripts=[SCRIPT, LATER]))
        assert re.findall(r'<script( defer="defer")? src="\.\./_static/(\w+)\.js', text) == [
            ("", "a"),
            (' defer="defer"', "b"),
        ]

    def test_a_strict_script_is_not_joined_with_another(self, static):
        """It would make the other one strict too."""
        strict = SCRIPT.replace("a.js", "strict.js")
        (text,) = self.lean(static, written(scripts=[strict, SCRIPT]))
        assert re.findall(r"_static/(\w+)\.js", text) == ["strict", "a"]

    def test_a_file_of_all_pages_is_the_same_on_all(self, static):
        """So that the browser has it for the next page."""
        both = self.lean(static, written(FIRST, SOME, DEEP), written(FIRST, DEEP))
        links = [re.findall(r"_static/([^?]*)", text) for text in both]
        assert links == [
            ["first.css", "some.css", "styles/deep.css"],
            ["first.css", "styles/deep.css"],
        ]

    def test_drops_what_a_page_does_not_use(self, static):
        needs = {"so*.css": ["thing-"], "fi*.css": []}
        used = written(FIRST, SOME, body='<p class="x thing-one">')
        not_used = written(FIRST, SOME, body='<p class="something-else">thing-one</p>')
        assert "some.css" in self.lean(static, used, not_used, needs=needs)[0]
        assert "some.css" not in self.lean(static, used, not_used, needs=needs)[1]
        assert "first.css" not in self.lean(static, used, not_used, needs=needs)[0]

    def test_an_early_script_stands_in_the_head(self, static):
        (text,) = self.lean(static, written(FIRST, scripts=[SCRIPT]), early=["a.js"])
        assert text.index("first.css") < text.index("a.js") < text.index("</head>")
        assert text.count("a.js") == 1

    def test_again_changes_nothing_but_what_changed(self, static):
        options = {"early": ["a.js"], "needs": {"some.css": ["x"]}}
        pages = written(FIRST, DEEP, SOME, body='<p class="x">', scripts=[SCRIPT, LATER])
        first = self.lean(static, pages, **options)
        assert self.lean(static, *first, **options) == first
        (static / "first.css").write_text("changed {}")
        again = self.lean(static, *first, **options)
        assert again != first
        assert re.sub(r"\?v=\w+", "", again[0]) == re.sub(r"\?v=\w+", "", first[0])
        assert any("changed {}" in file.read_text() for file in static.glob("joined-*.css"))

    def test_removes_what_nothing_names(self, static):
        (static / "a.js").write_text('load("b.js") // not left.png')
        gone = unused(static, ['<script src="_static/a.js?v=1">'])
        assert {path.name for path in gone} == {
            *("first.css", "deep.css", "some.css"),
            *("left.png", "strict.js"),
        }


class TestSteadyPages:
    def test_pictures_get_their_size(self, tmp_path):
        svg = '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"></svg>'
        (tmp_path / "a b.svg").write_text(svg)
        page = '<img src="a%20b.svg" /><img src="gone.png"><img src="a%20b.svg" width="3">'
        assert with_sizes(page, tmp_path) == (
            '<img src="a%20b.svg" width="30" height="20" />'
            '<img src="gone.png" loading="lazy"><img src="a%20b.svg" width="3" loading="lazy">'
        )

    def test_a_page_can_wait_for_an_element_once(self):
        page = '<head><link rel="stylesheet"></head><p id="main">'
        text = shown_whole(page, "main")
        assert text.startswith('<head><link rel="expect" href="#main" blocking="render"><link')
        assert shown_whole(text, "main") == text
        assert shown_whole(page, "other") == page


def loaded(path: Path) -> list[Path]:
    """The files that a browser asks for to show a page, without the maths font."""
    tags = page(path).select('link[rel="stylesheet"], link[rel~="icon"], script[src], img[src]')
    addresses = [urlsplit(tag.get("href") or tag["src"]).path for tag in tags]
    return [path, *((path.parent / unquote(address)).resolve() for address in addresses)]


@pytest.fixture(scope="module")
def lessons(site) -> list[Path]:
    return [
        site / "lessons" / section / f"{lesson}.html"
        for section, names in SECTIONS.items()
        for lesson in names
    ]


class TestEveryLesson:
    def test_weighs_at_most_60_kb(self, lessons):
        heavy, sizes = {}, {}
        for path in lessons:
            for file in loaded(path):
                if file not in sizes:
                    sizes[file] = len(gzip.compress(file.read_bytes(), 9))
            weight = sum(sizes[file] for file in set(loaded(path)))
            if weight > 60_000:
                heavy[path.name] = weight
        assert not heavy

    def test_takes_at_most_12_requests(self, lessons):
        for path in lessons:
            formula = page(path).select_one("math") is not None
            assert len(set(loaded(path))) + formula <= 12, path

    def test_loads_what_it_uses_and_nothing_else(self, site):
        """Of each kind one page that needs it and one that does not."""
        uses = {
            "sg_gallery.css": (None, "lessons/first_gradients/first_gradient.html"),
            "mystnb.*": ("questions.html", "lessons/first_gradients/first_gradient.html"),
            "graph-figure.css": ("index.html", "kinks.html"),
            "prediction.css": ("lessons/first_gradients/first_gradient.html", "index.html"),
            "sg_gallery-dataframe.css": (None, "lessons/first_gradients/first_gradient.html"),
        }
        for file, (with_it, without) in uses.items():
            for name in filter(None, (with_it, without)):
                parts = " ".join(
                    f"{path.name} {path.read_text(encoding='utf-8').partition('*/')[0]}"
                    for path in loaded(site / name)
                    if path.suffix == ".css"
                )
                found = re.search(rf"\b{file}( |$)", parts) is not None
                assert found == (name == with_it), (file, name)


def test_no_file_is_there_that_no_page_loads(site):
    """And none is missing that one does."""
    pages = [path.read_text(encoding="utf-8") for path in all_pages(site)]
    assert unused(site / "_static", pages) == []
    for path in all_pages(site):
        if path.name != "404.html":
            assert all(file.is_file() for file in loaded(path)), path


SHIFT = """
window.shift = 0;
new PerformanceObserver((list) => list.getEntries().forEach((entry) => (shift += entry.value)))
  .observe({ type: "layout-shift", buffered: true });
"""


def test_nothing_moves_while_a_page_loads(browser, site):
    """On a phone and a wide window, with a slow processor; a thousandth is less than an eye sees."""
    with serve(site, **headers(site)) as address:
        for width in (1280, 360):
            context = browser.new_context(viewport={"width": width, "height": 800})
            tab = context.new_page()
            tab.add_init_script(SHIFT)
            context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": 4})
            for name in (
                "index",
                "lessons/first_gradients/first_gradient",
                "lessons/kinks/slopes_from_both_sides",
                "fix",
                "kinks",
            ):
                # On a busy machine a page can be shown before it is read; not each time.
                shifts = []
                while len(shifts) < 3 and (not shifts or shifts[-1] >= 0.001):
                    tab.goto(f"{address}/{name}.html")
                    tab.wait_for_timeout(300)
                    shifts.append(tab.evaluate("shift"))
                assert min(shifts) < 0.001, (name, width, shifts)
            context.close()
