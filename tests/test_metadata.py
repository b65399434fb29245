"""What a site with an address of its own says to other programs: cards, data, feed, robots."""

import json
import re
from xml.etree import ElementTree

import pytest
import social_card
import tiny
from change_feed import ATOM, entries, feed
from PIL import Image
from site_metadata import crumbs, data_block, kind_of, open_graph

BASE = "https://example.org/docs/"
CHANGELOG = """# Changelog

## Unreleased

- Not yet.

## More & better (2026-12-02)

- Adds `x < y`.

## The start (2026-12-01)

- First.
"""
CONF = f"""
project = "A tiny site"
author = "Somebody"
extensions = ["page_description", "social_card", "site_metadata", "change_feed"]
html_theme = "furo"
smartquotes = False
html_baseurl = "{BASE}"
change_feed_changelog = "CHANGELOG.md"
nitpicky = True
exclude_patterns = ["CHANGELOG.md"]
"""
PAGES = {
    "index": "Home\n====\n\nThe first paragraph.\n\n.. toctree::\n\n   changelog\n   first_gradient\n",
    "changelog": "Changes\n=======\n\nWhat changed.\n",
    "first_gradient": 'A "title" & more\n================\n\nThis page explains one thing well.\n',
}


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosted")
    (folder / "CHANGELOG.md").write_text(CHANGELOG)
    status, output = tiny.build(folder, CONF, **PAGES)
    assert status == 0, output
    return folder


def tags(soup) -> dict[str, str]:
    return {tag["property"]: tag["content"] for tag in soup.select("meta[property^=og]")}


class TestPage:
    def test_has_open_graph_tags(self, hosted):
        found = tags(tiny.soup(hosted, "first_gradient"))
        assert found["og:title"] == 'A "title" & more'
        assert found["og:description"] == "This page explains one thing well."
        assert found["og:url"] == f"{BASE}first_gradient.html"
        assert found["og:site_name"] == "A tiny site"

    def test_has_a_card_of_the_stated_size(self, hosted):
        found = tags(tiny.soup(hosted, "first_gradient"))
        path = hosted / "html" / found["og:image"].removeprefix(BASE)
        with Image.open(path) as card:
            assert card.size == (int(found["og:image:width"]), int(found["og:image:height"]))
            colours = len(card.convert("RGB").getcolors(2**20))
        assert colours > 4
        assert path.stat().st_size < 40_000
        assert found["og:image:alt"].startswith('A "title" & more. This page')

    def test_has_the_way_to_it_as_data(self, hosted):
        text = (
            tiny.soup(hosted, "first_gradient").select_one('[type="application/ld+json"]').string
        )
        (way,) = json.loads(text)["@graph"]
        assert [step["item"] for step in way["itemListElement"]] == [
            BASE,
            f"{BASE}first_gradient.html",
        ]

    def test_the_start_page_has_the_address_of_the_site(self, hosted):
        soup = tiny.soup(hosted)
        assert soup.select_one("link[rel=canonical]")["href"] == BASE
        assert tags(soup)["og:url"] == BASE
        canonical = tiny.soup(hosted, "changelog").select_one("link[rel=canonical]")["href"]
        assert canonical == f"{BASE}changelog.html"

    def test_names_the_feed(self, hosted):
        link = tiny.soup(hosted).select_one("link[rel=alternate][type='application/atom+xml']")
        assert link["href"] == f"{BASE}changes.xml"
        assert (hosted / "html" / "changes.xml").exists()
        assert tiny.soup(hosted, "changelog").select_one("article a[href='changes.xml']")

    def test_robots_find_the_sitemap(self, hosted):
        text = (hosted / "html" / "robots.txt").read_text()
        assert f"Sitemap: {BASE}sitemap.xml" in text


def test_without_an_address_there_is_none_of_it(site):
    assert not (site / "robots.txt").exists()
    assert not (site / "changes.xml").exists()
    assert not (site / "_images" / "cards").exists()
    for name in ("index.html", "changelog.html"):
        text = (site / name).read_text(encoding="utf-8")
        assert not re.search(r'og:|ld\+json|atom\+xml|rel="canonical"', text)


class TestData:
    def test_a_title_cannot_end_the_block(self):
        block = data_block(crumbs([], ("</script><b>", BASE)))
        assert block.count("<") == 2
        assert json.loads(block.partition(">")[2].rpartition("</script>")[0])

    def test_values_are_escaped_and_empty_ones_left_out(self):
        assert open_graph({"og:title": '"<&', "og:image": ""}) == (
            '<meta property="og:title" content="&quot;&lt;&amp;">\n'
        )

    @pytest.mark.parametrize(
        ("docname", "kind"),
        [
            ("lessons/kinks/ties", "lesson"),
            ("lessons/problems/backward_twice", "problem"),
            ("lessons/kinks/index", "page"),
            ("kinks", "page"),
        ],
    )
    def test_knows_lessons_and_problems(self, docname, kind):
        assert kind_of(docname) == kind


class TestCard:
    def test_long_words_are_cut_and_the_rest_fits(self):
        title = "Explain why a gradient of a very long and complicated expression is None " * 3
        used = social_card.font(60, bold=True)
        broken = social_card.lines(title, used, 3)
        assert len(broken) == 3
        assert broken[-1].endswith(" …")

    def test_is_the_same_each_time(self):
        cards = [social_card.draw("Title", "Text.", "Site", "Lesson").tobytes() for _ in range(2)]
        assert cards[0] == cards[1]


class TestFeed:
    def test_has_an_entry_for_each_dated_section(self):
        root = ElementTree.fromstring(feed(entries(CHANGELOG), "Site", "Somebody", BASE))
        name = f"{{{ATOM}}}"
        assert root.findtext(f"{name}updated") == "2026-12-02T00:00:00Z"
        found = root.findall(f"{name}entry")
        assert [entry.findtext(f"{name}title") for entry in found] == [
            "More & better",
            "The start",
        ]
        assert "<code>x &lt; y</code>" in found[0].findtext(f"{name}content")
        assert found[0].findtext(f"{name}id") == f"{BASE}changelog.html#more-better-2026-12-02"

    def test_its_entries_stand_on_the_page(self, site):
        text = (site.parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")
        page = (site / "changelog.html").read_text(encoding="utf-8")
        found = entries(text)
        assert found
        for entry in found:
            assert f'id="{entry.anchor}"' in page

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("## A (2026-12-01)\n\n## B (2026-12-02)\n", "newest first"),
            ("## A (2026-13-01)\n", "month"),
        ],
    )
    def test_a_wrong_date_is_an_error(self, text, said):
        with pytest.raises(ValueError, match=said):
            entries(text)
