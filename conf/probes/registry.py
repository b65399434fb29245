"""The list of all probes: each area's module adds its own when it is imported."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any, Callable

AREAS = "probes.areas"


@dataclass(frozen=True)
class Probe:
    """One question to PyTorch.

    Attributes:
        id: ``area.name``; it never changes, since the records and the links of pages use it.
        question: one line, as a reader would ask it.
        ask: returns the answer as plain data (see ``plain.py``). The run records an exception
            that it lets through; see ``worker.answer``.
        subject: what a declared probe is about, for pages (a ``kink.Kink``), else None.
        fresh: ask in a process of its own, for what PyTorch does only once in a process.
    """

    id: str
    question: str
    ask: Callable[[], Any]
    subject: Any = None
    fresh: bool = False

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]


_probes: dict[str, Probe] = {}


def add(new: Probe) -> None:
    """Put a probe on the list.

    Raises:
        ValueError: the id is taken.
    """
    if new.id in _probes:
        raise ValueError(f"two probes have the id {new.id}: give one of them another name")
    _probes[new.id] = new


def probe(id: str, question: str, *, fresh: bool = False) -> Callable:
    """Make a function without arguments a probe."""

    def register(function: Callable[[], Any]) -> Callable[[], Any]:
        add(Probe(id, question, function, fresh=fresh))
        return function

    return register


def load(areas: str = AREAS) -> dict[str, Probe]:
    """Import every module of the package ``areas``; return their probes, sorted by id.

    Raises:
        ValueError: a probe's area is not the name of the module that it is in.
    """
    found = {}
    for module in pkgutil.iter_modules(importlib.import_module(areas).__path__):
        before = set(_probes)
        importlib.import_module(f"{areas}.{module.name}")
        for id in set(_probes) - before:
            if _probes[id].area != module.name:
                raise ValueError(f"the probe {id} is in areas/{module.name}.py: move or rename it")
        found.update({id: _probes[id] for id in _probes if _probes[id].area == module.name})
    return dict(sorted(found.items()))
