"""Compare answers and records as data."""

from __future__ import annotations

from typing import Any, NamedTuple

# Two machines add in different orders and have different vector units: the last digits differ.
RELATIVE, ABSOLUTE = 1e-4, 1e-6


def same(a: Any, b: Any) -> bool:
    """Whether two answers agree.

    Numbers agree when they differ by at most 1e-6 + 1e-4 of the larger one. NaN equals NaN
    (see ``plain.py``: it is a text here). A boolean is not a number. Two "missing" agree,
    since Python words that, not PyTorch.
    """
    if _is_number(a) and _is_number(b):
        return abs(a - b) <= ABSOLUTE + RELATIVE * max(abs(a), abs(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        if set(a) == set(b) == {"missing"}:
            return True
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Change(NamedTuple):
    """A probe whose answers differ; an answer is None where its record lacks the probe."""

    id: str
    old: dict[str, Any] | None
    new: dict[str, Any] | None


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """The probes whose answers differ between two records, sorted by id."""
    before, after = old["probes"], new["probes"]
    pairs = [Change(id, before.get(id), after.get(id)) for id in sorted({*before, *after})]
    return [pair for pair in pairs if not same(pair.old, pair.new)]
