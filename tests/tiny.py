"""Build a tiny Sphinx site with some of our extensions."""

import os
import subprocess
import sys
from pathlib import Path

from bs4 import BeautifulSoup


def build(folder: Path, conf: str, *, quiet=True, **pages: str) -> tuple[int, str]:
    """Write ``conf.py`` and the pages (rst), and build with ``-W``: exit status, messages."""
    (folder / "conf.py").write_text(conf)
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text)
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-n",
        *(["-q"] if quiet else []),
        folder,
        folder / "html",
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stderr if quiet else done.stdout + done.stderr


def soup(folder: Path, name: str = "index") -> BeautifulSoup:
    return BeautifulSoup((folder / "html" / f"{name}.html").read_text(), "html.parser")
