"""Give every lesson matplotlib in its initial state: the default style, no own converters of units.

sphinx-gallery's own resetter loads three of matplotlib's modules anew each time, twice a lesson:
20 ms, and 300 objects that are never freed. Named as ``"fresh_matplotlib.reset_matplotlib"`` in
``reset_modules``.
"""

import copy
from typing import Any

_converters: dict[type, Any] = {}
_settings: dict[str, Any] = {}


def reset_matplotlib(gallery_conf: dict, fname: str) -> None:
    """Put back what a lesson can have changed (a resetter as sphinx-gallery calls it)."""
    # Only here: a build without a lesson to run should not import matplotlib.
    from matplotlib import pyplot, rcParams, units

    if not _converters:
        pyplot.rcdefaults()
        _converters.update(units.registry)
        _settings.update(copy.deepcopy(dict(rcParams)))  # some are lists, which can be added to
    units.registry.clear()
    units.registry.update(_converters)
    # Most lessons change nothing, and to set all three hundred settings checks each of them.
    if dict(rcParams) != _settings:
        pyplot.rcdefaults()


def setup(app):
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
