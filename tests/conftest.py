"""The real site, built once a test run, twice, from a clean copy of the sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parent.parent
SOURCES = ("conf", "docs", "examples")
GENERATED = shutil.ignore_patterns("lessons", "_generated", "__pycache__", ".ruff_cache")
# A build that asked for anything from the network would fail here, and say so.
OFFLINE = {
    name: "http://127.0.0.1:9"
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
}
# Sphinx colours its messages under CI, which would split what the tests look for.
os.environ["NO_COLOR"] = "1"
# One build of the test run asks PyTorch all probes; that is enough.
NO_CHECK = ("-D", "check_release=0")


def copy_sources(folder: Path) -> Path:
    """Copy what a clean checkout has of the site's sources."""
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=GENERATED)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    return folder


def build(
    folder: Path, *options: str, alone: bool = False, **environment: str
) -> subprocess.Popen:
    """Start the build that ``nox -s docs`` runs, in a copy of the sources.

    Args:
        alone: in a group of processes of its own, which can be ended as a whole.
    """
    env = {key: value for key, value in os.environ.items() if not key.startswith("COV_")}
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-c", "conf"]
    return subprocess.Popen(
        [*command, "-d", "_build/doctrees", *options, "docs", "_build/html"],
        cwd=folder,
        env=env | OFFLINE | {"SITE_URL": "", "REPOSITORY_URL": ""} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=alone,
    )


def run_build(folder: Path, *options: str, **environment: str) -> tuple[int, str]:
    """Build and wait. Returns the exit status and all that was printed."""
    process = build(folder, *NO_CHECK, *options, **environment)
    output, _ = process.communicate()
    return process.returncode, output


# Every host but the tests' own servers is blocked.
BROWSER_OPTIONS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@pytest.fixture(scope="session")
def builds(tmp_path_factory) -> list[Path]:
    """Two clean builds, one in parallel processes and one not; their source folders."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # The folder of the test run: the first worker builds for all of them.
        folder = folder.parent
    folders = [folder / "site1", folder / "site2"]
    with FileLock(folder / "sites.lock"):
        if not (folder / "sites.built").exists():
            build_both(*folders)
            (folder / "sites.built").touch()
    return folders


def build_both(first: Path, second: Path) -> None:
    processes = [
        build(copy_sources(first), "-j", "2"),
        build(copy_sources(second), *NO_CHECK),
    ]
    for process in processes:
        output, _ = process.communicate()
        assert process.returncode == 0, output


@pytest.fixture(scope="session")
def site(builds) -> Path:
    """The folder of the built site's HTML."""
    return builds[0] / "_build" / "html"


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; skipped where the machine has none, except under CI."""
    program = find_chromium()
    if program is None:
        message = "no Chromium or Chrome on this machine: install one to run the browser tests"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=BROWSER_OPTIONS)
        yield browser
        browser.close()
