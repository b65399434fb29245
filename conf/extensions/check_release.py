"""Hold the installed PyTorch against its record while the site is built.

The probes run in a process of their own, beside the lessons; at the end the build fails where
an answer is not the recorded one. They do not run where nothing has changed since they last
agreed, or where the release has no record. Then the build goes on, and the directive
``unrecorded-release`` says so on the pages that have it; where there is a record, it is empty.

Configuration:

- ``check_release``: ``-D check_release=0`` builds without the check;
- ``check_release_records``: the folder of the records, if not ``docs/records``;
- ``check_release_areas``: the package of the probes, for the tests;
- ``check_release_notice``: set here, for pages: "" or one sentence for readers.
"""

import atexit
import hashlib
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from docutils import nodes
from probes import installed, records, runner
from sphinx.util import logging
from sphinx.util.display import progress_message
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


def installed_release() -> str:
    """The installed release of PyTorch; torch itself is not imported."""
    return version("torch").partition("+")[0]


def fingerprint(record: Path) -> str:
    """A text that changes whenever the probes may answer, or be judged, otherwise."""
    lines = [f"torch {version('torch')}", f"python {platform.python_version()}"]
    sources = sorted(Path(runner.__file__).parent.rglob("*.py"))
    for path in [record, *sources]:
        lines.append(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    return "\n".join(lines) + "\n"


def remembered(doctrees: Path) -> Path:
    """The file with the fingerprint of the last check that found no disagreement."""
    return Path(doctrees) / "check_release.txt"


class UnrecordedRelease(SphinxDirective):
    """A note where the installed release has no record, and nothing where it has one."""

    def run(self) -> list[nodes.Node]:
        notice = self.config.check_release_notice
        return [nodes.note("", nodes.paragraph("", notice))] if notice else []


def _find_record(app, config) -> None:
    release = installed_release()
    if release not in records.releases(Path(config.check_release_records)):
        config.check_release_notice = (
            f"This site was built with PyTorch {release}, and how that release answers is not "
            "recorded: tables that compare releases do not have it."
        )
        logger.info(installed.without_record(release))


def _start(app) -> None:
    app.check_release = None
    if app.config.check_release_notice or not app.config.check_release:
        return
    folder = Path(app.config.check_release_records)
    now = fingerprint(records.path_of(installed_release(), folder))
    stored = remembered(app.doctreedir)
    if stored.exists() and stored.read_text() == now:
        return
    stored.unlink(missing_ok=True)
    output = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 -- read in _finish
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "probes.installed"),
            *("--records", str(folder), "--areas", app.config.check_release_areas),
        ],
        # Where an areas package of a tiny site lies.
        cwd=app.confdir,
        env=runner.environment(),
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    # A build that is interrupted has no end.
    atexit.register(process.kill)
    app.check_release = process, output, now


def _finish(app, exception) -> None:
    if app.check_release is None:
        return
    process, output, now = app.check_release
    app.check_release = None
    with output:
        if exception is not None:
            process.kill()
            process.wait()
            return
        with progress_message(f"comparing PyTorch {installed_release()} with its record"):
            disagrees = process.wait() != 0
        if not disagrees:
            remembered(app.doctreedir).write_text(now)
            return
        output.seek(0)
        # No exception: Sphinx would print this between two screens about errors of its own.
        logger.error(output.read().strip())
        app.statuscode = 1


def setup(app):
    app.add_config_value("check_release", True, "")
    app.add_config_value("check_release_records", str(records.FOLDER), "")
    app.add_config_value("check_release_areas", runner.AREAS, "")
    app.add_config_value("check_release_notice", "", "env")
    app.add_directive("unrecorded-release", UnrecordedRelease)
    app.connect("config-inited", _find_record, priority=100)
    # Before sphinx-gallery runs the lessons, at 500.
    app.connect("builder-inited", _start, priority=440)
    app.connect("build-finished", _finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
