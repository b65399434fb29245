"""What we take out of the pages that sphinx-gallery writes.

- A lesson opens with a note that points to its end; ``lesson_header`` has a line for that.
- Each section brings an empty list for tags, with the same id, and every page a script for it;
  we use no tags.
"""

from docutils import nodes


def _change_page(app, doctree: nodes.document) -> None:
    if not app.env.docname.startswith(f"{app.config.sphinx_gallery_conf['gallery_dirs']}/"):
        return
    for raw in list(doctree.findall(nodes.raw)):
        if "sg-tag-list" in raw.astext():
            raw.parent.remove(raw)
    for note in list(doctree.findall(nodes.note)):
        if "sphx-glr-download-link-note" in note["classes"]:
            note.parent.remove(note)


def _drop_script(app, pagename, templatename, context, doctree) -> None:
    context["script_files"] = [
        script for script in context["script_files"] if "sg-tags.js" not in str(script.filename)
    ]


def setup(app):
    app.connect("doctree-read", _change_page, priority=340)
    app.connect("html-page-context", _drop_script, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
