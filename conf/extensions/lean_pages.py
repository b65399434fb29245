"""Let each page load only the stylesheets and scripts that it uses, in few requests.

Sphinx, the theme and extensions each add their files to every page. When all pages are written,
this module goes over them:

- A file of ``lean_pages_needs`` is dropped from a page without an element that it is for.
- Neighbours are joined into one file: those that every page loads, which a browser then has in
  its cache, and those that only some load. Order and attributes stay as they were.
- A script of ``lean_pages_early`` has to run before the first paint: it moves to the end of the
  head. There the browser waits for it and for the stylesheets, then shows the page as it reads
  on; before the stylesheets, it would read and lay out the whole page first.
- What no page loads any more is removed from ``_static``.

It works on the finished HTML, and so with any theme and any other extension. A page that Sphinx
did not write again is looked at again all the same: a joined file says in its first line what it
is made of, so an edited stylesheet reaches all pages.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

TAG = re.compile(
    r'<link\b(?=[^>]*\brel="stylesheet")(?P<css>[^>]*?) ?/?>'
    r"|<script\b(?P<js>[^>]*\bsrc=[^>]*)></script>"
)
ADDRESS = re.compile(r'\s*\b(?:href|src)="(?P<base>[^"]*?)_static/(?P<name>[^"?]+)[^"]*"')
JOINED = re.compile(r"/\* joined: (.*) \*/\n")
CSS_URL = re.compile(r"""url\((["']?)(?!data:|#|/|\w+:)([^"')]+)\1\)""")
# At the start of a script it holds for the whole file, and so for whatever is joined after it.
STRICT = re.compile(r"""(?:\s|//.*\n|/\*[\s\S]*?\*/)*["']use strict["']""")
SOURCE_MAP = re.compile(
    r"(?:/\*# sourceMappingURL=.*?\*/|^//# sourceMappingURL=.*$)", re.MULTILINE
)
IN_STATIC = re.compile(r"_static/([^\"'?#\s&<]+)")
# A larger file gains nothing by being joined, and would be stored once for each neighbour.
LARGE = 100_000
# What may be removed where nothing names it: not a licence, for instance.
REMOVABLE = {".css", ".js", ".map", ".png", ".svg", ".gif"}


@dataclass(frozen=True)
class Asset:
    """A stylesheet or script that a page loads. ``name`` is None where it is none of ours."""

    start: int
    end: int
    attributes: str
    base: str
    name: str | None


def assets(page: str) -> list[Asset]:
    """The stylesheets and scripts of a page, in order."""
    found = []
    for tag in TAG.finditer(page):
        text = tag["css"] if tag["css"] is not None else tag["js"]
        address = ADDRESS.search(text)
        attributes = ADDRESS.sub("", text).strip() if address else text
        base, name = (address["base"], address["name"]) if address else ("", None)
        found.append(Asset(tag.start(), tag.end(), attributes, base, name))
    return found


def needed(page: str, name: str, needs: Mapping[str, Iterable[str]]) -> bool:
    """Whether a page has a class that begins as the file's entry in ``needs`` says.

    Where the entry is empty, no page needs the file.
    """
    for pattern, beginnings in needs.items():
        if fnmatchcase(name, pattern):
            if not beginnings:
                return False
            words = "|".join(map(re.escape, beginnings))
            return re.search(rf'\bclass="(?:[^"]*\s)?(?:{words})', page) is not None
    return True


class Static:
    """The folder ``_static``, and the files in it that are joined ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}

    def text(self, name: str) -> str:
        if name not in self.texts:
            self.texts[name] = (self.folder / name).read_text(encoding="utf-8")
        return self.texts[name]

    def parts(self, name: str) -> list[str]:
        """What a file is joined of; itself where it is not."""
        if not posixpath.basename(name).startswith("joined-"):
            return [name]
        return JOINED.match(self.text(name))[1].split()

    def can_be_joined(self, name: str) -> bool:
        """A stylesheet with an @import must stand alone: browsers heed one at the start only."""
        return not (self.folder / name).exists() or (
            (self.folder / name).stat().st_size < LARGE and "@import" not in self.text(name)
        )

    def is_strict(self, name: str) -> bool:
        """Whether a script says that it is in strict mode: it is joined only with such ones."""
        return name.endswith(".js") and STRICT.match(self.text(name)) is not None

    def join(self, names: list[str]) -> str:
        """Write one file with the text of several; its name, which depends on theirs only."""
        if len(names) == 1:
            return names[0]
        suffix = Path(names[0]).suffix
        digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
        name = f"joined-{digest}{suffix}"
        # A build that wrote no page brings no files back that an earlier one removed.
        if all((self.folder / part).exists() for part in names):
            text = f"/* joined: {' '.join(names)} */\n"
            text += "".join(f"{self._moved(part)}\n" for part in names)
            if name not in self.texts or self.texts[name] != text:
                (self.folder / name).write_text(text, encoding="utf-8")
                self.texts[name] = text
        return name

    def _moved(self, name: str) -> str:
        """A file's text as it reads from the folder itself."""
        text = SOURCE_MAP.sub("", self.text(name)).strip()
        if name.endswith(".js"):
            return text + "\n;"
        folder = posixpath.dirname(name)
        return CSS_URL.sub(
            lambda url: f'url("{posixpath.normpath(posixpath.join(folder, url[2]))}")', text
        )

    def version(self, name: str) -> str:
        """Changes with the text of a file, so that no browser shows a page with an old one."""
        return hashlib.sha256(self.text(name).encode()).hexdigest()[:8]


def lean(
    pages: Mapping[Path, str],
    static: Static,
    needs: Mapping[str, Iterable[str]],
    early: Iterable[str] = (),
) -> dict[Path, str]:
    """The pages with fewer and joined files, which are written to ``static``."""
    early = set(early)
    tags = {path: assets(page) for path, page in pages.items()}
    loaded = {
        path: [
            replace(asset, name=part)
            for asset in found
            for part in (static.parts(asset.name) if asset.name else [None])
            if part is None or needed(pages[path], part, needs)
        ]
        for path, found in tags.items()
    }
    names = [{asset.name for asset in found if asset.name} for found in loaded.values()]
    everywhere = set.intersection(*names) if names else set()
    # Files that every page loads are joined where no page has another one between them: the
    # joined file then is the same on all pages.
    pairs = [{(a.name, b.name) for a, b in pairwise(found)} for found in loaded.values()]
    apart = set.union(*pairs, set()) - set.intersection(*pairs) if pairs else set()

    def together(page: str, one: Asset, other: Asset) -> bool:
        return (
            _neighbours(page, one, other)
            and (one.name in everywhere) == (other.name in everywhere)
            and (one.name not in everywhere or (one.name, other.name) not in apart)
            and static.can_be_joined(one.name)
            and static.can_be_joined(other.name)
            and static.is_strict(one.name) == static.is_strict(other.name)
        )

    def write(page: str, chosen: list[Asset]) -> Iterator[tuple[int, str]]:
        """The tags in place of the chosen ones, and where they stand."""
        group: list[Asset] = []
        for asset in chosen:
            if group and not together(page, group[-1], asset):
                yield group[0].start, _tag(group, static)
                group = []
            group.append(asset)
        if group:
            yield group[0].start, _tag(group, static)

    done = {}
    for path, page in pages.items():
        placed: dict[int, str] = {}
        # Two tags may stand for one file that an earlier build had joined.
        for start, tag in write(
            page, [asset for asset in loaded[path] if asset.name not in early]
        ):
            placed[start] = placed.get(start, "") + tag
        first = write(page, [asset for asset in loaded[path] if asset.name in early])
        done[path] = _replace(page, tags[path], placed, "".join(tag for _, tag in first))
    return done


def _replace(page: str, tags: list[Asset], placed: Mapping[int, str], first: str) -> str:
    pieces, position = [], 0
    for asset in tags:
        if asset.name:
            pieces += [page[position : asset.start].rstrip(" \n"), placed.get(asset.start, "")]
            position = asset.end
    return "".join([*pieces, page[position:]]).replace("</head>", first + "</head>", 1)


def _neighbours(page: str, one: Asset, other: Asset) -> bool:
    if one.name is None or other.name is None:
        return False
    same = (one.attributes, one.base) == (other.attributes, other.base)
    kind = Path(one.name).suffix == Path(other.name).suffix
    between = TAG.sub("", page[one.end : other.start])
    return same and kind and not between.strip()


def _tag(group: list[Asset], static: Static) -> str:
    if group[0].name is None:
        return ""
    name = static.join([asset.name for asset in group])
    address = f"{group[0].base}_static/{name}?v={static.version(name)}"
    attributes = f" {group[0].attributes}" if group[0].attributes else ""
    if name.endswith(".css"):
        return f'<link{attributes} href="{address}" />'
    return f'<script{attributes} src="{address}"></script>'


def unused(static: Path, pages: Iterable[str]) -> list[Path]:
    """Files of ``_static`` that neither a page names, nor a stylesheet or script in use."""
    left = {path.name: path for path in sorted(static.rglob("*")) if path.is_file()}
    # As an address or a string, not in a comment.
    word = re.compile(rf"""["'(/]({"|".join(map(re.escape, left))})\b""")
    names = {posixpath.basename(name) for page in pages for name in IN_STATIC.findall(page)}
    while names:
        path = left.pop(names.pop(), None)
        if path is not None and path.suffix in {".css", ".js", ".svg"}:
            text = SOURCE_MAP.sub("", JOINED.sub("", path.read_text(encoding="utf-8")))
            names.update(word.findall(text))
    return [path for path in left.values() if path.suffix in REMOVABLE]


def _on_finished(app, exception) -> None:
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    out = Path(app.outdir)
    paths = [path for path in sorted(out.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    static = Static(out / "_static")
    done = lean(pages, static, app.config.lean_pages_needs, app.config.lean_pages_early)
    for path, text in done.items():
        if text != pages[path]:
            path.write_text(text, encoding="utf-8")
    for path in unused(static.folder, done.values()):
        path.unlink()


def setup(app):
    app.add_config_value("lean_pages_needs", {}, "html", dict)
    app.add_config_value("lean_pages_early", [], "html", list)
    # After the theme, which writes a stylesheet when the build ends.
    app.connect("build-finished", _on_finished, priority=700)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
