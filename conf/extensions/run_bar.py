"""Say at a lesson's end how to run it, in place of sphinx-gallery's buttons.

Each link's name makes sense alone, since a screen reader can list the links of a page. On the
page of all lessons the same bar offers the archives, with their size.

A notebook can be opened in Colab only where it lies in a public repository on GitHub, and our
notebooks are generated. So that link is there where two values of the configuration are set:
``repository_url``, and ``run_bar_site_branch``, the branch that holds the built site.
"""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes
from lesson_header import RUN_BAR
from sphinx import addnodes

COLAB = "https://colab.research.google.com/github"


def _lesson_label(path: Path) -> str:
    kinds = {".py": "the script", ".ipynb": "the notebook", ".zip": "both in one archive,"}
    return f"Download {kinds[path.suffix]} {path.name}"


def _archive_label(path: Path) -> str:
    kind = "scripts" if path.stem.endswith("_python") else "notebooks"
    # Rounded up: nobody waits for less than a tenth of a megabyte.
    size = -(-path.stat().st_size // 100_000) / 10
    return f"Download all {kind} in one archive, {path.name} ({size} MB)"


def _command(script: str) -> nodes.paragraph:
    return nodes.paragraph(
        "",
        "",
        nodes.Text("In a terminal: "),
        nodes.literal("", f"python {script}", classes=["run-command"]),
        nodes.Text(" where PyTorch and torchviz are installed, or "),
        nodes.literal("", f"uv run {script}", classes=["run-command"]),
        nodes.Text(", which reads from the script's first lines what it needs, and installs it."),
    )


def colab_link(repository: str, branch: str, notebook: str) -> str:
    """The address that opens a notebook of the built site in Colab; '' where none can."""
    url = urlsplit(repository)
    if url.netloc != "github.com" or not branch:
        return ""
    return f"{COLAB}{url.path.rstrip('/')}/blob/{branch}/_downloads/{notebook}"


def bar(
    links: list[addnodes.download_reference],
    label: Callable[[addnodes.download_reference], str],
    heading: str,
) -> nodes.container:
    """The bar with these links of sphinx-gallery, which know where Sphinx puts their files."""
    made = nodes.container(classes=["run-bar"], ids=[RUN_BAR])
    title = nodes.rubric("", heading)
    title["heading-level"] = 2
    items = nodes.bullet_list(classes=["run-links"])
    for link in sorted(links, key=_rank):
        link[:] = [nodes.Text(label(link))]
        items += nodes.list_item("", nodes.paragraph("", "", link))
    made += [title, items]
    return made


def _rank(link: addnodes.download_reference) -> int:
    order = (".py", ".ipynb", ".zip")
    return order.index(Path(_name(link)).suffix)


def _on_read(app, doctree: nodes.document) -> None:
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for footer in list(doctree.findall(_is_footer)):
        links = list(footer.findall(addnodes.download_reference))
        if "sphx-glr-footer-gallery" in footer["classes"]:
            made = bar(
                links, lambda link: _archive_label(folder / _name(link)), "Run them all yourself"
            )
        else:
            made = bar(links, lambda link: _lesson_label(Path(_name(link))), "Run it yourself")
            _add_colab(app.config, made, links)
            made += _command(next(_name(link) for link in links if _name(link).endswith(".py")))
        # Not replace_self: that would keep the gallery's classes.
        made["ids"] += footer["ids"]
        footer.parent.replace(footer, made)


def _name(link: addnodes.download_reference) -> str:
    return link["reftarget"].rpartition("/")[2]


def _is_footer(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "sphx-glr-footer" in node["classes"]


def _add_colab(config, made: nodes.container, links: list[addnodes.download_reference]) -> None:
    notebook = next(link for link in links if _name(link).endswith(".ipynb"))
    branch = config.run_bar_site_branch
    if url := colab_link(config.repository_url, branch, notebook.get("filename", "")):
        name = f"Open {_name(notebook)} in Colab"
        link = nodes.reference("", name, refuri=url, internal=False)
        made[1] += nodes.list_item("", nodes.paragraph("", "", link))


def setup(app):
    app.setup_extension("edit_links")
    app.add_config_value("run_bar_site_branch", "", "env", str)
    # After Sphinx has given each download its address.
    app.connect("doctree-read", _on_read, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
