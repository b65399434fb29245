"""The head of a lesson's page: the release that ran it, in place of the gallery's note.

sphinx-gallery opens every page with a note that points to its end. A reader needs the
PyTorch release first, since outputs can differ between releases.
"""

from importlib.metadata import version

from docutils import nodes


def _is_lesson(app, docname: str) -> bool:
    folder = app.config.sphinx_gallery_conf["gallery_dirs"]
    return docname.startswith(f"{folder}/") and not docname.endswith("index")


def _set_header(app, doctree: nodes.document) -> None:
    if not _is_lesson(app, app.env.docname):
        return
    for note in list(doctree.findall(nodes.note)):
        if "sphx-glr-download-link-note" in note["classes"]:
            note.parent.remove(note)
    title = next(doctree.findall(nodes.title), None)
    if title is not None:
        release = version("torch").partition("+")[0]
        line = nodes.paragraph("", f"Run with PyTorch {release}.", classes=["lesson-release"])
        title.parent.insert(title.parent.index(title) + 1, line)


def setup(app):
    app.connect("doctree-read", _set_header)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
