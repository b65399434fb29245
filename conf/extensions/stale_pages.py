"""Remove pages whose source is gone, with their pictures and downloads.

sphinx-gallery writes one page a script and never deletes it, nor does Sphinx delete the HTML
of a page that is gone: a renamed lesson would live on under its old address.
"""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

from fresh_images import pictures_of
from sphinx.util import logging

logger = logging.getLogger(__name__)
# As a page links to it, or as another site would.
_FILE = re.compile(r"""[/"](_(?:images|downloads)/[^"'?#\s&<]+)""")
_without_source: set[str] = set()


def remove_generated(generated: Path, examples: Path) -> list[str]:
    """Delete what was generated from scripts and sections that are gone.

    Returns:
        The page names, relative to ``generated``, without suffix.
    """
    removed = []
    for page in sorted(generated.glob("*/*.rst")):
        name = page.relative_to(generated).with_suffix("").as_posix()
        source = examples / f"{name}.py"
        if page.stem in ("index", "sg_execution_times"):
            source = examples / page.parent.name / "GALLERY_HEADER.rst"
        if source.exists():
            continue
        files = [*page.parent.glob(f"{page.stem}.*"), *page.parent.glob(f"{page.stem}_codeobj.*")]
        files += pictures_of(page.stem, page.parent)
        for file in files:
            file.unlink()
        removed.append(name)
    return removed


def _before_the_gallery(app) -> None:
    source = Path(app.srcdir)
    gallery = app.config.sphinx_gallery_conf
    generated = source / gallery["gallery_dirs"]
    removed = remove_generated(generated, source / gallery["examples_dirs"])
    for name in removed:
        logger.info("the lesson %s is gone: its page is removed", name)


def _note_page(app, pagename, templatename, context, doctree) -> None:
    if doctree is None:
        # One without a source, such as the search page: written in every build that writes any.
        _without_source.add(pagename)


def _after_the_build(app, exception) -> None:
    if exception is not None or app.builder.name != "html" or not _without_source:
        return
    output = Path(app.outdir)
    named = set()
    for page in output.rglob("*.html"):
        name = page.relative_to(output).with_suffix("").as_posix()
        # Sphinx's own files are in folders such as _static.
        if name.startswith("_") or name in app.env.found_docs or name in _without_source:
            named.update(_FILE.findall(page.read_text(encoding="utf-8")))
        else:
            page.unlink()
            logger.info("%s has no source any more: its page is removed", name)
    kept = {output / unquote(unescape(name)) for name in named}
    for folder in (output / "_images", output / "_downloads"):
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_file() and path not in kept:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def setup(app):
    _without_source.clear()
    app.connect("builder-inited", _before_the_gallery, priority=300)
    app.connect("html-page-context", _note_page)
    app.connect("build-finished", _after_the_build)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
