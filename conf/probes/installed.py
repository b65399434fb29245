"""Hold the installed release of PyTorch against its record; the build of the site calls this."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probes import compare, records, runner


@dataclass(frozen=True)
class Check:
    """What the comparison found.

    Attributes:
        release: the installed release.
        recorded: whether it has a record. Without one there is nothing to disagree with.
        disagreements: the probes whose fresh answer is not the recorded one; ``old`` is the
            record's, ``new`` the fresh one.
        record: the facts of the record, and those of this run (``platform``, ``python``).
        run: see ``record``.
    """

    release: str
    recorded: bool
    disagreements: list[compare.Change]
    record: dict[str, Any]
    run: dict[str, Any]

    @property
    def message(self) -> str:
        """The finding as text, with both answers of each probe and what to type."""
        command = records.command(self.release)
        if not self.recorded:
            return (
                f"PyTorch {self.release} has no record, so the pages tell of other releases "
                f"only. To add it: {command}"
            )
        if not self.disagreements:
            return f"PyTorch {self.release} answers all probes as recorded."
        file = records.path_of(self.release).name
        count = f"{len(self.disagreements)} of {len(self.run['probes'])} probes"
        here = f"PyTorch {self.release} ({_where(self.run)})"
        lines = [
            f"{here} answers {count} otherwise than {file} ({_where(self.record)}):",
            *(_line(change) for change in self.disagreements),
            f"If the new answers are right, record them: {command}",
        ]
        return "\n".join(lines)


class DisagreementError(Exception):
    """The installed release does not answer as its record says."""


def _where(facts: dict[str, Any]) -> str:
    return f"Python {facts['python']}, {facts['platform']}"


def _line(change: compare.Change) -> str:
    return f"  {change.id}\n    recorded: {_short(change.old)}\n    now:      {_short(change.new)}"


def _short(answer: dict[str, Any] | None) -> str:
    text = "no such probe" if answer is None else json.dumps(answer, ensure_ascii=False)
    return text if len(text) <= 300 else text[:297] + "..."


def check_installed(
    python: str = sys.executable,
    folder: Path = records.FOLDER,
    limit: float = runner.LIMIT,
    areas: str = runner.AREAS,
) -> Check:
    """Run all probes under the torch of ``python``, in processes of their own, and compare.

    Raises:
        DisagreementError: an answer differs; the message names each probe, both answers and the
            command that records anew.
        records.RecordError: the record is damaged.
        runner.RunError: torch does not start.
    """
    check = compare_installed(python, folder, limit, areas)
    if check.disagreements:
        raise DisagreementError(check.message)
    return check


def compare_installed(
    python: str = sys.executable,
    folder: Path = records.FOLDER,
    limit: float = runner.LIMIT,
    areas: str = runner.AREAS,
) -> Check:
    """The same, but disagreements are only returned."""
    release = runner.release_of(python)
    if release not in records.releases(folder):
        return Check(release, False, [], {}, {})
    record = records.read(release, folder)
    run = runner.run(python, limit, areas)
    return Check(release, True, compare.changes(record, run), record, run)
