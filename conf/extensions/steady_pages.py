"""Keep what is on a page in its place while the page loads.

A picture without a size takes no room until its file has come, and then pushes aside what the
reader is reading. Each picture of the site gets its width and height; a browser works out the
room from them, however wide the page is. Pictures after the first wait until they are near.

``steady.css`` holds the places of things that scripts show later.
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


def _on_finished(app, exception) -> None:
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    for path in sorted(Path(app.outdir).rglob("*.html")):
        if "_static" not in path.parts:
            page = path.read_text(encoding="utf-8")
            written = with_sizes(page, path.parent)
            if written != page:
                path.write_text(written, encoding="utf-8")


def setup(app):
    app.add_css_file("steady.css")
    app.connect("build-finished", _on_finished, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
