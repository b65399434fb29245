"""Ask all probes under the torch of this interpreter: ``python -m probes OUTPUT``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from probes import runner

parser = argparse.ArgumentParser(prog="python -m probes", description=__doc__)
parser.add_argument("output", type=Path, help="file for the answers, as JSON")
parser.add_argument("--limit", type=float, default=runner.LIMIT, help="seconds for one probe")
options = parser.parse_args()


def _progress(id: str, answer: dict) -> None:
    kind = next(iter(answer))
    if kind != "value":
        print(f"{id}: {kind} {answer[kind]}", file=sys.stderr)


try:
    answers = runner.run(limit=options.limit, progress=_progress)
except runner.RunError as error:
    sys.exit(str(error))
except KeyboardInterrupt:
    sys.exit(130)  # record.py says what it means
options.output.write_text(json.dumps(answers), encoding="utf-8")
