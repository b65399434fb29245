"""What many probes need to put their question."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

from probes.plain import described, is_missing, outcome, stable_text

__all__ = ["gradient", "leaf", "names", "outcome", "raised", "warned"]


def leaf(data: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A new leaf that requires grad."""
    return torch.tensor(data, dtype=dtype, requires_grad=True)


def gradient(function: Callable[[torch.Tensor], torch.Tensor], data: Any) -> Any:
    """The ``.grad`` of a new leaf after ``function(leaf).backward()``."""
    x = leaf(data)
    function(x).backward()
    return x.grad


def names(tensor: torch.Tensor) -> list[str]:
    """The graph's nodes, from the result back to the leaves, each once."""
    found, waiting = [], [tensor.grad_fn]
    while waiting:
        node = waiting.pop(0)
        if node is not None and node not in found:
            found.append(node)
            waiting.extend(next_node for next_node, _ in node.next_functions)
    return [type(node).__name__ for node in found]


def raised(function: Callable[[], Any]) -> str:
    """The error of the call, as text."""
    try:
        function()
    except Exception as error:
        if is_missing(error):
            raise
        return described(error)
    return "no error"


def warned(function: Callable[[], Any]) -> list[str]:
    """The warnings of the call, each once, in order; an error of the call is the last of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function()
            ends = []
        except Exception as error:
            if is_missing(error):
                raise
            ends = [described(error)]
    texts = [
        f"{warning.category.__name__}: {stable_text(str(warning.message))}" for warning in caught
    ]
    return list(dict.fromkeys(texts + ends))
