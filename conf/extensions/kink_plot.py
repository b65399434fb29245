"""A small picture of a function and of autograd's gradient around a point, as SVG.

Two panels, one above the other, each with a scale of its own: the function as a solid line, the
gradient as a dashed one. Colours come from ``records.css``, so that the picture follows the page.
"""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import Any

# Of the picture, and of a panel in it, in pixels.
WIDTH, HEIGHT = 150, 124
LEFT, RIGHT, PANEL = 34, 146, 50
TOPS = (6, 68)


def draw(curve: dict[str, Any], name: str, returned: list[tuple[float, str]]) -> str:
    """One picture.

    Args:
        curve: see ``probe_facts.curve``.
        name: for those who cannot see it.
        returned: what autograd returns at the point, newest release first, each with a title.

    Returns:
        An ``<svg>`` element.
    """
    steps = curve["steps"]
    marks = [(curve["value"], "")] if curve["value"] is not None else []
    parts = [
        _panel(TOPS[0], steps, curve["values"], marks, "f"),
        _panel(TOPS[1], steps, curve["gradients"], returned, "g"),
    ]
    return (
        f'<svg class="kink-plot" role="img" aria-label="{escape(name)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">{"".join(parts)}</svg>'
    )


def _panel(top: int, steps: list, values: list, marks: list, kind: str) -> str:
    least, most = _range([v for v in values if v is not None] + [value for value, _ in marks])
    margin = (most - least) * 0.08
    low, high = least - margin, most + margin

    def x(step: float) -> float:
        return LEFT + (step - steps[0]) / (steps[-1] - steps[0]) * (RIGHT - LEFT)

    def y(value: float) -> float:
        return top + PANEL * (1 - (value - low) / (high - low))

    middle = f"{x(0):g}"
    drawn = [
        f'<path class="box" d="M{LEFT} {top}V{top + PANEL}H{RIGHT}"/>',
        f'<path class="at" d="M{middle} {top}V{top + PANEL}"/>',
        f'<text x="{LEFT - 3}" y="{y(most) + 3:.4g}">{_tick(most)}</text>',
        f'<text x="{LEFT - 3}" y="{y(least) + 3:.4g}">{_tick(least)}</text>',
    ]
    path = ""
    for part in _pieces(steps, values, low, high):
        points = straightened([(x(step), y(value)) for step, value in part])
        path += "M" + "L".join(f"{a:.4g} {b:.4g}" for a, b in points)
    drawn.append(f'<path class="{kind}" d="{path}"/>')
    for number, (value, title) in enumerate(marks):
        if low <= value <= high:
            # The newest is a filled dot, the others are rings.
            dot = f'<circle class="{kind}{"" if number == 0 else " old"}" '
            dot += f'cx="{middle}" cy="{y(value):.4g}" r="3.5"'
            drawn.append(f"{dot}><title>{escape(title)}</title></circle>" if title else f"{dot}/>")
    return "".join(drawn)


def _pieces(steps: list, values: list, low: float, high: float) -> list[list[tuple]]:
    """Neighbouring points inside the panel; nothing joins the two sides of the point."""

    def inside(pair: tuple) -> tuple[bool, bool]:
        step, value = pair
        return step > 0, value is not None and low <= value <= high

    return [
        list(part)
        for (_, shown), part in groupby(zip(steps, values, strict=True), inside)
        if shown
    ]


def _range(values: list[float]) -> tuple[float, float]:
    """What a panel shows: everything, unless a few values are far away from the others."""
    ordered = sorted(values)
    if not ordered:
        return 0.0, 1.0
    tenth = len(ordered) // 10
    inner = ordered[tenth : len(ordered) - tenth]
    spread = (inner[-1] - inner[0]) or 1.0
    low = max(ordered[0], inner[0] - spread)
    high = min(ordered[-1], inner[-1] + spread)
    if high - low < 1e-3:
        low, high = low - 0.5, high + 0.5
    return low, high


def _tick(value: float) -> str:
    # Two digits are enough for an axis, and fit.
    return f"{value:.2g}".replace("-", "\N{MINUS SIGN}")


def straightened(points: list[tuple[float, float]], slack: float = 0.3) -> list[tuple]:
    """The same line with fewer points: none is further than ``slack`` from what it was.

    This is the Ramer-Douglas-Peucker algorithm, with vertical distances.
    """
    if len(points) < 3:
        return points
    (x0, y0), (x1, y1) = points[0], points[-1]
    distances = [abs(y0 + (y1 - y0) * (x - x0) / (x1 - x0) - y) for x, y in points]
    far = max(range(len(points)), key=distances.__getitem__)
    if distances[far] <= slack:
        return [points[0], points[-1]]
    return straightened(points[: far + 1], slack)[:-1] + straightened(points[far:], slack)
