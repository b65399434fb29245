"""What we change in the pages that sphinx-gallery writes.

- A lesson opens with a note that points to its end. A reader needs the PyTorch release first,
  since outputs can differ between releases.
- Each section brings an empty list for tags, with the same id, and every page a script for it;
  we use no tags.
"""

from functools import cache
from importlib.metadata import version

from docutils import nodes


def _change_page(app, doctree: nodes.document) -> None:
    docname = app.env.docname
    if not docname.startswith(f"{app.config.sphinx_gallery_conf['gallery_dirs']}/"):
        return
    for raw in list(doctree.findall(nodes.raw)):
        if "sg-tag-list" in raw.astext():
            raw.parent.remove(raw)
    for note in list(doctree.findall(nodes.note)):
        if "sphx-glr-download-link-note" in note["classes"]:
            note.parent.remove(note)
    if not docname.endswith("/index"):
        _add_release(doctree)


def _add_release(doctree: nodes.document) -> None:
    title = next(doctree.findall(nodes.title))
    line = nodes.paragraph("", f"Run with PyTorch {_release()}.", classes=["lesson-release"])
    title.parent.insert(title.parent.index(title) + 1, line)


@cache
def _release() -> str:
    return version("torch").partition("+")[0]


def _drop_script(app, pagename, templatename, context, doctree) -> None:
    context["script_files"] = [
        script for script in context["script_files"] if "sg-tags.js" not in str(script.filename)
    ]


def setup(app):
    app.connect("doctree-read", _change_page)
    app.connect("html-page-context", _drop_script, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
