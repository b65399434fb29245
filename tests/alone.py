"""Run a script in a process of its own; imports nothing that a reader would not have."""

import os
import runpy
import sys
from pathlib import Path


def run_alone(script: Path, folder: Path, printed: Path) -> None:
    """Run a script as ``python script`` does, in a folder; what it prints goes into a file."""
    with printed.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    os.environ["MPLBACKEND"] = "agg"
    sys.argv = [str(script)]
    runpy.run_path(str(script), run_name="__main__")
