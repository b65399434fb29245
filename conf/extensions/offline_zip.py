"""Offer the whole site as one archive, for readers without a network.

After a build that changed a file, all files of the site go into ``autograd-by-example.zip`` beside
the home page, in one folder, with sorted names and one date. The directive ``offline-zip`` links to
it and says how large it is. The page with the link is in the archive too, so it comes last: its
size is too small to change the number that it states.
"""

import re
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from reproducible_zips import OLDEST_DATE
from sphinx.util import relative_uri

FOLDER = "autograd-by-example"
ARCHIVE = f"{FOLDER}.zip"
SIZE = re.compile(r'(?<=<span class="offline-zip-size">)[^<]*(?=</span>)')
# Only a server shows or reads these.
LEFT_OUT = {ARCHIVE, ".buildinfo", ".nojekyll", "404.html", "_headers"}
COMPRESSED = {".zip", ".woff2", ".png", ".jpg", ".webp", ".gz"}


class OfflineZip(Directive):
    """``{offline-zip}``, without arguments: a paragraph with the link."""

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        if not env.config.offline_zip:
            return [nodes.paragraph("", "This build of the site has no archive.")]
        env.metadata[env.docname]["offline_zip"] = True
        target = relative_uri(env.app.builder.get_target_uri(env.docname), ARCHIVE)
        link = (
            f'<p><a class="reference download" href="{target}" download>Download the whole site'
            ' (zip, <span class="offline-zip-size">size unknown</span>)</a></p>'
        )
        return [nodes.raw("", link, format="html")]


def pack(site: Path, pages_with_size: list[str]) -> bytes:
    """The archive of all files of ``site``; writes its size into the pages that state it."""
    members = _members(site)
    last = [name for name in members if name in pages_with_size]
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, path in members.items():
            if name not in last:
                _add(archive, name, path.read_bytes())
        # With the list of members that ends an archive.
        size = data.tell() + sum(46 + len(info.filename) for info in archive.infolist())
        megabytes = f"{size / 1e6:.1f} MB"
        for name in last:
            page = members[name]
            before = page.read_text(encoding="utf-8")
            after = SIZE.sub(megabytes, before)
            if after != before:
                page.write_text(after, encoding="utf-8", newline="\n")
            _add(archive, name, after.encode())
    return data.getvalue()


def _members(site: Path) -> dict[str, Path]:
    """The files that belong into the archive, by their sorted names."""
    files = {p.relative_to(site).as_posix(): p for p in site.rglob("*") if p.is_file()}
    return {name: files[name] for name in sorted(files.keys() - LEFT_OUT)}


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(f"{FOLDER}/{name}", OLDEST_DATE)
    stored = Path(name).suffix in COMPRESSED
    info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def unchanged(site: Path, file: Path) -> bool:
    """Whether the archive ``file`` holds what is in ``site``; reads only what is newer."""
    if not file.exists():
        return False
    with zipfile.ZipFile(file) as archive:
        packed = {info.filename.partition("/")[2]: info for info in archive.infolist()}
    present = _members(site)
    if list(present) != sorted(packed):
        return False
    made = file.stat().st_mtime_ns
    for name, path in present.items():
        stat = path.stat()
        if stat.st_size != packed[name].file_size:
            return False
        # Sphinx writes some files anew in every build, with the same content.
        newer = max(stat.st_mtime_ns, stat.st_ctime_ns) > made
        if newer and zlib.crc32(path.read_bytes()) != packed[name].CRC:
            return False
    return True


def _write(app, exception) -> None:
    if app.builder.name != "html":
        return
    file = Path(app.outdir) / ARCHIVE
    if exception is not None or not app.config.offline_zip:
        # None is better than one of an older site.
        file.unlink(missing_ok=True)
        return
    if unchanged(Path(app.outdir), file):
        return
    metadata = app.env.metadata
    pages = [name for name in sorted(metadata) if "offline_zip" in metadata[name]]
    file.write_bytes(pack(Path(app.outdir), [app.builder.get_target_uri(n) for n in pages]))


def setup(app):
    app.add_config_value("offline_zip", True, "env", bool)
    app.add_directive("offline-zip", OfflineZip)
    # After all that writes into the site's folder.
    app.connect("build-finished", _write, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
