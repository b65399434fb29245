"""A kink: a function at a point where it has no single slope, and what is true there.

A kink is declared by an expression in ``x`` (and ``y``, ``z``) and a point. The expression is
both what a page shows and the program that runs, so the two cannot drift apart.
"""

from __future__ import annotations

import math
import random
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable

import torch
import torch.nn.functional as F  # noqa: N812 -- the name that every PyTorch program uses
from torch.autograd import gradcheck

from probes.plain import is_missing, name_of, numbers, outcome
from probes.registry import Probe, add

NAMES = "xyz"
# Two steps, powers of two so that point + step is exact: a slope that grows by more than GROWTH
# from the first to the second is infinite. Both are well below the 1e-6 that some functions add.
FAR, NEAR, GROWTH = 2.0**-26, 2.0**-34, 1.1
# How far from the point gradients are sampled, in how many directions, and by which step: so
# much smaller than the radius that a norm, whose slope turns around the point, looks straight.
RADIUS, DIRECTIONS, STEP = 2.0**-28, 24, 2.0**-38
# A function that moves more than this within NEAR jumps; a sampled slope above STEEP has no bound.
JUMP, STEEP = 1e-3, 5e3
# More limits than this are not corners of a set but a curve, or a surface.
MOST_CORNERS = 8


@dataclass(frozen=True)
class Kink:
    """A function and a point.

    Attributes:
        expression: Python, in terms of ``x``, ``y``, ``z``, ``torch``, ``F`` and ``inf``; its
            value is a scalar tensor.
        point: one float, or nested list of floats, for each input.
        measured: False where rounding inside the function is as large as its changes around
            the point, so that slopes cannot be measured.
    """

    expression: str
    point: tuple
    measured: bool = True

    @cached_property
    def function(self) -> Callable[..., torch.Tensor]:
        """The function: takes one tensor for each input, returns a scalar tensor."""
        arguments = ", ".join(NAMES[: len(self.point)])
        names = {"torch": torch, "F": F, "inf": math.inf}
        return eval(f"lambda {arguments}: {self.expression}", names)

    @property
    def place(self) -> str:
        """The point as text: ``x = 0``."""
        return ", ".join(f"{NAMES[i]} = {_short(value)}" for i, value in enumerate(self.point))

    def inputs(self, dtype: torch.dtype) -> list[torch.Tensor]:
        """New leaves at the point."""
        return [torch.tensor(value, dtype=dtype, requires_grad=True) for value in self.point]

    @property
    def is_plain(self) -> bool:
        """Whether there is a single input and it is a number."""
        return len(self.point) == 1 and not isinstance(self.point[0], list)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_short, value)) + "]"
    return f"{value:g}"


def declare(area: str, name: str, expression: str, *point: Any, measured: bool = True) -> None:
    """Register the probe of a kink."""
    kink = Kink(expression, point, measured)
    question = f"What is the gradient of {expression} at {kink.place}?"
    add(Probe(f"{area}.{name}", question, lambda: facts(kink), subject=kink))


def facts(kink: Kink) -> dict[str, Any]:
    """All that is recorded of a kink.

    Returns:
        value: the function's value at the point.
        gradient: what ``backward()`` gives, in float32; a list for an input that is a list, a
            list of such for several inputs; None where nothing arrives; the name of an error.
        forward: the same by forward mode, one coordinate at a time, as a flat list (a number
            for a single number); the name of an error.
        left, right: the slopes from below and from above, in float64, along each coordinate,
            in the form of ``forward``. NaN where the function is not defined on that side;
            None where slopes cannot be measured.
        limits: the gradients found next to the point, sorted; the valid subgradients are all
            their averages (for one input: all numbers between them; Clarke 1983, section 1.2).
            None where the function jumps or has no finite value; "many" where they are not a
            few corners but a curve.
        inside: whether ``gradient`` is a valid subgradient; None where that cannot be said.
        gradcheck: "passes", "fails" or the name of another error.
    """
    gradient = outcome(_gradient, kink)
    with _float64():
        value, left, right = _slopes(kink)
        limits = _limits(kink, value, left, right) if kink.measured else None
        verdict = _gradcheck(kink)
    few = limits is None or len(limits) <= MOST_CORNERS
    if kink.is_plain:
        (left,), (right,) = left, right
    return {
        "value": value,
        "gradient": gradient,
        "forward": outcome(_tangents, kink),
        "left": left if kink.measured else None,
        "right": right if kink.measured else None,
        "limits": limits if few else "many",
        "inside": _inside(_flat(gradient), limits),
        "gradcheck": verdict,
    }


class _float64:  # noqa: N801 -- used like a function
    """Make float64 the default, so that constants in an expression have the inputs' type."""

    def __enter__(self) -> None:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *error: object) -> None:
        torch.set_default_dtype(self.before)


def _gradient(kink: Kink) -> Any:
    inputs = kink.inputs(torch.float32)
    kink.function(*inputs).backward()
    found = [None if leaf.grad is None else numbers(leaf.grad) for leaf in inputs]
    return found if len(found) > 1 else found[0]


