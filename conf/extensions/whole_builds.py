"""Build every page again where the pages on disk cannot be trusted.

Sphinx looks at a page's own source. It does not see that an extension of ours, a template or the
release of an installed package has changed, which can change any page: a digest of them is a
value of the configuration, and Sphinx reads all pages again where such a value differs.

And Sphinx reports a warning once, and takes a page on disk for a whole one. So a repeated build
would pass over a page with an error, or one that a killed build left half written. A mark beside
the doctrees stands while a build is not known to be good.
"""

import hashlib
import sysconfig
from pathlib import Path


def digest(folder: Path) -> str:
    """A text that changes with the modules and templates below a folder and with the packages."""
    found = hashlib.sha256()
    files = [path for pattern in ("*.py", "*.html") for path in folder.rglob(pattern)]
    for path in sorted(files):
        found.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    found.update("\n".join(packages()).encode())
    return found.hexdigest()


def packages() -> list[str]:
    """The installed packages with their versions, in order."""
    # Each has a folder whose name ends in its version.
    folders = Path(sysconfig.get_path("purelib")).glob("*.dist-info")
    return sorted(folder.name for folder in folders)


def _begin(app, config) -> None:
    config.whole_builds_digest = digest(Path(app.confdir))
    mark = _mark(app)
    if mark.exists():
        (mark.parent / "environment.pickle").unlink(missing_ok=True)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _end(app, exception) -> None:
    if exception is None and app.statuscode == 0 and app._warncount == 0:
        _mark(app).unlink(missing_ok=True)


def _mark(app) -> Path:
    return Path(app.doctreedir) / "unfinished"


def setup(app):
    app.add_config_value("whole_builds_digest", "", "env", str)
    # Before Sphinx loads its environment; after every other extension had its say.
    app.connect("config-inited", _begin, priority=0)
    app.connect("build-finished", _end, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
