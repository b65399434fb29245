"""Turn names in double backquotes into links.

Lessons are also notebooks, which know no Sphinx roles, so a lesson names another one, or a
function of PyTorch, as a plain literal. On the site

- a lesson's name (``backward_adds``) becomes a link with the lesson's title;
- a name in the inventories (``torch.autograd.grad``) becomes a link to its reference;
- a full name under ``literal_links_prefixes`` that no inventory has is a warning.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.ext.intersphinx import InventoryAdapter

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def lesson_pages(app) -> dict[str, str]:
    """Each lesson's name and its page, ``{"backward_adds": "lessons/accumulation/..."}``.

    The folder is read once a build: each page asks.
    """
    if not hasattr(app, "lesson_pages"):
        gallery = app.config.sphinx_gallery_conf
        examples = Path(app.srcdir) / gallery["examples_dirs"]
        app.lesson_pages = {
            path.stem: f"{gallery['gallery_dirs']}/{path.parent.name}/{path.stem}"
            for path in sorted(examples.glob("*/*.py"))
        }
    return app.lesson_pages


def link_literals(
    doctree: nodes.document, docname: str, lessons: dict[str, str], known, prefixes: list[str]
) -> None:
    """Replace the literals of a page, in place.

    Args:
        known: tells whether a full name is in an inventory.
        prefixes: a dotted name that starts with one of these must be known.
    """
    for literal in list(doctree.findall(nodes.literal)):
        if literal["classes"] or _inside(literal, nodes.title, nodes.reference, nodes.term):
            continue
        name = literal.astext()
        if name in lessons and lessons[name] != docname:
            _wrap(literal, docname, "std", "doc", "/" + lessons[name], explicit=False)
            continue
        name = name.removesuffix("()")
        if _DOTTED.fullmatch(name) and (known(name) or name.startswith(tuple(prefixes))):
            _wrap(literal, docname, "py", "obj", name, explicit=True)


def _inside(node: nodes.Node, *kinds: type) -> bool:
    while (node := node.parent) is not None:
        if isinstance(node, (*kinds, addnodes.pending_xref)):
            return True
    return False


def _wrap(
    literal: nodes.literal, docname: str, domain: str, role: str, target: str, *, explicit: bool
) -> None:
    reference = addnodes.pending_xref(
        refdoc=docname,
        refdomain=domain,
        reftype=role,
        reftarget=target,
        refexplicit=explicit,
        refspecific=False,
        refwarn=True,
    )
    reference.source, reference.line = literal.source, literal.line
    literal.replace_self(reference)
    reference += literal


def _on_read(app, doctree: nodes.document) -> None:
    inventory = InventoryAdapter(app.env).main_inventory
    objects = [entries for role, entries in inventory.items() if role.startswith("py:")]
    link_literals(
        doctree,
        app.env.docname,
        lesson_pages(app),
        lambda name: any(name in entries for entries in objects),
        app.config.literal_links_prefixes,
    )


def setup(app):
    app.add_config_value("literal_links_prefixes", ["torch."], "env")
    app.connect("doctree-read", _on_read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
