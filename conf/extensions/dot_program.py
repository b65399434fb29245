"""Find and run the program that lays out graphs.

The project installs ``graphviz-pure``, a ``dot`` in a Python package, so that no system
package is needed. The environment variable ``GRAPHVIZ_DOT`` names another one.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

# A renderer that waits for something would hold the build for ever.
TIMEOUT = 120  # seconds for one graph
REMEDY = "Run `python -m pip install graphviz-pure`, or set GRAPHVIZ_DOT to a dot program."


class DotError(RuntimeError):
    """No renderer was found, or it could not draw. The message says what to do."""


def find_dot() -> str:
    """The renderer's path: ``GRAPHVIZ_DOT``, then ``graphviz-pure``, then the system's ``dot``.

    Raises:
        DotError: none of them exists.
    """
    if chosen := os.environ.get("GRAPHVIZ_DOT"):
        if found := shutil.which(chosen):
            return found
        raise DotError(f"GRAPHVIZ_DOT is {chosen!r}, and no such program exists. {REMEDY}")
    # Beside this Python first: an environment that is not activated is not on PATH.
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    beside = os.pathsep.join(folders)
    for program, path in (("graphviz-pure", beside), ("graphviz-pure", None), ("dot", None)):
        if found := shutil.which(program, path=path):
            return found
    raise DotError(
        f"no program to draw graphs: looked for graphviz-pure in {beside} and on PATH, "
        f"and for dot on PATH. {REMEDY}"
    )


def draw(source: str) -> str:
    """Lay out a graph in Graphviz's language and return it as SVG.

    Raises:
        DotError: no renderer, or it refused the graph; its own words are in the message.
    """
    program = find_dot()
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=source,
            capture_output=True,
            encoding="utf-8",
            check=False,  # a failure is reported below, with the program's own words
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise DotError(f"{program} did not draw a graph in {TIMEOUT} s. {REMEDY}") from None
    except OSError as error:
        raise DotError(f"{program} could not be run ({error}). {REMEDY}") from error
    if done.returncode != 0 or "<svg" not in done.stdout:
        raise DotError(
            f"{program} could not draw a graph (exit {done.returncode}): {done.stderr.strip()}"
        )
    try:
        ElementTree.fromstring(done.stdout)
    except ElementTree.ParseError as error:
        raise DotError(
            f"{program} wrote an SVG that is not well-formed ({error}): "
            "is there a control character in a label?"
        ) from None
    return done.stdout
