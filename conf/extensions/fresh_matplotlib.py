"""Give every lesson matplotlib in its initial state: the default style, no own converters of units.

sphinx-gallery's own resetter loads three of matplotlib's modules anew each time, twice a lesson:
20 ms, and 300 objects that are never freed. Named as ``"fresh_matplotlib.reset_matplotlib"`` in
``reset_modules``.
"""

from typing import Any

_converters: dict[type, Any] = {}


def reset_matplotlib(gallery_conf: dict, fname: str) -> None:
    """Put back what a lesson can have changed (a resetter as sphinx-gallery calls it)."""
    # Only here: a build without a lesson to run should not import matplotlib.
    from matplotlib import pyplot, units

    if not _converters:
        _converters.update(units.registry)
    units.registry.clear()
    units.registry.update(_converters)
    pyplot.rcdefaults()


def setup(app):
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
