"""Record what autograd's engine does while a lesson runs, unnoticed by the lesson.

A lesson draws a graph with ``torchviz.make_dot`` and calls ``backward()`` later. The recorder
hangs public hooks (``Node.register_prehook`` and ``register_hook``) on the nodes of the drawn
graph. They see the order of execution, what arrives at a node and what it sends along each
edge, and read the numbers at once. No second backward pass is run, no graph is kept alive.

A trace is plain data::

    {"nodes": {name: {"op": "MulBackward0", "inputs": [{"to": name, "output": 0}, None, ...]}},
     "tensors": {name: {"name": "x", "role": "leaf", "node": name, "output": 0}},
     "runs": [{"call": "backward", "error": None, "inside": True, "steps": [step, ...]}],
     "runs_left_out": 0}

and a step is::

    {"node": name,
     "arrives": [value, ...],                                # one for each forward output
     "parts": [[{"from": name, "input_index": 0, "value": value}, ...], ...],
     "difference": None,
     "sends": [{"to": name, "output": 0, "input_index": 0, "value": value}, None, ...],
     # and, where it applies:
     "ledger": {"leaf": "x", "before": value, "added": value, "after": value},
     "retained": [{"name": "h", "output": 0, "before": value, "added": value, "after": value}],
     "returned": {"name": "x", "output": 0, "value": value},
     "failed": True}

* A ``value`` is what ``tensor_summary.to_json`` makes of a tensor, or None where there is no
  gradient. ``role`` is leaf, output or base (of a view). A tensor's ``name`` is the one in
  ``params``, else its variable in the lesson, else None.
* A node has ``scalars`` where the call gave numbers that its rule needs: ``{"exponent": 2}``.
* ``inputs`` and ``sends`` follow the inputs of the forward operation; None is one that needs no
  gradient. ``output`` counts the outputs of the node that receives.
* ``parts`` are what the engine added up, in its order. ``from`` is None for the gradient that
  the call started with. ``difference`` says why they do not add up to what arrived: a "hook"
  of the lesson changed it, or a part came from "outside" of the picture.
* ``inside``: the run started at nodes of the picture. Else it came through its output.
* ``ledger``: what AccumulateGrad did to a leaf's ``.grad``. ``retained``: the same for tensors
  with ``retain_grad()``, at the node that made them.
* ``returned``: ``torch.autograd.grad`` returned what arrived here, and the node did not run.
  Such steps stand at the end. ``failed``: the node started, and raised ``error``.
"""

import functools
import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import Self

import torch
import torchviz
from tensor_summary import snapshot, unseen
from torch.autograd.graph import GradientEdge
from traced_graph import DrawnGraph, Run, leaf_of

# A lesson that repeats backward on one graph would outgrow its page.
MOST_RUNS = 20

# The parameters that say where a run starts, and with which gradients.
_STARTS = {"backward": ("tensors", "grad_tensors"), "grad": ("outputs", "grad_outputs")}