def _tangents(kink: Kink) -> Any:
    try:
        from torch.autograd import forward_ad
    except ImportError:  # it came with release 1.8
        return "no forward mode"
    found = []
    for position in range(_size(kink)):
        tangent = [0.0] * _size(kink)
        tangent[position] = 1.0
        with forward_ad.dual_level(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inputs = [tensor.detach() for tensor in kink.inputs(torch.float32)]
            tangents = _tensors(kink, tangent, torch.float32)
            # No zip(strict=True): Python 3.8 lacks it.
            duals = [forward_ad.make_dual(inputs[i], tangents[i]) for i in range(len(inputs))]
            slope = forward_ad.unpack_dual(kink.function(*duals)).tangent
            found.append(None if slope is None else slope.item())
    return found[0] if kink.is_plain else found


def _gradcheck(kink: Kink) -> str:
    try:
        gradcheck(kink.function, kink.inputs(torch.float64))
    except Exception as error:
        if is_missing(error):
            raise
        # Early releases raise a plain RuntimeError.
        failed = name_of(error) == "GradcheckError" or "mismatch" in str(error)
        return "fails" if failed else name_of(error)
    return "passes"


def _flat(value: Any) -> list:
    return [x for item in value for x in _flat(item)] if isinstance(value, list) else [value]


def _size(kink: Kink) -> int:
    return len(_flat(list(kink.point)))


def _tensors(kink: Kink, flat: list[float], dtype: torch.dtype) -> list[torch.Tensor]:
    """A flat list of numbers in the form of the inputs."""
    tensors, used = [], 0
    for leaf in kink.inputs(dtype):
        part = flat[used : used + leaf.numel()]
        tensors.append(torch.tensor(part, dtype=dtype).reshape(leaf.shape))
        used += leaf.numel()
    return tensors


def _evaluate(kink: Kink, place: list[float]) -> float:
    """The function's value in float64; NaN where it raises."""
    with torch.no_grad():
        try:
            return kink.function(*_tensors(kink, place, torch.float64)).item()
        except Exception as error:
            if is_missing(error):
                raise
            return math.nan


def _moved(place: list[float], direction: list[float], step: float) -> list[float]:
    return [place[i] + step * direction[i] for i in range(len(place))]


def _axis(size: int, position: int) -> list[float]:
    return [1.0 if i == position else 0.0 for i in range(size)]


def _slopes(kink: Kink) -> tuple[float, list[float], list[float]]:
    """The value at the point, and the slopes from below and from above."""
    point = _flat(list(kink.point))
    value = _evaluate(kink, point)

    def slope(direction: list[float], sign: float) -> float:
        far, near = (
            (_evaluate(kink, _moved(point, direction, sign * step)) - value) / (sign * step)
            for step in (FAR, NEAR)
        )
        if not math.isfinite(near):
            return math.nan
        jumps = abs(near) * NEAR > JUMP
        steep = abs(near) > 1 and abs(near) > GROWTH * abs(far)
        return math.copysign(math.inf, near) if jumps or steep else round(near, 4)

    axes = [_axis(len(point), position) for position in range(len(point))]
    return value, [slope(axis, -1.0) for axis in axes], [slope(axis, 1.0) for axis in axes]


def _limits(kink: Kink, value: float, left: list, right: list) -> list | None:
    """The gradients next to the point, each once, sorted; None where there are none."""
    if not math.isfinite(value):
        return None
    if kink.is_plain:
        point = float(kink.point[0])
        around = [_evaluate(kink, [point + sign * NEAR]) for sign in (-1, 1)]
        if any(math.isfinite(near) and abs(near - value) > JUMP for near in around):
            return None
        return sorted({slope for slope in left + right if not math.isnan(slope)}) or None
    return _sampled_limits(kink, value)


def _sampled_limits(kink: Kink, value: float) -> list | None:
    """Gradients at places near the point, where the function is smooth: central differences."""
    chance = random.Random(0)
    point = _flat(list(kink.point))
    found: list[list[float]] = []
    for _ in range(DIRECTIONS):
        direction = [chance.gauss(0, 1) for _ in point]
        length = math.sqrt(sum(part * part for part in direction))
        place = _moved(point, [part / length for part in direction], RADIUS)
        here = _evaluate(kink, place)
        if math.isfinite(here) and abs(here - value) > JUMP:
            return None
        gradient = _smooth_gradient(kink, place, here)
        if any(abs(part) > STEEP for part in gradient):
            return None
        if gradient and not any(_alike(gradient, other) for other in found):
            found.append(gradient)
    return sorted([round(part, 3) + 0.0 for part in gradient] for gradient in found) or None


def _smooth_gradient(kink: Kink, place: list[float], here: float) -> list[float]:
    """Central differences; empty where the function is not smooth within a step."""
    gradient = []
    for position in range(len(place)):
        axis = _axis(len(place), position)
        above = (_evaluate(kink, _moved(place, axis, STEP)) - here) / STEP
        below = (here - _evaluate(kink, _moved(place, axis, -STEP))) / STEP
        if not _alike([above], [below]):
            return []
        gradient.append((above + below) / 2)
    return gradient


def _alike(a: list[float], b: list[float]) -> bool:
    """Whether two sampled gradients are one, up to the error of the sampling."""
    return all(abs(a[i] - b[i]) <= 0.005 + 0.001 * abs(a[i]) for i in range(len(a)))


def _inside(gradient: list, limits: list | None) -> bool | None:
    """Whether the gradient is an average of the limits.

    For several inputs: seen from every direction, it does not lie beyond all of the limits.
    That is the definition of a convex hull; a fixed sample of directions stands for all.
    """
    if limits is None or any(isinstance(part, str) for part in gradient):
        return None
    gradient = [0.0 if part is None else part for part in gradient]
    if any(math.isnan(part) for part in gradient):
        return False
    if not isinstance(limits[0], list):
        return limits[0] - 1e-3 <= gradient[0] <= limits[-1] + 1e-3
    slack = 1e-2 if len(limits) <= MOST_CORNERS else 0.1
    chance = random.Random(1)
    for _ in range(500):
        direction = [chance.gauss(0, 1) for _ in gradient]
        length = math.sqrt(sum(part * part for part in direction))
        seen = [sum(d * v for d, v in zip(direction, limit)) for limit in limits]
        if sum(d * g for d, g in zip(direction, gradient)) > max(seen) + slack * length:
            return False
    return True
