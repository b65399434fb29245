"""The process that holds torch and answers probes, one at a time, as it is told.

It reads one probe's id a line, and writes one line of JSON for each; first of all it says what
it is. ``runner.py`` starts it, and starts another when it dies or hangs.
"""

from __future__ import annotations

import json
import os
import platform
import random
import sys
import warnings
from importlib import metadata
from typing import Any

import torch

from probes.plain import described, is_missing, plain
from probes.registry import Probe, load


def answer(probe: Probe) -> dict[str, Any]:
    """Ask one probe: ``{"value": ...}``, ``{"missing": text}`` or ``{"raises": text}``."""
    reset()
    try:
        return {"value": plain(probe.ask())}
    except Exception as error:
        return {"missing" if is_missing(error) else "raises": described(error)}


def reset() -> None:
    """Put back every state of PyTorch that a probe can have changed."""
    random.seed(0)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    torch.set_printoptions(profile="default")
    torch.set_num_threads(1)
    if hasattr(torch, "set_warn_always"):
        # Otherwise only the first probe that meets one of PyTorch's own warnings would see it.
        torch.set_warn_always(True)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def facts() -> dict[str, Any]:
    """What the answers depend on, besides the probes."""
    try:
        numpy = metadata.version("numpy")
    except metadata.PackageNotFoundError:
        numpy = None
    return {
        "release": torch.__version__.partition("+")[0],
        "build": torch.__version__,
        "python": platform.python_version(),
        "numpy": numpy,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def main(areas: str) -> None:
    # What a probe, or PyTorch, prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(data: Any) -> None:
        answers.write(json.dumps(data) + "\n")
        answers.flush()

    probes = load(areas)
    fresh = {id: probe.fresh for id, probe in probes.items()}
    say({"facts": facts(), "probes": fresh})
    for line in sys.stdin:
        say(answer(probes[line.strip()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
