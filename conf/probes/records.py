"""The records: one file for each release, ``docs/records/<release>.json``."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "records"

RELEASE = re.compile(r"\d+\.\d+\.\d+")
FACTS = {
    "release": RELEASE,
    "build": re.compile(r"\d+\.\d+\.\d+(\+\w+)?"),
    "python": re.compile(r"\d+\.\d+\.\d+"),
    "numpy": re.compile(r"\d+(\.\d+)+|None"),
    "platform": re.compile(r"\w+ \w+"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
}
# The kinds of answer, and what each holds; see runner.run.
ANSWERS = {"value": object, "missing": str, "raises": str, "crash": str, "timeout": float}
ID = re.compile(r"[a-z_]+\.[a-z0-9_]+")


class RecordError(Exception):
    """A record is missing, damaged or edited by hand; the message names the remedy."""


def command(release: str) -> str:
    """What to type to make the record of a release anew."""
    return f"nox -s record -- {release}"


def path_of(release: str, folder: Path = FOLDER) -> Path:
    return folder / f"{release}.json"


def releases(folder: Path = FOLDER) -> list[str]:
    """The recorded releases, oldest first.

    Raises:
        RecordError: a file is named after no release.
    """
    names = [path.stem for path in folder.glob("*.json")]
    for name in names:
        if not RELEASE.fullmatch(name):
            raise RecordError(
                f"{path_of(name, folder)}: the name of a record is its release, such as 2.14.1. "
                "Rename the file, or move it out of this folder."
            )
    return sorted(names, key=release_order)


def release_order(release: str) -> tuple[int, ...]:
    """A sort key: 2.9.1 comes before 2.10.0."""
    return tuple(map(int, release.split(".")))


def text_of(record: dict[str, Any]) -> str:
    """The file's text: sorted, one fact and one answer a line, so that a diff is short."""

    def line(key: str, value: Any) -> str:
        content = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return f"{json.dumps(key)}: {content}"

    facts = [f" {line(key, record[key])}," for key in sorted(FACTS)]
    answers = [f"  {line(id, answer)}" for id, answer in sorted(record["probes"].items())]
    return "\n".join(["{", *facts, ' "probes": {', ",\n".join(answers), " }", "}", ""])


def write(record: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Check a record and put it in its place, all of it or nothing."""
    path = path_of(record["release"], folder)
    check(record, path)
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=str(folder), suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text_of(record))
        os.chmod(temporary, 0o644)
        os.replace(temporary, str(path))
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def read(release: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Read and check the record of a release.

    Raises:
        RecordError: there is none, or it is not as ``write`` made it.
    """
    path = path_of(release, folder)
    if not path.exists():
        raise RecordError(
            f"{path}: PyTorch {release} has no record. To make it: {command(release)}"
        )
    try:
        text = path.read_text(encoding="utf-8")
        record = json.loads(text)
    except ValueError as error:
        raise _damaged(path, f"is not whole JSON in UTF-8 ({error})") from None
    check(record, path)
    if text != text_of(record):
        raise _damaged(path, "is not sorted as it was written, so it was edited by hand")
    return record


def _damaged(path: Path, problem: str) -> RecordError:
    return RecordError(f"{path}: the record {problem}. Make it anew: {command(path.stem)}")


def check(record: Any, path: Path) -> None:
    """Hold a record against the schema.

    Raises:
        RecordError: with the file, what is wrong in it, and the remedy.
    """
    if not isinstance(record, dict) or set(record) != {*FACTS, "probes"}:
        raise _damaged(path, f"does not have exactly the keys {', '.join(sorted(FACTS))}, probes")
    for key, pattern in FACTS.items():
        if not pattern.fullmatch(str(record[key])):
            raise _damaged(path, f"has {record[key]!r} as its {key}")
    if record["release"] != path.stem:
        raise _damaged(path, f"is of release {record['release']}, which is not the file's name")
    if not isinstance(record["probes"], dict) or not record["probes"]:
        raise _damaged(path, "has no probes")
    for id, answer in record["probes"].items():
        if not ID.fullmatch(id):
            raise _damaged(path, f"has a probe with the id {id!r}, which is not area.name")
        if not _is_answer(answer):
            raise _damaged(path, f"has no valid answer to {id}")


def _is_answer(answer: Any) -> bool:
    if not isinstance(answer, dict) or len(answer) != 1:
        return False
    ((kind, content),) = answer.items()
    return kind in ANSWERS and isinstance(content, ANSWERS[kind])
