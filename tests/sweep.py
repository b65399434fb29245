"""Visit pages of the built site as readers with different windows, themes and needs.

``python tests/sweep.py _build/html`` visits all of them, with all of axe-core, and prints a
report; ``--firefox`` visits them in Debian's Firefox too. The tests use the same visits, without
axe-core's contrast rule: it takes five times as long as all else, and `page_checks.js` looks at
contrast as well.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pages import all_pages, violations
from serving import headers, serve

CHECKS = Path(__file__).with_name("page_checks.js").read_text(encoding="utf-8")
# The theme, the window's size, the size of the browser's text, and what to look for.
EVERYTHING = ["headings", "language", "images", "links", "sideways", "targets", "contrast"]
LOOKS = [
    ("light", 1440, 16, [*EVERYTHING, "focus"]),
    ("light", 640, 16, ["sideways"]),
    ("light", 640, 32, ["sideways"]),
    ("dark", 320, 16, ["sideways"]),
    ("dark", 360, 16, ["headings", "sideways", "targets", "contrast", "focus"]),
]
# The tests visit every page like this; it sees most, and the window's size is set only once.
NARROW = [("dark", 320, 16, EVERYTHING)]
AXE_LOOKS = {("light", 1440), ("dark", 360)}
Problem = tuple[str, str, str]


class Chromium:
    """One tab of Chromium that can change its theme, its window and its text size."""

    def __init__(self, browser):
        self.context = browser.new_context()
        self.tab = self.context.new_page()
        self.developer = self.context.new_cdp_session(self.tab)
        self.dressed = None
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.tab.on("console", self._note_message)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", self._note_request)

    def _note_message(self, message) -> None:
        # A browser asks a server for this name by itself.
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            self.errors.append(message.text)

    def _note_request(self, request) -> None:
        if not request.url.startswith(("file:", "data:", "http://127.0.0.1:")):
            self.foreign.append(request.url)

    def dress(self, theme: str, width: int, text: int) -> None:
        if self.dressed == (theme, width, text):
            return
        self.dressed = (theme, width, text)
        self.tab.emulate_media(color_scheme=theme)
        self.tab.set_viewport_size({"width": width, "height": 740})
        self.developer.send("Page.setFontSizes", {"fontSizes": {"standard": text}})

    def open(self, address: str) -> None:
        self.tab.goto(address)
        self.tab.evaluate(CHECKS)
        # A browser shows the focus once it has seen the keyboard.
        self.tab.keyboard.press("Tab")

    def check(self, name: str) -> list[str]:
        return self.tab.evaluate(f"PageChecks.{name}()")

    def axe(self) -> list[tuple[str, str]]:
        return violations(self.tab)

    def close(self) -> None:
        self.context.close()


def visit(window, address: str, looks=LOOKS, *, axe: bool = False) -> Iterator[Problem]:
    """Open a page once and look at it in every way; yields the look, the check and the finding."""
    opened = False
    for theme, width, text, checks in looks:
        window.dress(theme, width, text)
        if not opened:
            window.open(address)
            opened = True
        look = f"{theme} {width}" + (" doubled text" if text > 16 else "")
        for check in checks:
            yield from ((look, check, finding) for finding in window.check(check))
        if axe and text == 16 and (theme, width) in AXE_LOOKS:
            yield from ((look, rule, element) for rule, element in window.axe())
    for kind, noted in (("console error", window.errors), ("foreign request", window.foreign)):
        yield from (("any", kind, text) for text in noted)
        noted.clear()


def sweep(site: Path, window, looks=LOOKS, *, axe: bool = False) -> dict[str, list[Problem]]:
    """Visit all pages; returns what was found on each."""
    with serve(site, **headers(site)) as server:
        found = {}
        for path in all_pages(site):
            name = path.relative_to(site).as_posix()
            found[name] = list(visit(window, f"{server}/{name}", looks, axe=axe))
            if axe:
                print(f"{len(found)} {name}: {len(found[name])} problems", flush=True)
    return found


def report(program: str, found: dict[str, list[Problem]]) -> str:
    """A table for one browser, and each finding under it."""
    count = Counter(check for problems in found.values() for _, check, _ in problems)
    errors, foreign = count.pop("console error", 0), count.pop("foreign request", 0)
    rows = {
        "browser": program,
        "pages": len(found),
        "windows": ", ".join(f"{width} px" for width in sorted({look[1] for look in LOOKS})),
        "themes": "light, dark",
        "violations": sum(count.values()),
        "foreign requests": foreign,
        "console errors": errors,
    }
    lines = [f"{key:>16}  {value}" for key, value in rows.items()]
    for name, problems in found.items():
        lines += [f"{name} ({look}) {check}: {finding}" for look, check, finding in problems]
    return "\n".join(lines)


def main() -> int:
    from conftest import BROWSER_OPTIONS, find_chromium
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--firefox", action="store_true", help="visit all pages in Firefox too")
    options = parser.parse_args()
    site = options.site.resolve()
    results = {}
    with sync_playwright() as playwright:
        launch = {"executable_path": find_chromium(), "args": BROWSER_OPTIONS}
        browser = playwright.chromium.launch(**launch)
        results[f"Chromium {browser.version}"] = sweep(site, Chromium(browser), axe=True)
        browser.close()
    if options.firefox:
        from firefox import firefox

        with firefox() as window:
            results[f"Firefox {window.version}"] = sweep(site, window, axe=True)
    for program, found in results.items():
        print(f"\n{report(program, found)}")
    return int(any(problems for found in results.values() for problems in found.values()))


if __name__ == "__main__":
    sys.exit(main())
