"""Let a browser refuse whatever a page is not made of: a strict Content-Security-Policy.

Scripts, styles, pictures and fonts come from the site itself, and nothing else is loaded or run.
What a page holds inline is allowed by its hash, one by one; the theme has a style element on each
page. The hashes are taken from the pages as they were written, so no list is
kept by hand.

Each page names its own policy in a ``<meta>`` element: that works on hosts that cannot be told to
send headers, such as GitHub Pages and Read the Docs, and from a file:// address. The file
``_headers`` tells hosts that read it (Netlify, Cloudflare Pages) to send the policy of all pages
as a header, and with it what a ``<meta>`` element cannot say.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)

META = re.compile(r'\n<meta http-equiv="Content-Security-Policy" content="[^"]*">')
CHARSET = re.compile(r'<meta charset="[^"]*" ?/?>')
SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)
# Two searches for a fixed text are much faster than one for any white space.
STYLE_ATTRIBUTES = re.compile(r' style="([^"]*)"'), re.compile(r'\nstyle="([^"]*)"')
HANDLER = re.compile(r' (on[a-z]+)="')
# A block of data, such as application/ld+json, is not run, and needs no leave.
DATA_TYPE = re.compile(r'\btype="(?!module|text/javascript)[^"]*"')

HEADERS = """\
/*
  Content-Security-Policy: {policy}; frame-ancestors 'none'
  Referrer-Policy: no-referrer
  X-Content-Type-Options: nosniff
"""


def digest(text: str) -> str:
    """The source expression that allows one inline text."""
    hashed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{hashed}'"


def inline_scripts(page: str) -> set[str]:
    """The scripts that a page holds itself."""
    return {
        script["text"]
        for script in SCRIPT.finditer(page)
        if not re.search(r"\bsrc=", script["attributes"])
        and not DATA_TYPE.search(script["attributes"])
    }


def inline_styles(page: str) -> set[str]:
    """The style elements and style attributes that a page holds."""
    attributes = {value for pattern in STYLE_ATTRIBUTES for value in pattern.findall(page)}
    return set(STYLE.findall(page)) | set(map(unescape, attributes))


def policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """The policy for pages with these inline scripts and styles and no others."""
    script_hashes = sorted(map(digest, scripts))
    style_hashes = sorted(map(digest, styles))
    directives = {
        # Firefox fetches the next page ahead, and asks this rule; what is not needed is refused below.
        "default-src": ["'self'"],
        "connect-src": ["'none'"],
        "frame-src": ["'none'"],
        "object-src": ["'none'"],
        "script-src": ["'self'", *script_hashes],
        # For a style attribute a hash counts only with this keyword; it allows nothing by itself.
        "style-src": ["'self'", *(["'unsafe-hashes'", *style_hashes] if style_hashes else [])],
        # The theme's stylesheet holds its icons as data.
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


def with_policy(page: str, said: str) -> str:
    """A page that names its policy; an earlier one that it names is replaced."""
    meta = f'\n<meta http-equiv="Content-Security-Policy" content="{said}">'
    return CHARSET.sub(lambda charset: charset[0] + meta, META.sub("", page, count=1), count=1)


def _on_finished(app, exception) -> None:
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    if not app.config.strict_csp:
        return
    out = Path(app.outdir)
    all_scripts, all_styles = set(), set()
    for path in sorted(out.rglob("*.html")):
        if "_static" in path.parts:
            continue
        page = path.read_text(encoding="utf-8")
        if handler := HANDLER.search(page):
            logger.warning(
                "%s has the attribute %s, which the page's policy forbids: put it into a script",
                *(path.relative_to(out), handler[1]),
                type="csp",
            )
        scripts, styles = inline_scripts(page), inline_styles(page)
        written = with_policy(page, policy(scripts, styles))
        if written != page:
            path.write_text(written, encoding="utf-8")
        all_scripts |= scripts
        all_styles |= styles
    said = policy(all_scripts, all_styles)
    (out / "_headers").write_text(HEADERS.format(policy=said), encoding="utf-8")


def setup(app):
    app.add_config_value("strict_csp", True, "html", bool)
    # When nothing changes the pages any more.
    app.connect("build-finished", _on_finished, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
