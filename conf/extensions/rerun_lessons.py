"""Run lessons again when something other than their own text has changed.

sphinx-gallery looks only at a script's checksum. An output also depends on the releases of
the libraries and on our modules that shape it (sphinx-gallery issue 936 is related). And it gives
a warning about a lesson only when it runs it, so a lesson with a warning runs again as well.

Configuration: ``rerun_lessons_packages`` (distribution names) and ``rerun_lessons_modules``
(files of this folder).
"""

import hashlib
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)


def fingerprint(packages: list[str], modules: list[Path]) -> str:
    """A text that changes whenever an output may change: one line a cause.

    Raises:
        FileNotFoundError: a module does not exist.
    """
    lines = [f"python {sys.version_info.major}.{sys.version_info.minor}"]
    lines += [f"{name} {version(name)}" for name in sorted(packages)]
    lines += [
        f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sorted(modules)
    ]
    return "\n".join(lines) + "\n"


def _compare(app) -> None:
    folder = Path(__file__).parent
    modules = [folder / name for name in app.config.rerun_lessons_modules]
    app.lessons_fingerprint = fingerprint(app.config.rerun_lessons_packages, modules)
    stored = _stored(app)
    before = stored.read_text() if stored.exists() else ""
    if before == app.lessons_fingerprint:
        return
    changed = sorted(set(before.splitlines()) ^ set(app.lessons_fingerprint.splitlines()))
    causes = sorted({line.split()[0] for line in changed})
    logger.info("lessons and cells run again, because of: %s", ", ".join(causes))
    app.config.sphinx_gallery_conf["run_stale_examples"] = True
    # myst-nb's cache, at its default place, knows a page by its cells alone.
    shutil.rmtree(Path(app.outdir).parent / ".jupyter_cache", ignore_errors=True)


def _count(app) -> None:
    app.warnings_before_lessons = app._warncount


def _forget_warned(app) -> None:
    # sphinx-gallery says a warning when it runs a lesson, and never again: the next build
    # would pass.
    if app._warncount == app.warnings_before_lessons:
        return
    gallery = app.config.sphinx_gallery_conf
    for digest in (Path(app.srcdir) / gallery["gallery_dirs"]).glob("*/*.md5"):
        if str(digest.with_suffix("")) not in gallery["stale_examples"]:
            digest.unlink()


def _remember(app, exception) -> None:
    # Only after a build without an error: else the next one would trust half-made pages.
    if exception is None and hasattr(app, "lessons_fingerprint"):
        stored = _stored(app)
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(app.lessons_fingerprint)


def _stored(app) -> Path:
    return Path(app.srcdir) / app.config.sphinx_gallery_conf["gallery_dirs"] / ".fingerprint"


def setup(app):
    app.add_config_value("rerun_lessons_packages", [], "")
    app.add_config_value("rerun_lessons_modules", [], "")
    # sphinx-gallery runs the lessons at builder-inited with the default priority of 500.
    app.connect("builder-inited", _compare, priority=400)
    app.connect("builder-inited", _count, priority=401)
    app.connect("builder-inited", _forget_warned, priority=520)
    app.connect("build-finished", _remember)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
