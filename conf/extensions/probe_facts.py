"""What each probe asks, and how the functions with a kink look around their point.

The records in ``docs/records/`` hold answers only. The questions, and the points of a curve,
come from the probes themselves, which need torch. A process of its own asks the installed
release for them while the lessons run, so that the build does not import torch, and
keeps the result in ``docs/_generated/probe_facts.json`` until a probe or the release changes.
Pages that show records say ``uses_records(env)``: they are read again when a record is added or
changes.

Configuration: ``records_folder`` (below the source folder) and ``probe_areas`` (the package
with the probes).
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent))  # in a process of its own, for `probes`
from docutils import nodes
from probes import records, runner
from sphinx import addnodes
from sphinx.errors import ExtensionError

# Half the width of a plot; how many samples on each side; how close the innermost ones are.
WIDTH, SAMPLES, CLOSE = 1.0, 20, 1e-4


class recorded(addnodes.not_smartquotable, nodes.Inline, nodes.TextElement):  # noqa: N801
    """Recorded code: a program, or an answer.

    Not a ``literal``: Sphinx puts a tag around each word of that, and ``literal_links`` looks for
    names to link in it.
    """


def question(probe: dict[str, Any]) -> nodes.inline:
    """A probe's question; its quotation marks are code, and stay as they are."""
    return nodes.inline("", probe["question"], support_smartquotes=False)


def _visit_recorded(self, node: recorded) -> None:
    self.body.append('<code class="recorded">')


def _depart_recorded(self, node: recorded) -> None:
    self.body.append("</code>")


def _pass(self, node: nodes.Element) -> None:
    """Other builders show the text."""


@dataclass(frozen=True)
class Material:
    """What a page is made from.

    Attributes:
        facts: see ``describe``.
        records: the records, oldest release first.
        files: all files that these came from.
    """

    facts: dict[str, Any]
    records: list[dict[str, Any]]
    files: list[Path]

    @cached_property
    def probes(self) -> dict[str, dict[str, Any]]:
        return {probe["id"]: probe for probe in self.facts["probes"]}

    @property
    def releases(self) -> list[str]:
        return [record["release"] for record in self.records]


def folder(app) -> Path:
    """The folder of the records."""
    return Path(app.srcdir) / app.config.records_folder


def material(app) -> Material:
    """Read facts and records, once in a build.

    Raises:
        ExtensionError: there is no record.
        records.RecordError: one is damaged.
    """
    if app.probe_material is None:
        app.probe_material = _read(app)
    return app.probe_material


def _read(app) -> Material:
    found = records.releases(folder(app))
    if not found:
        raise ExtensionError(
            f"{app.config.records_folder}/ has no record: make one with "
            f"'{records.command(app.config.release or 'RELEASE')}'"
        )
    files = [_stored(app), *(records.path_of(release, folder(app)) for release in found)]
    facts = json.loads(_stored(app).read_text(encoding="utf-8"))
    return Material(facts, [records.read(release, folder(app)) for release in found], files)


def uses_records(env) -> None:
    """The page that is being read shows records."""
    env.metadata[env.docname]["uses_records"] = True


def fingerprint(areas: str) -> str:
    """A text that changes whenever the facts may."""
    probes = Path(records.__file__).parent
    sources = [Path(__file__), *probes.rglob("*.py")]
    parts = [version("torch"), areas]
    parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(sources)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _stored(app) -> Path:
    return Path(app.srcdir) / "_generated" / "probe_facts.json"


def _start(app) -> None:
    app.probe_facts = app.probe_material = None
    stored, wanted = _stored(app), fingerprint(app.config.probe_areas)
    if stored.exists() and json.loads(stored.read_text())["fingerprint"] == wanted:
        return
    stored.parent.mkdir(parents=True, exist_ok=True)
    environment = runner.environment()
    paths = [environment["PYTHONPATH"], os.environ.get("PYTHONPATH", "")]
    app.probe_facts = subprocess.Popen(
        [sys.executable, __file__, app.config.probe_areas, wanted, stored],
        stderr=subprocess.PIPE,
        env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        text=True,
    )


def _wait(app, env, added, changed, removed) -> list[str]:
    """Wait for the facts; name the pages that they, or a record, have made stale."""
    if app.probe_facts is not None:
        _, errors = app.probe_facts.communicate()
        if app.probe_facts.returncode:
            raise ExtensionError(f"conf/probes could not be described:\n{errors.strip()}")
    sources = [_stored(app), *sorted(folder(app).glob("*"))]
    now = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sources]
    before, env.records_seen = getattr(env, "records_seen", None), now
    if before == now:
        return []
    return [name for name in env.found_docs if env.metadata[name].get("uses_records")]


def _stop(app, exception) -> None:
    if getattr(app, "probe_facts", None) is not None:
        app.probe_facts.kill()


def setup(app):
    others = dict.fromkeys(("latex", "text", "man", "texinfo"), (_pass, _pass))
    app.add_node(recorded, html=(_visit_recorded, _depart_recorded), **others)
    app.add_config_value("records_folder", "records", "env")
    app.add_config_value("probe_areas", "probes.areas", "env")
    # Before sphinx-gallery runs the lessons, which takes longer.
    app.connect("builder-inited", _start, priority=450)
    app.connect("env-get-outdated", _wait)
    app.connect("build-finished", _stop)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


# -- In the process that has torch -------------------------------------------------------------


