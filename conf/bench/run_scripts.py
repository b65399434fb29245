"""Run all scripts of a folder in this process: what executing the lessons costs at least."""

import contextlib
import io
import runpy
import sys
from pathlib import Path

for script in sorted(Path(sys.argv[1]).glob("*/*.py")):
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(script), run_name="__main__")
