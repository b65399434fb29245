"""Keep what is on a page in its place while the page loads.

A picture without a size takes no room until its file has come, and then pushes aside what the
reader is reading. Each picture of the site gets its width and height; a browser works out the
room from them, however wide the page is. Pictures after the first wait until they are near.

``has-js.js`` says before the first paint that scripts run: what they show later can have its
place from the start. And a browser shows what it has read so far, half a header or half a figure
too. ``steady_pages_whole`` names for a page, or for all others with "*", the id of an element
that is to be complete before anything is shown, by browsers that know how.
"""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import imagesize

IMAGE = re.compile(r"<img\b[^>]*?(?= ?/?>)")
SOURCE = re.compile(r'\ssrc="([^"]*)"')


def with_sizes(page: str, folder: Path) -> str:
    """A page in ``folder`` whose pictures of the site have a size."""
    seen = 0

    def sized(image: re.Match) -> str:
        nonlocal seen
        seen += 1
        tag, source = image[0], SOURCE.search(image[0])
        if seen > 1 and " loading=" not in tag:
            tag += ' loading="lazy"'
        if source and " width=" not in tag and " height=" not in tag:
            width, height = _size(folder, unescape(source[1]))
            if width > 0 and height > 0:
                tag += f' width="{round(width)}" height="{round(height)}"'
        return tag

    return IMAGE.sub(sized, page)


def _size(folder: Path, source: str) -> tuple[float, float]:
    """The pixels of a picture; (-1, -1) where it is not a file of the site."""
    address = urlsplit(source)
    file = folder / unquote(address.path)
    if address.scheme or address.netloc or not file.is_file():
        return -1, -1
    return imagesize.get(file)


def shown_whole(page: str, name: str) -> str:
    """A page that is first shown when the element with this id has been read."""
    link = f'<link rel="expect" href="#{name}" blocking="render">'
    if link in page or f'id="{name}"' not in page:
        return page
    # Before the stylesheets: what stands behind them is read when they have come, which is late.
    return re.sub(r"(?=<link\b|</head>)", link, page, count=1)


def _on_finished(app, exception) -> None:
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    out, whole = Path(app.outdir), app.config.steady_pages_whole
    for path in sorted(out.rglob("*.html")):
        if "_static" not in path.parts:
            page = path.read_text(encoding="utf-8")
            written = with_sizes(page, path.parent)
            name = path.relative_to(out).as_posix()
            if element := whole.get(name, whole.get("*")):
                written = shown_whole(written, element)
            if written != page:
                path.write_text(written, encoding="utf-8")


def setup(app):
    app.add_config_value("steady_pages_whole", {}, "html", dict)
    app.add_js_file("has-js.js")
    app.connect("build-finished", _on_finished, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
