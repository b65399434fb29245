"""Put one quiet line under a lesson's title: where it stands, how long it takes, what ran it.

Outputs can differ between releases, so the release stands on top, in place of sphinx-gallery's
note that points to the page's end. The line links to the downloads there instead.
"""

import re
from pathlib import Path

import reading_order
from docutils import nodes
from literal_links import lesson_pages

WORDS_A_MINUTE = 200
# A line of code is short, and read more slowly than prose.
WORDS_A_LINE = 8
RUN_BAR = "run-it-yourself"


def minutes(doctree: nodes.document) -> int:
    """How long the prose and the code of a page take to read, in whole minutes, at least one."""
    words = 0
    for node in doctree.findall(nodes.TextElement):
        if isinstance(node, nodes.literal_block):
            words += WORDS_A_LINE * sum(bool(line.strip()) for line in node.astext().splitlines())
        elif isinstance(node, nodes.paragraph | nodes.title):
            words += len(node.astext().split())
    return max(1, round(words / WORDS_A_MINUTE))


def position(lesson: str, titles) -> str:
    """Where a lesson stands, "Lesson 8 of 27, in The recorded graph"; a problem is none of a row.

    Args:
        titles: gives the title of a section.
    """
    row = reading_order.numbered()
    if lesson not in row:
        return ""
    section = next(name for name, held in reading_order.SECTIONS.items() if lesson in held)
    return f"Lesson {row[lesson]} of {len(row)}, in {titles(section)}"


def section_title(header: str) -> str:
    """The title in the text of a ``GALLERY_HEADER.rst``."""
    return re.search(r"(?m)^(.+)\n[-=]{3,}$", header)[1]


def facts(doctree: nodes.document, where: str, release: str) -> nodes.paragraph:
    """The line itself. Each fact is a part of its own, so that a style can set them apart."""
    time = minutes(doctree)
    parts = [
        *([nodes.inline("", f"{where}.", classes=["lesson-position"])] if where else []),
        nodes.inline("", f"{time} minute{'s' * (time > 1)} to read.", classes=["lesson-time"]),
        nodes.inline("", f"Run with PyTorch {release}.", classes=["lesson-release"]),
        nodes.reference("", "Download or run it", internal=True, refid=RUN_BAR),
    ]
    line = nodes.paragraph(classes=["lesson-facts"])
    for part in parts:
        line += [part, nodes.Text(" ")]
    return line


def _on_read(app, doctree: nodes.document) -> None:
    lesson = app.env.docname.rpartition("/")[2]
    if lesson_pages(app).get(lesson) != app.env.docname:
        return
    examples = Path(app.srcdir) / app.config.sphinx_gallery_conf["examples_dirs"]

    def title(section: str) -> str:
        header = examples / section / "GALLERY_HEADER.rst"
        app.env.note_dependency(str(header.resolve()))
        return section_title(header.read_text(encoding="utf-8"))

    heading = next(doctree.findall(nodes.title))
    line = facts(doctree, position(lesson, title), app.config.release)
    heading.parent.insert(heading.parent.index(heading) + 1, line)


def setup(app):
    # Before other extensions add to the page what its author did not write.
    app.connect("doctree-read", _on_read, priority=350)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
