"""Hold the installed release of PyTorch against its record: ``python -m probes.installed``.

The build of the site runs this. The exit status is 1 where an answer is not the recorded one.
"""

from __future__ import annotations

import argparse
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
        if not self.recorded:
            return without_record(self.release)
        if not self.disagreements:
            return f"PyTorch {self.release} answers all probes as recorded."
        file = records.path_of(self.release).name
        count = f"{len(self.disagreements)} of {len(self.run['probes'])} probes"
        here = f"PyTorch {self.release} ({_where(self.run)})"
        lines = [
            f"{here} answers {count} otherwise than {file} ({_where(self.record)}):",
            *(_line(change) for change in self.disagreements),
            f"If the new answers are right, record them: {records.command(self.release)}",
        ]
        return "\n".join(lines)


class DisagreementError(Exception):
    """The installed release does not answer as its record says."""


def without_record(release: str) -> str:
    """What there is to say where the installed release has no record."""
    return (
        f"PyTorch {release} has no record, so the pages tell of other releases only. "
        f"To add it: {records.command(release)}"
    )


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
    release = runner.release_of(python)
    if release not in records.releases(folder):
        return Check(release, False, [], {}, {})
    record = records.read(release, folder)
    run = runner.run(python, limit, areas)
    check = Check(release, True, compare.changes(record, run), record, run)
    if check.disagreements:
        raise DisagreementError(check.message)
    return check


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m probes.installed", description=__doc__)
    parser.add_argument("--records", type=Path, default=records.FOLDER, help="their folder")
    parser.add_argument("--areas", default=runner.AREAS, help="the package of the probes")
    options = parser.parse_args()
    try:
        print(check_installed(folder=options.records, areas=options.areas).message)
    except (DisagreementError, records.RecordError, runner.RunError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
