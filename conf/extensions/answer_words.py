"""Recorded answers in words, and an answer's history in runs of releases.

Plain functions: no Sphinx, no torch.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from probes import compare


class Run(NamedTuple):
    """Neighbouring recorded releases that agree.

    Attributes:
        first, last: the oldest and the newest of them.
        content: what they agree on.
        when: "in all 8 releases", "up to 2.13.0", "2.0.1 to 2.9.1", "2.5.1", "from 2.14.1 on".
    """

    first: str
    last: str
    content: Any
    when: str


def runs(records: list[dict], content: Callable[[dict], Any]) -> list[Run]:
    """The history of ``content(record)``, newest run first; ``records`` are oldest first."""
    found: list[list[Any]] = []
    for record in records:
        value = content(record)
        if found and compare.same(found[-1][2], value):
            found[-1][1] = record["release"]
        else:
            found.append([record["release"], record["release"], value])
    first, last = records[0]["release"], records[-1]["release"]

    def when(start: str, end: str) -> str:
        if (start, end) == (first, last):
            return f"in all {len(records)} releases" if len(records) > 1 else f"in {start}"
        if start == first:
            return f"up to {end}"
        if end == last:
            return f"from {start} on"
        return f"in {start}" if start == end else f"{start} to {end}"

    return [Run(*run, when(*run[:2])) for run in reversed(found)]


def kind_of(answer: dict[str, Any]) -> str:
    """``value``, ``raises``, ``missing``, ``crash`` or ``timeout``."""
    return next(iter(answer))


def short(value: Any) -> str:
    """Plain data on one line: ``[0, 0.5, nan]``."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(short, value)) + "]"
    if isinstance(value, dict):
        if set(value) == {"real", "imag"}:
            return f"{short(value['real'])}{_signed(value['imag'])}i"
        return "{" + ", ".join(f"{key}: {short(part)}" for key, part in value.items()) + "}"
    return str(value)


def _signed(value: Any) -> str:
    text = short(value)
    return text if text.startswith("-") else f"+{text}"


def lines(answer: dict[str, Any], keys: Iterable[str] | None = None) -> list[str]:
    """An answer as lines of text.

    Args:
        keys: where the answer is a dict, only these of its keys.
    """
    kind, content = next(iter(answer.items()))
    if kind == "missing":
        return ["This release does not have it."]
    if kind == "raises":
        return [f"raises {content}"]
    if kind == "crash":
        return [f"The process crashed ({content})."]
    if kind == "timeout":
        return [f"No answer within {short(content)} seconds."]
    if isinstance(content, dict) and set(content) != {"real", "imag"}:
        chosen = [key for key in content if keys is None or key in keys]
        return [f"{key}: {short(content[key])}" for key in chosen]
    if isinstance(content, list) and content and all(isinstance(part, str) for part in content):
        # Names, or messages, one after the other.
        return [", ".join(content)] if all(" " not in part for part in content) else content
    if content == []:
        return ["nothing"]
    return short(content).splitlines() or ['""']


# The parts of a kink's answer in the order and the words in which a page tells them.
_KINK_PARTS = {
    "gradient": "gradient {}",
    "inside": "valid: {}",
    "forward": "by forward mode {}",
    "gradcheck": "gradcheck: {}",
    "value": "value {}",
    "left": "slope from the left {}",
    "right": "slope from the right {}",
    "limits": "gradients next to the point {}",
}


def kink_lines(answer: dict[str, Any], keys: Iterable[str] | None = None) -> list[str]:
    """The answer of a kink on one line; see ``lines``."""
    if kind_of(answer) != "value":
        return lines(answer)
    parts = [
        words.format(short(answer["value"][key]))
        for key, words in _KINK_PARTS.items()
        if key in answer["value"] and (keys is None or key in keys)
    ]
    return ["; ".join(parts)]


def changing_keys(answers: list[dict[str, Any]]) -> set[str] | None:
    """The keys whose content is not the same in all answers; None where one is not a dict."""
    contents = [answer.get("value") for answer in answers if kind_of(answer) == "value"]
    if not contents or not all(isinstance(content, dict) for content in contents):
        return None
    keys = {key for content in contents for key in content}
    return {
        key
        for key in keys
        if any(not compare.same(contents[0].get(key), content.get(key)) for content in contents)
    }


def chosen(patterns: list[str], ids: Iterable[str]) -> tuple[list[str], list[str]]:
    """The ids that the patterns name, in the order of the patterns, and what names none."""
    known, found, unknown = list(ids), [], []
    for pattern in patterns:
        matching = [id for id in known if fnmatch.fnmatchcase(id, pattern)]
        found += [id for id in matching if id not in found]
        unknown += [] if matching else [pattern]
    return found, unknown
