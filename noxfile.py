"""The project's commands: `nox -l` lists them, `nox -s docs` builds the site."""

import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.sessions = ["docs", "tests", "lint"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml("pyproject.toml")

# One environment serves all sessions that need torch, by far the largest thing to install
# (nox itself would make one for each session, gigabytes apiece on Linux).
SITE_ENVIRONMENT = ROOT / ".nox" / "site"

SITE = ROOT / "_build" / "html"
# sphinx-gallery writes here during a build: to watch it would start the next build, for ever.
GENERATED = ["docs/lessons", "docs/_generated"]


def site_python(session: nox.Session, group: str) -> str:
    """Make the shared environment, install a dependency group there, return its Python."""
    binaries = SITE_ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
    python = str(binaries / "python")
    if not binaries.exists():
        session.run(sys.executable, "-m", "virtualenv", "--quiet", str(SITE_ENVIRONMENT))
    session.log(f"Installing what '{group}' needs (the first time this takes some minutes)")
    # Where all is installed already, pip finds that out without the network.
    wanted = nox.project.dependency_groups(PROJECT, group)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    session.run(*pip, *wanted)
    return python


@nox.session(python=False)
def docs(session: nox.Session) -> None:
    """Build the site, with every lesson executed; warnings are errors."""
    python = site_python(session, "docs")
    session.run(python, "conf/build_site.py", *session.posargs)
    session.log(f"The site is ready: {(SITE / 'index.html').as_uri()}")


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Build the site twice from a clean copy and test it as a reader meets it."""
    python = site_python(session, "tests")
    session.run(python, "-m", "pytest", "-n", "logical", *session.posargs)


@nox.session(python=False, default=False)
def live(session: nox.Session) -> None:
    """Rebuild on save and reload the browser; stop with Ctrl+C."""
    python = site_python(session, "live")
    watch = ["--watch", "examples", "--watch", "conf"]
    ignore = [option for folder in GENERATED for option in ("--ignore", folder)]
    # Warnings stay warnings here. A broken lesson ends its build before any page is written: the
    # browser keeps the last good one. What reloads a page is a script in the page, which its policy
    # would forbid.
    session.run(
        *(python, "-m", "sphinx_autobuild", "-n", "-c", "conf", "-d", "_build/doctrees-live"),
        *("-D", "sphinx_gallery_conf.abort_on_example_error=1", "-j", "auto"),
        *("-D", "offline_zip=0", "-D", "strict_csp=0"),
        *(*watch, *ignore, "--host", "127.0.0.1", *session.posargs),
        *("docs", "_build/live"),
    )


@nox.session(python=False, default=False)
def record(session: nox.Session) -> None:
    """Record how a release of PyTorch answers all probes: `nox -s record -- 2.14.1`."""
    if not session.posargs:
        session.error("Which release? Name it: nox -s record -- 2.14.1")
    # Ctrl+C reaches the script as well: it needs some seconds to remove its environment.
    session.run(*(sys.executable, "conf/probes/record.py", *session.posargs), interrupt_timeout=60)


@nox.session(python=False, default=False)
def bench(session: nox.Session) -> None:
    """Measure how the cost of a build grows: `nox -s bench -- 25 100`; all sizes take an hour."""
    python = site_python(session, "bench")
    session.run(python, "conf/bench/run.py", *session.posargs)


@nox.session(python=False, default=False)
def sweep(session: nox.Session) -> None:
    """Look at every page of the built site in a browser; `-- --firefox` adds Firefox."""
    python = site_python(session, "sweep")
    session.run(python, "tests/sweep.py", str(SITE), *session.posargs)


@nox.session(python=False, default=False)
def weight(session: nox.Session) -> None:
    """Measure what a lesson weighs beside other themes; needs npm and a Chromium."""
    python = site_python(session, "weight")
    session.run(python, "conf/bench/weight.py", *session.posargs)


@nox.session(python=False, default=False)
def linkcheck(session: nox.Session) -> None:
    """Ask every other site that a page links to; needs the network."""
    python = site_python(session, "docs")
    session.run(
        python, "-m", "sphinx", "-b", "linkcheck", "-c", "conf", "docs", "_build/linkcheck"
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, spelling, and the markup of the prose."""
    session.install("--quiet", *nox.project.dependency_groups(PROJECT, "lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("codespell")
    session.run(
        "sphinx-lint",
        "--enable=default-role",
        "docs",
        "examples",
        "README.md",
        "--ignore=docs/lessons",
    )