class Recorder:
    """Record the backward passes over all graphs drawn between ``install`` and ``uninstall``.

    Also a context manager. It replaces ``torchviz.make_dot``, to hang hooks on the nodes, and
    ``torch.autograd.backward`` and ``torch.autograd.grad``, to know where a run starts and
    ends. The replacements return and raise what the originals do.
    """

    def __init__(self) -> None:
        self._graphs: list[tuple[object, DrawnGraph]] = []
        self._runs: list[Run] = []  # more than one where a backward itself calls backward
        self._originals: list[tuple[object, str, object]] = []

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, *error) -> None:
        self.uninstall()

    def install(self) -> None:
        make_dot = self._drawing(torchviz.make_dot)
        self._replace(torchviz, "make_dot", make_dot)
        self._replace(torchviz.dot, "make_dot", make_dot)
        for call in _STARTS:
            self._replace(torch.autograd, call, self._observing(getattr(torch.autograd, call)))

    def uninstall(self) -> None:
        """Put the functions back and remove all hooks. The traces stay readable."""
        while self._originals:
            setattr(*self._originals.pop())
        for _, graph in self._graphs:
            graph.release()

    def trace(self, digraph) -> dict | None:
        """What was recorded over a graph; None where it was not drawn under this recorder.

        Args:
            digraph: the very object that ``make_dot`` returned. The trace uses its names.
        """
        for drawn, graph in self._graphs:
            if drawn is digraph:
                return {
                    "nodes": graph.nodes,
                    "tensors": graph.tensors,
                    "runs": graph.runs,
                    "runs_left_out": graph.runs_left_out,
                }
        return None

    def _replace(self, module, name: str, replacement) -> None:
        self._originals.append((module, name, getattr(module, name)))
        setattr(module, name, replacement)

    def _drawing(self, original):
        signature = inspect.signature(original)

        @functools.wraps(original)
        def make_dot(*args, **kwargs):
            # torchviz names a node by the id() of its Python object. PyTorch may make that anew
            # at each access unless one is alive, so these stay until the hooks are in place.
            with unseen():
                nodes, tensors = _walk(args[0] if args else kwargs.get("var"))
            digraph = original(*args, **kwargs)
            params = signature.bind(*args, **kwargs).arguments.get("params") or {}
            with unseen():
                graph = DrawnGraph(params, nodes, tensors, _lesson_variables())
                graph.hang_hooks(nodes, self._runs)
            self._graphs.append((digraph, graph))
            return digraph

        return _skipped_by_warnings(make_dot)

    def _observing(self, original):
        signature = inspect.signature(original)

        @functools.wraps(original)
        def observed(*args, **kwargs):
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return original(*args, **kwargs)  # which says what is wrong in its own words
            for name, value in bound.arguments.items():
                if isinstance(value, Iterator):  # such as parameters(): it can be read once
                    bound.arguments[name] = tuple(value)
            run = self._start(original.__name__, bound.arguments)
            try:
                result = original(*bound.args, **bound.kwargs)
            except BaseException as error:
                self._end(run, error=f"{type(error).__name__}: {error}")
                raise
            self._end(run, result)
            return result

        return _skipped_by_warnings(observed)

    def _start(self, call: str, arguments: dict) -> Run | None:
        if not any(graph.is_alive() for _, graph in self._graphs):
            return None
        starts, gradients = (_in_tuple(arguments.get(name)) for name in _STARTS[call])
        # Where a mode or a tensor subclass listens, torch calls its own function again.
        if self._runs and self._runs[-1].is_same_call(starts):
            return None
        run = Run(call, starts)
        with unseen():
            run.find_places(gradients, _in_tuple(arguments.get("inputs")), _lesson_variables())
        self._runs.append(run)
        return run

    def _end(self, run: Run | None, result=None, error: str | None = None) -> None:
        if run is None:
            return
        self._runs.remove(run)
        if run.call == "grad" and error is None:
            values = result.values() if isinstance(result, dict) else result
            with unseen():
                run.returned = [snapshot(value) for value in values]
        for _, graph in self._graphs:
            if not run.concerns(graph):
                continue
            if len(graph.runs) < MOST_RUNS:
                graph.runs.append(run.over(graph, error))
            else:
                graph.runs_left_out += 1


def _walk(outputs) -> tuple[list, list]:
    """The nodes that torchviz is about to name, and the tensors: (tensor, role, node)."""
    roles = [(tensor, "output") for tensor in _in_tuple(outputs) if torch.is_tensor(tensor)]
    tensors, nodes = [], {}
    for tensor, role in roles:  # torchviz draws the base of a view as well
        if tensor._is_view():
            roles.append((tensor._base, "base"))
        if tensor.grad_fn is not None:
            tensors.append((tensor, role, tensor.grad_fn))
    waiting = [node for _, _, node in tensors]
    while waiting:
        node = waiting.pop(0)
        if node in nodes:
            continue
        nodes[node] = None
        if (leaf := leaf_of(node)) is not None:
            tensors.append((leaf, "leaf", node))
        waiting += [following for following, _ in node.next_functions if following is not None]
    return list(nodes), tensors


def _in_tuple(value) -> tuple:
    """What torch makes of one tensor, several, a dict of them, or None."""
    if isinstance(value, torch.Tensor | GradientEdge):
        return (value,)
    if isinstance(value, dict):
        return tuple(value.values())
    return tuple(value) if isinstance(value, Iterable) else ()  # else torch will refuse it


def _lesson_variables() -> dict:
    """The module variables of the code that called into torch or torchviz."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").split(".")[0] in (__name__, "torch", "torchviz"):
        frame = frame.f_back
    return frame.f_globals


def _skipped_by_warnings(function):
    """Keep a replacement out of the count of frames by which a warning finds its line.

    ``warnings.warn(..., stacklevel=2)`` inside of torch means the lesson's line. Python does
    not count frames of its import system, and tells them by these two words.
    """
    name = "backward_trace.py (as importlib._bootstrap)"
    function.__code__ = function.__code__.replace(co_filename=name)
    return function
