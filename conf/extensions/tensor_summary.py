"""Tensors as plain data: what a page can show, compare and store as JSON.

``snapshot`` reads a tensor at once and keeps no reference to it. ``to_json`` turns what it
read into data that survives JSON and that a page can print: the text is what ``print`` shows.
"""

import math
from contextlib import contextmanager

import torch

# A tensor with more elements is described by its shape, range and norm.
MOST_ELEMENTS = 16
# JavaScript's numbers are 64-bit floats: larger integers would lose digits.
LARGEST_EXACT_INTEGER = 2**53


@contextmanager
def unseen():
    """Read tensors without a trace: no graph, and no mode or subclass of the lesson sees it."""
    # In this order: a mode that listens would hear of no_grad too.
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
        yield


def snapshot(tensor: torch.Tensor | None) -> dict | None:
    """Read a tensor now: shape, dtype, and its values or (if large) their range and norm.

    Call it inside ``unseen()``. Values that cannot be read (a tensor that ``vmap`` has
    batched, or one without storage) are left out.
    """
    if tensor is None:
        return None
    seen = _form(tensor)
    try:
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        if tensor.numel() <= MOST_ELEMENTS:
            seen["values"] = tensor.tolist()
        else:
            seen |= _range_and_norm(tensor)
    except (RuntimeError, NotImplementedError):
        pass
    return seen


def one(start) -> dict:
    """The snapshot of the gradient that a run starts with where none is given: 1.

    Args:
        start: a tensor, or a GradientEdge, of one element.
    """
    if not isinstance(start, torch.Tensor):
        return {"shape": [], "dtype": "float32", "values": 1.0}
    values = 1.0
    for _ in start.shape:
        values = [values]
    return _form(start) | {"values": values}


def _form(tensor: torch.Tensor) -> dict:
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}


def _range_and_norm(tensor: torch.Tensor) -> dict:
    wide = (tensor.abs() if tensor.is_complex() else tensor).double()
    finite = wide[wide.isfinite()]
    seen = {"norm": wide.norm().item()}
    if finite.numel():
        seen["range"] = [finite.min().item(), finite.max().item()]
    if not_finite := wide.numel() - finite.numel():
        seen["not_finite"] = not_finite
    return seen


def adds_up(total: dict | None, parts: list[dict]) -> bool:
    """Whether a snapshot is the sum of others, as far as rounding and their size let one say."""
    if total is None or len(parts) == 0:
        return total is None and len(parts) == 0
    if len(parts) == 1 and "values" not in total:
        return all(repr(total.get(k)) == repr(parts[0].get(k)) for k in ("range", "norm"))
    if any("values" not in seen for seen in [total, *parts]):
        return True  # too large to know
    columns = zip(*(_flat(part["values"]) for part in parts), strict=True)
    sums = zip(_flat(total["values"]), columns, strict=True)
    return all(_is_sum_of(value, column, total["dtype"]) for value, column in sums)


def _is_sum_of(value, parts: tuple, dtype: str) -> bool:
    if isinstance(value, complex):
        return _is_sum_of(value.real, tuple(part.real for part in parts), dtype) and _is_sum_of(
            value.imag, tuple(part.imag for part in parts), dtype
        )
    expected = sum(parts)
    limits = torch.finfo(getattr(torch, dtype))
    if abs(expected) > limits.max:
        return math.isinf(value)
    if not math.isfinite(expected):
        return math.isnan(expected) and math.isnan(value)
    return abs(value - expected) <= len(parts) * limits.eps * sum(map(abs, parts))


def to_json(seen: dict | None) -> dict | None:
    """A snapshot as JSON data.

    Returns:
        ``shape``, ``dtype`` and ``text``, one line in the form that ``print`` uses. Besides, for
        up to ``MOST_ELEMENTS``, ``values``: a number, or nested lists. For more ``norm``,
        ``range`` (smallest and largest finite value, of complex numbers the size) and, where
        some are not finite, their number ``not_finite``.

        Numbers that JSON or JavaScript cannot hold are strings: ``"nan"``, ``"inf"``,
        ``"-inf"``, complex numbers (``"1.0-2.0j"``) and integers above 2**53.
    """
    if seen is None:
        return None
    data = {key: _plain(value) for key, value in seen.items()}
    return data | {"text": _text(seen)}


def _plain(value):
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, complex):
        imaginary = _plain(value.imag)
        sign = "" if str(imaginary).startswith("-") else "+"
        return f"{_plain(value.real)}{sign}{imaginary}j"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) > LARGEST_EXACT_INTEGER:
        return str(value)
    return value


def _text(seen: dict) -> str:
    if "values" in seen:
        return _nested(seen["values"], _formatter(_flat(seen["values"])))
    parts = [f"shape {tuple(seen['shape'])}"]
    if "range" in seen:
        low, high = seen["range"]
        parts.append(f"from {low:.4g} to {high:.4g}")
    if "norm" in seen:
        parts.append(f"norm {seen['norm']:.4g}")
    if "not_finite" in seen:
        parts.append(f"{seen['not_finite']} not finite")
    return ", ".join(parts)


def _flat(values) -> list:
    """The numbers of nested lists, in order."""
    if not isinstance(values, list):
        return [values]
    return [number for item in values for number in _flat(item)]


def _nested(values, write) -> str:
    if isinstance(values, list):
        return f"[{', '.join(_nested(item, write) for item in values)}]"
    return write(values)


def _formatter(numbers: list):
    """How torch would print each of these numbers: one style for the whole tensor."""
    if numbers and isinstance(numbers[0], complex):
        real = _formatter([number.real for number in numbers])
        imaginary = _formatter([number.imag for number in numbers])

        def write(number: complex) -> str:
            text = imaginary(number.imag)
            return f"{real(number.real)}{'' if text[0] == '-' else '+'}{text}j"

        return write
    if not numbers or not isinstance(numbers[0], float):
        return str
    sizes = [abs(number) for number in numbers if math.isfinite(number) and number]
    if sizes and (max(sizes) / min(sizes) > 1000 or max(sizes) > 1e8 or min(sizes) < 1e-4):
        return "{:.4e}".format
    if all(size.is_integer() for size in sizes):
        return lambda number: f"{number:.0f}" + ("." if math.isfinite(number) else "")
    return "{:.4f}".format
