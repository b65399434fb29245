"""Make the record of a release of PyTorch: ``python conf/probes/record.py 2.14.1``.

Makes an environment of its own with that release, puts all probes to it, writes
``docs/records/2.14.1.json`` and removes the environment. Needs the network, some minutes and,
on Linux, about 6 GB of disk for the time it runs; nothing but the standard library. Until the
new record is complete, the old one stays as it is.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

CONF = Path(__file__).resolve().parent.parent
# In place of this folder, whose modules have names such as "sparse" and "compare".
sys.path[0] = str(CONF)
from probes import records, runner

ENVIRONMENTS = CONF.parent / ".nox"
# Python's minor versions in the order in which they are tried: 3.11 has wheels of the most
# releases (1.13 and all of 2.x so far).
MINORS = (11, 12, 10, 13, 14, 9, 8)
# The first release that was built for NumPy 2.
NUMPY_2 = (2, 3, 0)


class RecordingError(Exception):
    """No record was made; the message says why and what to do."""


class Interpreter(NamedTuple):
    path: str
    version: str


class Unavailable(Exception):  # noqa: N818 -- not yet an error: another Python may have it
    """pip offers this release to no Python of this version; the argument is what pip said."""


def interpreters() -> list[Interpreter]:
    """The Pythons of this machine that can make an environment, one of each minor version."""
    return [found for minor in MINORS if (found := _interpreter(minor))]


def _interpreter(minor: int) -> Interpreter | None:
    for path in _candidates(minor):
        question = "import ensurepip, platform, venv; print(platform.python_version())"
        try:
            asked = subprocess.run(
                [path, "-c", question], check=False, capture_output=True, text=True
            )
        except OSError:
            continue
        # A shim of pyenv exists for each Python but works only for those switched on.
        if asked.returncode == 0 and asked.stdout.startswith(f"3.{minor}."):
            return Interpreter(path, asked.stdout.strip())
    return None


def _candidates(minor: int) -> list[str]:
    """Where a Python may be: this one, on PATH, and those that pyenv and uv installed."""
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv")) / "versions"
    uv = home / ".local" / "share" / "uv" / "python"
    program = "python.exe" if os.name == "nt" else "bin/python3"
    installed = [*pyenv.glob(f"3.{minor}.*"), *uv.glob(f"cpython-3.{minor}.*")]
    # The base of a virtual environment, which outlives it.
    this = [sys._base_executable] if sys.version_info[1] == minor else []
    on_path = [path for path in [shutil.which(f"python3.{minor}")] if path]
    return [*this, *on_path, *(str(folder / program) for folder in sorted(installed))]


def python_of(environment: Path) -> str:
    """The Python of a virtual environment."""
    return str(environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def install(release: str, interpreter: Interpreter, environment: Path) -> None:
    """Make an environment with a release and the NumPy that it was built for.

    Raises:
        Unavailable: pip offers the release to this Python under no circumstances.
        RecordingError: it failed otherwise: no network, no space.
    """
    if environment.exists():
        shutil.rmtree(environment)
    environment.parent.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run([interpreter.path, "-m", "venv", str(environment)], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RecordingError(f"{interpreter.path} cannot make an environment: {error}") from None
    pip_install(release, interpreter, environment)


def pip_install(release: str, interpreter: Interpreter, environment: Path) -> None:
    """Put torch and NumPy into an environment; see ``install``."""
    numpy = "numpy" if records.release_order(release) >= NUMPY_2 else "numpy<2"
    # Some gigabytes that are used once: no copy of them is kept in pip's cache.
    options = ["--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    options += ["--only-binary", "torch,numpy"]
    command = [
        python_of(environment),
        "-m",
        "pip",
        "install",
        *options,
        f"torch=={release}",
        numpy,
    ]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return
    lines = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
    # The second is what pip says where a constraint of the user's forbids the release.
    refusals = f"No matching distribution found for torch=={release}", f"install torch=={release}"
    for line in lines:
        if any(refusal in line for refusal in refusals):
            raise Unavailable(line)
    raise RecordingError(
        f"pip could not install torch {release} for Python {interpreter.version}:\n"
        + "\n".join(lines[-8:])
    )


def make_environment(release: str, pythons: list[Interpreter], environment: Path) -> None:
    """Make the environment with the first Python to which pip offers the release.

    Raises:
        RecordingError: there is none; the message names the Pythons that were tried.
    """
    if not pythons:
        wanted = ", ".join(f"3.{minor}" for minor in MINORS)
        raise RecordingError(
            f"No Python with venv and ensurepip was found. Install one of {wanted}."
        )
    for interpreter in pythons:
        print(
            f"torch {release}: trying Python {interpreter.version} ({interpreter.path})",
            flush=True,
        )
        try:
            return install(release, interpreter, environment)
        except Unavailable as unavailable:
            reason = unavailable
    tried = ", ".join(f"{found.version} ({found.path})" for found in pythons)
    raise RecordingError(
        f"pip offers torch {release} to none of the Pythons of this machine: {tried}. "
        f"The last answer: {reason} "
        "Is there such a release, and does no constraint of yours forbid it (pip config list)? "
        "Then install a Python that it supports (https://pypi.org/project/torch names them)."
    )


def answers_of(python: str, limit: float) -> dict[str, Any]:
    """Put all probes to the torch of an interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "answers.json"
        command = [python, "-m", "probes", str(output), "--limit", str(limit)]
        if subprocess.run(command, check=False, env=runner.environment()).returncode:
            raise RecordingError(f"The probes could not be run with {python}; see above.")
        return json.loads(output.read_text(encoding="utf-8"))


