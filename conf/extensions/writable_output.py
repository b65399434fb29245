"""Say in one sentence that the build cannot write, before it starts.

Without this, a folder that is read-only or full shows as a traceback from wherever the build
was, or as a warning for each page. It ends the build with ``SystemExit``, since Sphinx prints any
other exception between two screens about versions and extensions.

Configuration: ``writable_output_space``, in MiB: a disk with less than that left counts as full.
"""

import errno
import shutil
import tempfile
from pathlib import Path

_CANNOT_WRITE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}


def check_writable(folder: Path, space: int) -> None:
    """Write a file to a folder, or to the nearest one above it that exists.

    Raises:
        SystemExit: it cannot be written, or less than ``space`` MiB are left there.
    """
    while not folder.is_dir():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SystemExit(_said(folder, error.strerror)) from error
    left = shutil.disk_usage(folder).free // 2**20
    if left < space:
        raise SystemExit(_said(folder, f"{left} MiB are left, and a build wants {space}"))


def _said(where, why: str) -> str:
    return (
        f"error: the build cannot write to {where}: {why}. Make room, or make the folder "
        "writable, or build to another one. What was built before is as it was"
    )


def _before(app, config) -> None:
    # Below the sources only where no live session watches: where the system has no files without
    # a name, the check would start the next build, for ever.
    for folder in (app.outdir, app.doctreedir, Path(app.srcdir) / "_generated"):
        check_writable(Path(folder), config.writable_output_space)


def _after(app, exception) -> None:
    # The disk can fill up on the way.
    if isinstance(exception, OSError) and exception.errno in _CANNOT_WRITE:
        where = exception.filename or app.outdir
        raise SystemExit(
            f"error: the build could not write {where}: {exception.strerror}. Make room and build "
            "again: the next build writes every page anew"
        ) from exception


def setup(app):
    app.add_config_value("writable_output_space", 100, "", int)
    # Before anything of this build is written.
    app.connect("config-inited", _before, priority=-10)
    app.connect("build-finished", _after, priority=990)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
