"""Ask all probes, so that a crash or a hang is an answer too and costs only that one probe."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable

from probes.registry import AREAS

# Seconds for one probe, and for `import torch`, which takes minutes from a cold disk.
LIMIT = 60.0
START_LIMIT = 600.0


class RunError(Exception):
    """No probe could be asked at all."""


class WorkerDied(Exception):  # noqa: N818 -- not an error of the run: an answer
    """The process ended while it was asked; the argument is its exit status."""


class Worker:
    """A process with torch in it, in the interpreter ``python``."""

    def __init__(self, python: str, areas: str):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- as long as the process
        self._process = subprocess.Popen(
            [python, "-m", "probes.worker", areas],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            env=environment(),
        )
        self._lines: queue.Queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.hello = self._receive(START_LIMIT)
        except (WorkerDied, TimeoutError):
            self.stop()
            raise RunError(
                f"{python} could not start the probes:\n{self._last_errors()}"
            ) from None

    def ask(self, id: str, limit: float) -> dict[str, Any]:
        """Ask one probe.

        Raises:
            TimeoutError: no answer within ``limit`` seconds.
            WorkerDied: the process ended instead.
        """
        try:
            self._process.stdin.write(id + "\n")
            self._process.stdin.flush()
        except OSError:
            raise WorkerDied(self._process.wait()) from None
        return self._receive(limit)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _receive(self, limit: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError(limit) from None
        if line is None:
            raise WorkerDied(self._process.wait())
        return json.loads(line)

    def _last_errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()[-2000:]


def environment() -> dict[str, str]:
    """The surroundings of a worker: this package on the path, nothing of the user's."""
    conf = str(Path(__file__).resolve().parent.parent)
    own = {"PYTHONPATH": conf, "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    # Variables such as TORCH_LOGS or PYTHONWARNINGS would change what the probes see.
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TORCH"))
    }
    return {**kept, **own}


def release_of(python: str = sys.executable) -> str:
    """The release of torch that an interpreter has, found without starting torch.

    Raises:
        RunError: it has none.
    """
    question = "from importlib.metadata import version; print(version('torch'))"
    command = [python, "-c", question]
    asked = subprocess.run(command, check=False, capture_output=True, text=True, env=environment())
    if asked.returncode:
        raise RunError(f"{python} has no torch: install it there.")
    return asked.stdout.strip().partition("+")[0]


def run(
    python: str = sys.executable,
    limit: float = LIMIT,
    areas: str = AREAS,
    progress: Callable[[str, dict], None] = lambda id, answer: None,
) -> dict[str, Any]:
    """Ask all probes in the interpreter ``python``.

    Returns:
        What ``worker.facts`` says, and under "probes" the answer to each id, sorted: besides
        those of ``worker.answer``, ``{"crash": signal or exit status}`` and
        ``{"timeout": seconds}``.

    Raises:
        RunError: the interpreter has no torch, or it does not start.
    """
    worker = Worker(python, areas)
    hello, answers = worker.hello, {}
    try:
        for id, fresh in sorted(hello["probes"].items()):
            if fresh:
                own = Worker(python, areas)
                answers[id], _ = _ask(own, id, limit)
                own.stop()
            else:
                answers[id], alive = _ask(worker, id, limit)
                if not alive:
                    worker.stop()
                    worker = Worker(python, areas)
            progress(id, answers[id])
    finally:
        worker.stop()
    return {**hello["facts"], "probes": answers}


def _ask(worker: Worker, id: str, limit: float) -> tuple[dict[str, Any], bool]:
    """The answer, and whether the worker can be asked again."""
    try:
        return worker.ask(id, limit), True
    except TimeoutError:
        return {"timeout": limit}, False
    except WorkerDied as died:
        status = died.args[0]
        names = {-number.value: number.name for number in signal.Signals}
        return {"crash": names.get(status, f"exit status {status}")}, False