def describe(areas: str) -> dict[str, Any]:
    """What the probes are about, as plain data.

    Returns:
        release: the installed release, which the curves come from.
        areas: the first line of each area's docstring.
        probes: a list in the order of the sources, each with its ``id`` and ``question``; a kink
            also has its ``family`` (the heading above it in the source), ``expression``, ``place``
            and ``curve``.
    """
    import torch
    from probes.registry import _probes, load

    torch.set_default_dtype(torch.float64)
    load(areas)
    described = {"release": version("torch").partition("+")[0], "areas": {}, "probes": []}
    families: dict[str, dict[str, str]] = {}
    for probe in _probes.values():
        if probe.area not in families:
            module = sys.modules[f"{areas}.{probe.area}"]
            described["areas"][probe.area] = (module.__doc__ or "").strip().partition("\n")[0]
            families[probe.area] = families_of(Path(module.__file__).read_text(encoding="utf-8"))
        entry: dict[str, Any] = {"id": probe.id, "question": probe.question}
        if probe.subject is not None:
            kink = probe.subject
            entry["family"] = families[probe.area].get(probe.id.partition(".")[2], "others")
            entry |= {"expression": kink.expression, "place": kink.place, "curve": curve(kink)}
        described["probes"].append(entry)
    return described


def families_of(source: str) -> dict[str, str]:
    """The name of each declared kink and the ``# -- heading ---`` that it stands under."""
    heading = re.compile(r"# -- (.+?) -+$")
    lines = source.splitlines()
    headings = {
        number: match[1] for number, line in enumerate(lines, 1) if (match := heading.match(line))
    }
    found = {}
    for statement in ast.parse(source).body:
        call = getattr(statement, "value", None)
        above = [number for number in headings if number < statement.lineno]
        if above and isinstance(call, ast.Call) and call.args:
            name = getattr(call.args[0], "value", None)
            if isinstance(name, str):
                found[name] = headings[max(above)]
    return found


def curve(kink) -> dict[str, Any] | None:
    """The function and autograd's gradient along one coordinate through the point.

    Returns:
        along: the coordinate, such as ``x[0]``, or "" where there is no other.
        position: its place in the flat list of all coordinates.
        at: its value at the point; ``value``: the function's value there.
        steps: the distances from ``at``, none of them 0, in ascending order.
        values, gradients: for each step; None where there is no finite number.
        None in place of all this where the point is not finite, or nothing can be computed.
    """
    import math

    import torch

    point = [leaf.detach() for leaf in kink.inputs(torch.float64)]
    sizes, shapes = [leaf.numel() for leaf in point], [leaf.shape for leaf in point]
    flat = torch.cat([leaf.flatten() for leaf in point]).tolist()
    if not all(map(math.isfinite, flat)):
        return None

    def sample(position: int, step: float, *, slope: bool = True):
        place = torch.tensor([*flat[:position], flat[position] + step, *flat[position + 1 :]])
        leaves = [
            part.reshape(shape).requires_grad_()
            for part, shape in zip(place.split(sizes), shapes, strict=True)
        ]
        value = gradient = math.nan
        try:
            result = kink.function(*leaves)
            value = result.item()
            if slope:
                result.backward()
                parts = [torch.zeros_like(x) if x.grad is None else x.grad for x in leaves]
                gradient = torch.cat([part.flatten() for part in parts])[position].item()
        except Exception:  # noqa: BLE001, S110 -- outside of what the function is defined on
            pass
        return tuple(float(f"{x:.6g}") if math.isfinite(x) else None for x in (value, gradient))

    def rank(position: int) -> tuple:
        low, mid, high = (sample(position, step, slope=False)[0] for step in (-CLOSE, 0.0, CLOSE))
        left = (mid - low) / CLOSE if None not in (mid, low) else 0.0
        right = (high - mid) / CLOSE if None not in (mid, high) else 0.0
        return abs(left - right) < 0.01, not (left or right), position

    # The first coordinate with a kink; else the first that matters at all.
    position = min(range(len(flat)), key=rank)
    distances = [CLOSE, *(WIDTH * k / SAMPLES for k in range(1, SAMPLES + 1))]
    steps = [*(-distance for distance in reversed(distances)), *distances]
    samples = [sample(position, step) for step in steps]
    if all(value is None for value, _ in samples):
        return None
    return {
        "along": _coordinate(kink, position),
        "position": position,
        "at": flat[position],
        "value": sample(position, 0.0)[0],
        "steps": steps,
        "values": [value for value, _ in samples],
        "gradients": [gradient for _, gradient in samples],
    }


def _coordinate(kink, position: int) -> str:
    if kink.is_plain:
        return ""
    import torch

    for name, leaf in zip("xyz", kink.inputs(torch.float64), strict=False):
        if position < leaf.numel():
            # Not `torch.unravel_index`, which imports a library for symbols, a second's work.
            index = torch.arange(leaf.numel()).reshape(leaf.shape).eq(position).nonzero()
            inside = ", ".join(map(str, index[0].tolist()))
            return f"{name}[{inside}]" if inside else name
        position -= leaf.numel()
    raise AssertionError("a position beyond the last input")


def _write(areas: str, wanted: str, target: str) -> None:
    import warnings

    warnings.simplefilter("ignore")
    described = {"fingerprint": wanted, **describe(areas)}
    text = json.dumps(described, allow_nan=False) + "\n"
    temporary = Path(target).with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, target)


if __name__ == "__main__":
    _write(*sys.argv[1:])
