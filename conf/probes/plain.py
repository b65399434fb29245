"""Answers as plain data: the same in every run, on every machine, and valid JSON."""

from __future__ import annotations

import math
import re
from typing import Any, Callable

import torch

DIGITS = 6


def plain(value: Any) -> Any:
    """Turn a tensor, number, text, or a list or dict of such into JSON's types.

    Numbers keep 6 significant digits, and the sign of a zero is dropped. JSON has no number
    for NaN and the infinities: they become the texts "nan", "inf" and "-inf".

    Raises:
        TypeError: the value is of another type.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return stable_text(value)
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") + 0.0 if math.isfinite(value) else str(value)
    if isinstance(value, complex):
        return {"real": plain(value.real), "imag": plain(value.imag)}
    if isinstance(value, torch.Tensor):
        return plain(numbers(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (torch.dtype, torch.layout)):
        return str(value)
    raise TypeError(f"a probe's answer is plain data, not a {type(value).__name__}")


def numbers(tensor: torch.Tensor) -> Any:
    """A tensor's elements as nested lists.

    ``tolist`` refuses a gradient that PyTorch keeps as "all zeros" without memory (that of
    ``sgn``); an addition gives it memory.
    """
    return (torch.zeros_like(tensor) + tensor.detach()).tolist()


_STABLE = [
    # What PyTorch adds for its own developers: all backends of this build, places in its code.
    (re.compile(r" This could be because the operator doesn't exist.*", re.DOTALL), ""),
    (re.compile(r" '[\w:.]+' is only available for these.*", re.DOTALL), ""),
    (re.compile(r"\s*\(Triggered internally at .*?\)"), ""),
    (re.compile(r"\n\nAt:\n.*", re.DOTALL), ""),
    (re.compile(r"\s*Exception raised from .*\(most recent call first\).*", re.DOTALL), ""),
    # Paths, but not the addresses of web pages.
    (re.compile(r"(?<![\w/:.])/(?:[\w.+-]+/)+[\w.+-]+|\b[A-Za-z]:\\[^\s\"']+"), "(path)"),
    (re.compile(r"\b0x[0-9a-fA-F]+"), "(address)"),
    (re.compile(r"\bline \d+"), "line (number)"),
    (re.compile(r"(\.(?:py|cpp|h)|\(path\)):\d+"), r"\1:(number)"),
]


def stable_text(text: str) -> str:
    """Take out what differs between runs or machines: addresses, paths, line numbers."""
    for pattern, replacement in _STABLE:
        text = pattern.sub(replacement, text)
    return text.strip()


def is_missing(error: BaseException) -> bool:
    """Whether the error says that this release lacks what was asked for."""
    if isinstance(error, (AttributeError, ImportError)):
        return True
    if isinstance(error, ValueError):  # so checkpoint says it, before it knew this argument
        return str(error).startswith("Unexpected keyword arguments: use_reentrant")
    return isinstance(error, TypeError) and "unexpected keyword argument" in str(error)


def name_of(error: BaseException) -> str:
    """An error's public name: torch.linalg.LinAlgError calls itself _LinAlgError."""
    return type(error).__name__.lstrip("_")


def described(error: BaseException) -> str:
    """An error as one text: its name and its message."""
    return f"{name_of(error)}: {stable_text(str(error))}"


def outcome(function: Callable, *args: Any) -> Any:
    """What the call returns, or the name of the error that it raises.

    The wording of an error is a question of its own (area "messages"): otherwise a new wording
    would look like a new behaviour. An error that tells of a missing API goes through: it is
    not an answer.
    """
    try:
        return function(*args)
    except Exception as error:
        if is_missing(error):
            raise
        return name_of(error)
