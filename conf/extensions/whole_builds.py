"""After a build that did not end well, build every page again.

Sphinx reports a warning once, and takes a page on disk for a whole one. So a repeated build would
pass over a page with an error, or one that a killed build left half written. A mark beside the
doctrees stands while a build is not known to be good.
"""

from pathlib import Path


def _begin(app, config) -> None:
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
    # Before Sphinx loads its environment; after every other extension had its say.
    app.connect("config-inited", _begin, priority=0)
    app.connect("build-finished", _end, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