def write(answers: dict[str, Any], folder: Path = records.FOLDER) -> Path:
    """Put today's date on the answers and write them as the record of their release."""
    return records.write({**answers, "date": datetime.date.today().isoformat()}, folder)


def check_name(release: str) -> None:
    """Refuse what cannot be a release of PyTorch.

    Raises:
        RecordingError: the name does not have three numbers.
    """
    if not records.RELEASE.fullmatch(release):
        raise RecordingError(f"{release!r} is not a release: give all three numbers, like 2.14.1.")


def record(
    release: str,
    pythons: list[Interpreter] | None = None,
    keep: bool = False,
    limit: float = runner.LIMIT,
    folder: Path = records.FOLDER,
    environments: Path = ENVIRONMENTS,
) -> Path:
    """Make the record of a release in an environment of its own.

    Raises:
        RecordingError: it was not made, and an older one is as it was.
    """
    check_name(release)
    environment = environments / f"record-{release}"
    try:
        make_environment(release, interpreters() if pythons is None else pythons, environment)
        answers = answers_of(python_of(environment), limit)
        if answers["release"] != release:
            raise RecordingError(
                f"pip installed torch {answers['release']} in place of {release}."
            )
        return write(answers, folder)
    finally:
        if not keep:
            shutil.rmtree(environment, ignore_errors=True)


def _unchanged(release: str | None) -> str:
    """What an error leaves, where the records of earlier releases may be written already."""
    return f"The record of {release} is as it was." if release else "No record was changed."


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="record", description=__doc__.partition("\n\n")[0])
    parser.add_argument("releases", nargs="*", metavar="release", help="such as 2.14.1")
    parser.add_argument("--installed", action="store_true", help="record the torch of this Python")
    parser.add_argument("--keep", action="store_true", help="leave the environment in .nox/")
    parser.add_argument("--python", metavar="PATH", help="the one Python to try")
    parser.add_argument("--limit", type=float, default=runner.LIMIT, help="seconds for one probe")
    options = parser.parse_args(arguments)
    if bool(options.releases) == options.installed:
        parser.error("give releases, such as 2.14.1, or --installed")
    pythons = [Interpreter(options.python, options.python)] if options.python else None
    now = None
    try:
        # A slip in the second name is told before the minutes that the first one takes.
        for release in options.releases:
            check_name(release)
        if options.installed:
            print(f"Written: {write(answers_of(sys.executable, options.limit))}")
        for now in options.releases:
            print(f"Written: {record(now, pythons, options.keep, options.limit)}")
    except (RecordingError, records.RecordError) as error:
        sys.exit(f"{error}\n{_unchanged(now)}")
    except KeyboardInterrupt:
        sys.exit(f"\nInterrupted. {_unchanged(now)}")


if __name__ == "__main__":
    main()
