"""Record the backward passes of each lesson while sphinx-gallery runs it.

``reset``, named ``"record_lessons.reset"`` in ``reset_modules`` with
``reset_modules_order="both"``, writes ``<figure>.trace.json`` beside each figure that
``graph_figure`` makes; see ``backward_trace`` for what is in it. The environment variable
``AUTOGRAD_EXAMPLES_TRACE=0`` turns it off.
"""

import json
import os
import sys
from pathlib import Path

# The recorder needs torch, which a build without a lesson to run should not import.
_recorder = None
_figures: list[tuple[object, Path, dict[str, str]]] = []


def reset(gallery_conf: dict, fname: str | None, when: str) -> None:
    """Start to record before a lesson; write its traces after it (sphinx-gallery's resetter)."""
    global _recorder
    if _recorder is not None:
        _recorder.uninstall()
        if when == "after":
            for digraph, figure, names in _figures:
                _write(figure, _recorder.trace(digraph), names)
    _recorder = None
    _figures.clear()
    if when == "before" and fname is not None and os.environ.get("AUTOGRAD_EXAMPLES_TRACE") != "0":
        from backward_trace import Recorder

        _listen_to_figures()
        _recorder = Recorder()
        _recorder.install()


def renamed(trace: dict, names: dict[str, str]) -> dict:
    """A trace under the names of a figure.

    Args:
        names: from torchviz's names to the figure's.
    """
    if isinstance(trace, list):
        return [renamed(item, names) for item in trace]
    if not isinstance(trace, dict):
        return trace
    return {
        names.get(key, key): names[value] if key in _NAMING and value else renamed(value, names)
        for key, value in trace.items()
    }


# The keys whose value is torchviz's name of a node.
_NAMING = ("node", "to", "from")


def _listen_to_figures() -> None:
    # sphinx-gallery has imported its scrapers by now. Without this one there are no figures.
    graph_figure = sys.modules.get("graph_figure")
    if graph_figure is not None and _note_figure not in graph_figure.on_scraped:
        graph_figure.on_scraped.append(_note_figure)


def _note_figure(digraph, figure: Path, names: dict[str, str]) -> None:
    _figures.append((digraph, Path(figure), names))


def _write(figure: Path, trace: dict | None, names: dict[str, str]) -> None:
    if trace is None:
        return  # a picture that make_dot did not draw
    file = figure.with_suffix(".trace.json")
    text = json.dumps(renamed(trace, names), allow_nan=False, separators=(",", ":")) + "\n"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def setup(app):
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
