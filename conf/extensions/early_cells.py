"""Execute the cells of the prose pages while the lessons run.

myst-nb starts a kernel for each page when it reads the page, one after the other, and each
kernel imports torch anew. Started beside the lessons, that work is done when myst-nb looks
into its cache. What fails here fails there once more, and is reported there.

The kernel sends an output in pieces, which depend on timing. myst-nb's ``nb_merge_streams`` ends
each piece with a new line; here they are joined as they are.

Without this extension a build gives the same pages, later, but for such a new line. It works with
``nb_execution_mode = "cache"`` only, and pages in Markdown (``.md``) with code cells.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path


def execute(cache_folder: str, timeout: int, pages: list[str]) -> None:
    """Execute those pages whose cells have no outputs in the cache, and put them there."""
    from jupyter_cache import get_cache
    from jupyter_cache.executors import load_executor, utils

    # The executor cannot be asked for this setting of nbclient.
    utils.executenb = partial(utils.executenb, coalesce_streams=True)
    cache = get_cache(cache_folder)
    for page in pages:
        cache.add_nb_to_project(page, read_data={"name": "myst_nb_md", "type": "plugin"})
    executor = load_executor("local-serial", cache)
    executor.run_and_cache(filter_uris=pages, timeout=timeout)


def pages_to_execute(app) -> list[Path]:
    """The pages with cells that are new or changed since the last build."""
    cache = _cache(app)
    pages = []
    for docname in sorted(app.project.discover(app.config.exclude_patterns)):
        page = Path(app.env.doc2path(docname))
        # Sphinx notes the time of reading in microseconds.
        read = app.env.all_docs.get(docname, 0)
        is_new = not cache.exists() or page.stat().st_mtime * 1e6 > read
        if page.suffix == ".md" and is_new and "{code-cell}" in page.read_text(encoding="utf-8"):
            pages.append(page)
    return pages


def _cache(app) -> Path:
    """Where myst-nb keeps outputs, if it is not told another place."""
    return Path(app.outdir).parent / ".jupyter_cache"


def _start(app) -> None:
    app.early_cells = None
    if app.config.nb_execution_mode != "cache" or not (pages := pages_to_execute(app)):
        return
    app.early_cells = subprocess.Popen(
        [sys.executable, __file__, _cache(app), str(app.config.nb_execution_timeout), *pages],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait(app, env, docnames) -> None:
    if app.early_cells is not None:
        app.early_cells.wait()


def _stop(app, exception) -> None:
    if app.early_cells is not None:
        app.early_cells.terminate()


def setup(app):
    # After rerun_lessons, which may empty the cache; before sphinx-gallery runs the lessons.
    app.connect("builder-inited", _start, priority=450)
    app.connect("env-before-read-docs", _wait)
    app.connect("build-finished", _stop)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    execute(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
