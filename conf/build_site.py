"""Build the site, unless nothing that it is made of has changed since the last good build.

``nox -s docs`` runs this. Sphinx needs seconds to load its extensions before it can see that
there is nothing to do; here files are compared by their content first, as ``make`` does by their
dates. What counts: the sources, the configuration, the options, the installed packages, the
environment's variables, and that nobody has touched the output since. Where any of that
differs, Sphinx decides what to build.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "extensions"))
from whole_builds import packages

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
STATE = BUILD / "state.json"
OPTIONS = ["-W", "--keep-going", "-n", "-j", "auto", "-c", "conf", "-d", "_build/doctrees"]
SOURCES = ("CHANGELOG.md", "conf", "docs", "examples")
# What a build writes below the sources.
GENERATED = ("docs/lessons", "docs/_generated")
# They differ from shell to shell, and no page depends on them.
OF_THE_SHELL = {"_", "OLDPWD", "PWD", "SHLVL", "TERM", "COLUMNS", "LINES", "PYTEST_CURRENT_TEST"}


def files(folder: Path, without: Iterable[Path] = ()) -> Iterable[Path]:
    """All files below a folder, in order; not what Python compiles for itself.

    Args:
        without: folders to leave out.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name != "__pycache__" and Path(parent, name) not in without
        )
        for name in sorted(names):
            yield Path(parent, name)


def inputs(root: Path, options: list[str]) -> str:
    """A digest of all that decides what the site looks like."""
    found = hashlib.sha256()
    variables = {key: value for key, value in os.environ.items() if key not in OF_THE_SHELL}
    facts = [sys.version, options, packages(), sorted(variables.items())]
    found.update(json.dumps(facts).encode())
    generated = [root / name for name in GENERATED]
    for source in SOURCES:
        path = root / source
        for file in [path] if path.is_file() else files(path, without=generated):
            content = file.read_bytes()
            found.update(f"{file.relative_to(root)}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def outputs(root: Path) -> str:
    """A digest of which files the last build left, and when each was written."""
    found = hashlib.sha256()
    for folder in (SITE.relative_to(ROOT), *GENERATED):
        for file in files(root / folder):
            facts = file.stat()
            found.update(f"{file}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return found.hexdigest()


def main(options: list[str]) -> int:
    """Build with these options besides our own. Returns the exit status."""
    before = inputs(ROOT, options)
    try:
        known = json.loads(STATE.read_text())
    except (OSError, ValueError):
        known = {}
    if known == {"inputs": before, "outputs": outputs(ROOT)}:
        print("Nothing has changed since the last build.")
        return 0
    STATE.unlink(missing_ok=True)
    # Only here, since that is what takes the time.
    from sphinx.cmd.build import main as sphinx

    os.chdir(ROOT)
    status = sphinx([*OPTIONS, *options, "docs", str(SITE.relative_to(ROOT))])
    if status == 0:
        # What was there before the build: a file that is saved during it makes the next one run.
        STATE.write_text(json.dumps({"inputs": before, "outputs": outputs(ROOT)}))
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
