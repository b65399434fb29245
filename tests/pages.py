"""Read built pages as a browser would."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from bs4 import BeautifulSoup

# The width that a page needs and the one it has; Furo scrolls its content, not the window.
WIDTHS = "(e => [e.scrollWidth, e.clientWidth])(document.querySelector('.content'))"


@cache
def axe_source() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(tab, part: str = "html", *, contrast: bool = True) -> list[tuple[str, str]]:
    """What axe-core finds in a part of an open page: the rule and the start of the element.

    Its rule for contrast takes five times as long as all others together.
    """
    if tab.evaluate("typeof axe") == "undefined":
        tab.evaluate(axe_source())
    options = {
        "resultTypes": ["violations"],
        # To fetch the stylesheets once more is refused for files, and logged as an error.
        "preload": False,
        "rules": {"color-contrast": {"enabled": contrast}, "target-size": {"enabled": True}},
    }
    found = tab.evaluate("([part, options]) => axe.run(part, options)", [part, options])
    return [
        (rule["id"], node["html"][:120]) for rule in found["violations"] for node in rule["nodes"]
    ]


@cache
def page(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def all_pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def outputs(path: Path) -> list[str]:
    """The printed outputs of a lesson or of a page with cells."""
    blocks = page(path).select(".sphx-glr-script-out pre, .cell_output pre")
    return [block.get_text() for block in blocks]


@cache
def ids(path: Path) -> frozenset[str]:
    """The anchors of a page."""
    return frozenset(tag["id"] for tag in page(path).select("[id]"))
