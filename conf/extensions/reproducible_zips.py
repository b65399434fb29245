"""Make the downloads' zip archives equal from build to build.

A zip archive stores when each member was written, so two builds of the same lessons differ.
Every member gets the oldest date that the format knows.
"""

import zipfile
from pathlib import Path

OLDEST_DATE = (1980, 1, 1, 0, 0, 0)


def fix_dates(archive: Path) -> None:
    """Rewrite ``archive`` in place with sorted members and one fixed date."""
    with zipfile.ZipFile(archive) as source:
        members = {name: source.read(name) for name in sorted(source.namelist())}
    with zipfile.ZipFile(archive, "w") as target:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, OLDEST_DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            target.writestr(info, data)


def _fix_downloads(app, exception) -> None:
    if exception is None:
        for archive in sorted(Path(app.outdir).glob("_downloads/*/*.zip")):
            fix_dates(archive)


def setup(app):
    app.connect("build-finished", _fix_downloads)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
