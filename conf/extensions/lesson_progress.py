"""Let a reader mark lessons as done. What is marked stays in the reader's browser.

The buttons are part of the page, hidden until ``lesson-progress.js`` has read the marks: nothing
moves when they appear, and they never appear where a browser keeps nothing or runs no script.
"""

import reading_order
from docutils import nodes
from literal_links import lesson_pages

LESSON = """\
<div class="lesson-progress" data-lesson="{lessons}">
<button type="button" aria-pressed="false">Mark as done</button>
<span role="status"></span>
</div>
"""
OVERVIEW = """\
<div class="lesson-progress" data-lessons="{lessons}">
<p><span role="status">0 of {count} lessons done.</span>
<span>Your marks are kept in this browser only, and never leave your device.</span>
<button type="button">Forget my progress</button></p>
</div>
"""


class lesson_progress(nodes.General, nodes.Element):  # noqa: N801 -- docutils names nodes so
    """The buttons: of one lesson, or of all of them."""


def _on_read(app, doctree: nodes.document) -> None:
    docname = app.env.docname
    folder, _, name = docname.rpartition("/")
    gallery = app.config.sphinx_gallery_conf["gallery_dirs"]
    if folder.partition("/")[0] != gallery:
        return
    # Nobody works through the problem pages.
    counted = reading_order.numbered()
    top = next(doctree.findall(nodes.section))
    if folder == gallery:
        introduction = top.first_child_matching_class(nodes.paragraph)
        top.insert(introduction + 1, lesson_progress(lessons=list(counted), template=OVERVIEW))
    elif name in counted and lesson_pages(app).get(name) == docname:
        top += lesson_progress(lessons=[name], template=LESSON)
    elif name != "index":
        return
    # The cards of a section show the marks as well.
    app.env.metadata[docname]["has_lesson_progress"] = True


def _add_script(app, pagename, templatename, context, doctree) -> None:
    if "has_lesson_progress" in app.env.metadata.get(pagename, {}):
        # Not deferred: it must run before the first paint.
        app.add_js_file("has-js.js")
        app.add_js_file("lesson-progress.js", loading_method="defer")
        app.add_css_file("lesson-progress.css")


def _visit_html(self, node: lesson_progress) -> None:
    lessons = node["lessons"]
    self.body.append(node["template"].format(lessons=" ".join(lessons), count=len(lessons)))
    raise nodes.SkipNode


def _skip(self, node: nodes.Node) -> None:
    raise nodes.SkipNode


def setup(app):
    skip = dict.fromkeys(("latex", "text", "man", "texinfo"), (_skip, None))
    app.add_node(lesson_progress, html=(_visit_html, None), **skip)
    # After the downloads have their place.
    app.connect("doctree-read", _on_read, priority=650)
    app.connect("html-page-context", _add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
