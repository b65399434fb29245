"""A drawn graph, the hooks on its nodes, and one run of the engine over it.

The parts of ``backward_trace``, which says what the data mean. Nothing here keeps a tensor or
a node alive: a hook lives in its node and knows it by the name that torchviz gave it.
"""

import gc
import math
import weakref
from collections import defaultdict
from dataclasses import dataclass, field

import torch
from tensor_summary import adds_up, one, snapshot, to_json, unseen
from torch.autograd.graph import GradientEdge, get_gradient_edge


class DrawnGraph:
    """A graph as torchviz drew it, under torchviz's names, and the runs over it.

    Args:
        params: the lesson's names of tensors, as given to ``make_dot``.
        nodes: the graph's nodes, alive since before torchviz named them.
        tensors: (tensor, role, node that takes or made its gradient).
        variables: the lesson's variables, to name what ``params`` does not.
    """

    def __init__(self, params: dict, nodes: list, tensors: list, variables: dict) -> None:
        self.runs: list[dict] = []
        self.runs_left_out = 0
        self._handles: list = []
        self._operations: list = []
        self._params = [(weakref.ref(tensor), name) for name, tensor in params.items()]
        self.nodes = {str(id(node)): _structure(node) for node in nodes}
        self.tensors = {
            str(id(tensor)): {
                "name": self.name_of(tensor, variables),
                "role": role,
                "node": str(id(node)),
                "output": tensor.output_nr,
            }
            for tensor, role, node in tensors
        }
        self.leaf_names = {
            tensor["node"]: tensor["name"]
            for tensor in self.tensors.values()
            if tensor["role"] == "leaf"
        }
        self.output_nodes = {
            tensor["node"] for tensor in self.tensors.values() if tensor["role"] == "output"
        }

    def hang_hooks(self, nodes: list, runs: list["Run"]) -> None:
        """Record at these nodes into the last of ``runs``, the runs that are under way."""
        for node in nodes:
            watch = Watch(self, str(id(node)), leaf_of(node), runs)
            handles = [node.register_prehook(watch.before), node.register_hook(watch.after)]
            self._handles += handles
            if watch.leaf is None:
                self._operations.append(handles[0])

    def is_alive(self) -> bool:
        """Whether any operation of the graph still exists, so that it can run."""
        return any(handle.hooks_dict_ref() is not None for handle in self._operations)

    def release(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._operations.clear()
        self._params.clear()

    def name_of(self, tensor: torch.Tensor, variables: dict) -> str | None:
        """The tensor's name in ``params``, else the lesson's variable, else None."""
        for reference, name in self._params:
            if reference() is tensor:
                return name
        names = (name for name, value in variables.items() if value is tensor)
        return next((name for name in names if not name.startswith("_")), None)


class Watch:
    """The two hooks that one drawn graph has on one of its nodes."""

    def __init__(self, graph: DrawnGraph, node: str, leaf, runs: list["Run"]) -> None:
        self.graph = graph
        self.node = node
        self.leaf = leaf  # only of an AccumulateGrad node, which keeps its leaf alive itself
        self._runs = runs

    def before(self, arrived: tuple) -> None:
        if not self._runs:
            return
        run = self._runs[-1]
        step = {"node": self.node}
        with unseen():
            step["arrives"] = [snapshot(gradient) for gradient in arrived]
            if self.leaf is not None:
                before = snapshot(self.leaf.grad)
                name = self.graph.leaf_names[self.node]
                step["ledger"] = {"leaf": name, "before": before, "after": before}
            # The engine fills the .grad of a tensor that retains it before it calls a hook.
            places = [place for place in run.retained if place.watch is self]
            if places:
                step["retained"] = [place.read_grad(step["arrives"]) for place in places]
        run.steps[self.graph].append(step)

    def after(self, sent: tuple, arrived: tuple) -> None:
        steps = self._runs[-1].steps[self.graph] if self._runs else []
        if not steps or steps[-1]["node"] != self.node:
            return  # drawn by a hook while this node ran
        step = steps[-1]
        with unseen():
            # Again: a hook that the lesson added after the drawing may have changed it.
            step["arrives"] = [snapshot(gradient) for gradient in arrived]
            step["sends"] = [snapshot(gradient) for gradient in sent]
            if self.leaf is not None:
                step["ledger"]["after"] = snapshot(self.leaf.grad)


@dataclass
class Place:
    """Where a tensor stands in a drawn graph, and what was read of it as a run started."""

    watch: Watch
    output: int
    name: str | None = None
    value: dict | None = None
    tensor: weakref.ref | None = None

    def read_grad(self, arrived: list[dict | None]) -> dict:
        """What the gradient that a tensor retains was, became, and by how much."""
        tensor = self.tensor()
        after = None if tensor is None else snapshot(tensor.grad)
        # A hook of the lesson may have changed what arrived since .grad was filled.
        added = after if self.value is None else arrived[self.output]
        grad = {"before": self.value, "added": added, "after": after}
        return {"name": self.name, "output": self.output, **grad}


@dataclass
class Run:
    """One call of the engine. It holds snapshots; its tensors only while the call lasts."""

    call: str
    starts: tuple
    seeds: list[list[Place]] = field(default_factory=list)  # one list for each start
    asked: list[list[Place]] = field(default_factory=list)  # one list for each of grad's inputs
    retained: list[Place] = field(default_factory=list)
    returned: list[dict | None] = field(default_factory=list)
    steps: dict[DrawnGraph, list[dict]] = field(default_factory=lambda: defaultdict(list))

    def find_places(self, gradients: tuple, inputs: tuple, variables: dict) -> None:
        """Look up the call's tensors in the drawn graphs, before it starts."""
        gradients = gradients or (None,) * len(self.starts)
        for start, gradient in zip(self.starts, gradients, strict=False):
            value = snapshot(gradient) if torch.is_tensor(gradient) else one(start)
            self.seeds.append(_places(start, value=value))
        if self.call == "grad":
            self.asked = [_places(tensor, variables) for tensor in inputs]
        if _passes_a_drawn_graph(self.starts):
            self._find_retained(inputs, variables)

    def _find_retained(self, inputs: tuple, variables: dict) -> None:
        # backward(inputs=...) makes its inputs retain their gradient, but only later.
        given = [t for t in inputs if torch.is_tensor(t) and self.call == "backward"]
        found = [t for t in gc.get_objects() if type(t) is torch.Tensor and t.retains_grad]
        for tensor in {id(tensor): tensor for tensor in given + found}.values():
            if not tensor.is_leaf:
                before = snapshot(tensor.grad) if tensor.retains_grad else None
                self.retained += _places(tensor, variables, before)

    def is_same_call(self, starts: tuple) -> bool:
        return not self.steps and [*map(id, self.starts)] == [*map(id, starts)]

    def concerns(self, graph: DrawnGraph) -> bool:
        """Whether the run started at an operation of the graph, or came through its output.

        A leaf's AccumulateGrad does not count: all graphs that use the leaf share it.
        """
        started = [place.watch for places in self.seeds for place in places]
        return any(watch.graph is graph and watch.leaf is None for watch in started) or any(
            step["node"] in graph.output_nodes for step in self.steps[graph]
        )

    def over(self, graph: DrawnGraph, error: str | None) -> dict:
        """The run as it went over one drawn graph, as JSON data."""
        inside = all(any(place.watch.graph is graph for place in p) for p in self.seeds)
        parts: dict[tuple[str, int], list[dict]] = defaultdict(list)
        for place in (place for places in self.seeds for place in places):
            if place.watch.graph is graph:
                part = {"from": None, "input_index": None, "value": place.value}
                parts[place.watch.node, place.output].append(part)
        steps = self.steps[graph] + self._returned_steps(graph)
        for step in steps:
            node = step["node"]
            step["parts"] = [
                # Other outputs of the node are no matter of what is returned for one of them.
                []
                if "returned" in step and step["returned"]["output"] != output
                else parts[node, output]
                for output in range(len(step["arrives"]))
            ]
            step["difference"] = _difference(step, inside)
            if "ledger" in step:
                step["ledger"]["added"] = step["arrives"][0]
            if "sends" not in step:
                step["failed"] = True
            step["sends"] = _sends(graph.nodes[node]["inputs"], step.get("sends", []))
            for sent in filter(None, step["sends"]):
                if sent["value"] is not None:
                    part = {"from": node, "input_index": sent["input_index"]}
                    parts[sent["to"], sent["output"]].append(part | {"value": sent["value"]})
        return _as_json({"call": self.call, "error": error, "inside": inside, "steps": steps})

    def _returned_steps(self, graph: DrawnGraph) -> list[dict]:
        steps = []
        for places, value in zip(self.asked, self.returned, strict=False):
            for place in (place for place in places if place.watch.graph is graph):
                arrives = [None] * place.output + [value]
                returned = {"name": place.name, "output": place.output, "value": value}
                step = {"node": place.watch.node, "arrives": arrives, "sends": []}
                steps.append(step | {"returned": returned})
        return steps


def leaf_of(node) -> torch.Tensor | None:
    return node.variable if type(node).__name__ == "AccumulateGrad" else None


# Numbers of the call that a node keeps. Only of these: to read a saved tensor may run a hook.
_SCALARS = {
    "AddBackward0": ("alpha",),
    "SubBackward0": ("alpha",),
    "RsubBackward0": ("alpha",),
    "RsubBackward1": ("alpha",),
    "AddmmBackward0": ("beta", "alpha"),
    "PowBackward0": ("exponent",),
}


def _structure(node) -> dict:
    op = type(node).__name__
    inputs = [
        {"to": str(id(to)), "output": output} if to is not None else None
        for to, output in node.next_functions
    ]
    saved = {name: getattr(node, f"_saved_{name}", None) for name in _SCALARS.get(op, ())}
    scalars = {
        name: value
        for name, value in saved.items()
        if type(value) in (int, float) and math.isfinite(value)
    }
    return {"op": op, "inputs": inputs} | ({"scalars": scalars} if scalars else {})


def _places(tensor, variables: dict | None = None, value: dict | None = None) -> list[Place]:
    """Find a tensor, or a GradientEdge, in the drawn graphs."""
    node, output = _edge(tensor)
    if node is None:
        return []
    places = [Place(watch, output, value=value) for watch in _watches(node)]
    if torch.is_tensor(tensor) and variables is not None:
        for place in places:
            place.name = place.watch.graph.name_of(tensor, variables)
            place.tensor = weakref.ref(tensor)
    return places


def _edge(tensor) -> tuple:
    """A tensor's node, and which output of it the tensor is; a leaf's is AccumulateGrad."""
    try:
        if isinstance(tensor, GradientEdge):
            return tensor.node, tensor.output_nr
        if tensor.grad_fn is not None:
            return tensor.grad_fn, tensor.output_nr
        return get_gradient_edge(tensor).node, 0
    except (RuntimeError, AttributeError):
        return None, 0  # needs no gradient, is a view that a change in place broke, or no tensor


def _passes_a_drawn_graph(starts: tuple) -> bool:
    """Whether a run from here comes to an operation of a drawn graph."""
    waiting = [_edge(start)[0] for start in starts]
    seen = {None}
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if any(watch.leaf is None for watch in _watches(node)):
            return True
        waiting += [following for following, _ in node.next_functions]
    return False


def _watches(node) -> list[Watch]:
    """Our hooks on a node.

    The Python object of a node may not be the one that was drawn. Its dictionary of pre-hooks
    is the same, and holds our hooks; a hook that is added and removed again leads to it.
    """
    handle = node.register_prehook(_no_hook)
    hooks = handle.hooks_dict_ref().values()
    watches = [hook.__self__ for hook in hooks if getattr(hook, "__func__", None) is Watch.before]
    handle.remove()
    return watches


def _no_hook(arrived: tuple) -> None:
    """Never called."""


def _sends(inputs: list, values: list) -> list[dict | None]:
    return [
        to and {**to, "input_index": index, "value": value}
        for index, (to, value) in enumerate(zip(inputs, values, strict=False))
    ]


def _difference(step: dict, inside: bool) -> str | None:
    """Why what arrived is not the sum of its parts, if it is not."""
    for total, parts in zip(step["arrives"], step["parts"], strict=True):
        if not adds_up(total, [part["value"] for part in parts]):
            return "hook" if inside else "outside"
    return None


def _as_json(data):
    if isinstance(data, dict):
        if "dtype" in data:
            return to_json(data)
        return {key: _as_json(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_as_json(item) for item in data]
    return data
