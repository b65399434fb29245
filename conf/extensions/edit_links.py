"""Link each page to its source, where the repository's address is known (``repository_url``).

The page of a lesson is generated. Its link leads to the script that an author writes, which the
theme's own link cannot. The addresses are those of GitHub and of GitLab.
"""

from pathlib import PurePosixPath
from urllib.parse import urlsplit

from literal_links import lesson_pages


def source(docname: str, suffix: str, gallery: str, lessons: set[str]) -> str:
    """The file in the repository that an author edits to change a page.

    Args:
        suffix: of the page's file below ``docs/``.
        gallery: the generated folder; '' where there is none.
        lessons: the pages of lessons.
    """
    if not gallery or not docname.startswith(f"{gallery}/"):
        return f"docs/{docname}{suffix}"
    path = PurePosixPath("examples") / PurePosixPath(docname).relative_to(gallery)
    if docname in lessons:
        return f"{path}.py"
    return f"{path.with_name('GALLERY_HEADER.rst')}"


def edit_link(repository: str, branch: str, path: str) -> str:
    """The address of the page that edits a file."""
    host = urlsplit(repository).netloc
    verb = "-/edit" if "gitlab" in host else "edit"
    return f"{repository.rstrip('/')}/{verb}/{branch}/{path}"


def _add_link(app, pagename, templatename, context, doctree) -> None:
    config = app.config
    if not config.repository_url or pagename not in app.env.found_docs:
        return
    gallery, lessons = "", set()
    if "sphinx_gallery_conf" in config:
        gallery = config.sphinx_gallery_conf["gallery_dirs"]
        lessons = set(lesson_pages(app).values())
    path = source(pagename, context["page_source_suffix"], gallery, lessons)
    context["edit_link"] = edit_link(config.repository_url, config.repository_branch, path)


def setup(app):
    app.add_config_value("repository_url", "", "env", str)
    app.add_config_value("repository_branch", "main", "html", str)
    app.connect("html-page-context", _add_link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
