"""What is recorded and what is not: grad mode, inference mode, anomaly mode, lost graphs."""

from __future__ import annotations

import threading

import torch

from probes.registry import probe
from probes.tools import leaf, outcome, warned


@probe(
    "modes.factory_in_no_grad",
    "Does zeros(2, requires_grad=True) require grad inside no_grad and inference_mode?",
)
def factory_in_no_grad():
    with torch.no_grad():
        a = torch.zeros(2, requires_grad=True).requires_grad
    with torch.inference_mode():
        b = torch.zeros(2, requires_grad=True).requires_grad
    return {"no_grad": a, "inference_mode": b}


@probe(
    "modes.parameter_in_no_grad",
    "Does a Parameter made inside no_grad or inference_mode require grad?",
)
def parameter_in_no_grad():
    with torch.no_grad():
        a = torch.nn.Parameter(torch.zeros(2)).requires_grad
    with torch.inference_mode():
        b = torch.nn.Parameter(torch.zeros(2)).requires_grad
    return {"no_grad": a, "inference_mode": b}


@probe(
    "modes.result_in_no_grad",
    "Does x * 2 require grad inside no_grad, enable_grad within it, and inference_mode?",
)
def result_in_no_grad():
    x = leaf([1.0])
    seen = {}
    with torch.no_grad():
        seen["no_grad"] = (x * 2).requires_grad
        with torch.enable_grad():
            seen["enable_grad in no_grad"] = (x * 2).requires_grad
    with torch.inference_mode():
        seen["inference_mode"] = (x * 2).requires_grad
        with torch.enable_grad():
            seen["enable_grad in inference_mode"] = (x * 2).requires_grad
    return seen


@probe(
    "modes.defined_with_set_grad_enabled_false",
    "Is grad mode still on after a function decorated with set_grad_enabled(False) was defined?",
)
def defined_with_set_grad_enabled_false():
    def define():
        @torch.set_grad_enabled(False)
        def function():
            return torch.is_grad_enabled()

        return {"after the definition": torch.is_grad_enabled(), "inside": function()}

    return outcome(define)


@probe(
    "modes.set_grad_enabled_as_call",
    "Does set_grad_enabled(False) take effect when it is called as a plain function?",
)
def set_grad_enabled_as_call():
    torch.set_grad_enabled(False)
    return torch.is_grad_enabled()


@probe(
    "modes.no_grad_without_parentheses",
    "Does the decorator @torch.no_grad work without parentheses?",
)
def no_grad_without_parentheses():
    def use():
        @torch.no_grad
        def function():
            return torch.is_grad_enabled()

        return function()

    return outcome(use)


@probe(
    "modes.inference_mode_without_parentheses",
    "Does the decorator @torch.inference_mode work without parentheses?",
)
def inference_mode_without_parentheses():
    def use():
        @torch.inference_mode
        def function():
            return torch.is_inference_mode_enabled()

        return function()

    return outcome(use)


@probe(
    "modes.no_grad_in_generator",
    "Is grad mode off for the caller while a generator is paused inside no_grad?",
)
def no_grad_in_generator():
    def generator():
        with torch.no_grad():
            yield
        yield

    steps = generator()
    next(steps)
    paused = torch.is_grad_enabled()
    next(steps)
    return {"paused inside": paused, "after leaving": torch.is_grad_enabled()}


@probe(
    "modes.decorated_generator",
    "Is grad mode off for the caller while a generator decorated with no_grad() is paused?",
)
def decorated_generator():
    @torch.no_grad()
    def generator():
        yield torch.is_grad_enabled()

    inside = next(generator())
    return {"inside": inside, "caller": torch.is_grad_enabled()}


@probe("modes.new_thread", "Which grad mode does a thread have that was started inside no_grad?")
def new_thread():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    return seen[0]


@probe("modes.grad_mode_after_error", "Is grad mode on again after an error inside no_grad?")
def grad_mode_after_error():
    try:
        with torch.no_grad():
            raise ValueError
    except ValueError:
        return torch.is_grad_enabled()


@probe("modes.backward_in_no_grad", "Does backward work inside no_grad on a graph made outside?")
def backward_in_no_grad():
    x = leaf(2.0)
    y = x**2
    with torch.no_grad():
        y.backward()
    return x.grad


@probe(
    "modes.create_graph_in_no_grad",
    "Does grad(..., create_graph=True) inside no_grad return a result with history?",
)
def create_graph_in_no_grad():
    x = leaf(2.0)
    y = x**2
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g.requires_grad


@probe(
    "modes.eval_and_no_grad",
    "Which of eval() and no_grad() changes requires_grad of the output, and dropout?",
)
def eval_and_no_grad():
    layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(1.0))
    layers.eval()
    y = layers(torch.ones(1, 2))
    seen = {"eval": {"requires_grad": y.requires_grad, "dropout acts": bool((y == 0).all())}}
    layers.train()
    with torch.no_grad():
        y = layers(torch.ones(1, 2))
    seen["no_grad"] = {"requires_grad": y.requires_grad, "dropout acts": bool((y == 0).all())}
    return seen


@probe(
    "modes.inference_tensor_in_add",
    "Can an inference tensor be added to a tensor that requires grad?",
)
def inference_tensor_in_add():
    with torch.inference_mode():
        feature = torch.ones(1) * 3
    w = leaf([1.0])
    (w + feature).sum().backward()
    return w.grad


@probe(
    "modes.inference_tensor_cloned",
    "Can a clone of an inference tensor be multiplied with a weight?",
)
def inference_tensor_cloned():
    with torch.inference_mode():
        feature = torch.ones(1) * 3
    w = leaf([1.0])
    (w * feature.clone()).sum().backward()
    return w.grad


@probe(
    "modes.is_inference_of_view_and_clone",
    "Which tensors made from an inference tensor are inference tensors?",
)
def is_inference_of_view_and_clone():
    with torch.inference_mode():
        x = torch.ones(2)
    return {
        "x": x.is_inference(),
        "x[:1]": x[:1].is_inference(),
        "x.clone()": x.clone().is_inference(),
        "x + 1": (x + 1).is_inference(),
    }


@probe(
    "modes.version_of_inference_tensor", "What does reading _version of an inference tensor give?"
)
def version_of_inference_tensor():
    with torch.inference_mode():
        x = torch.ones(2)
    return outcome(lambda: x._version)


@probe(
    "modes.detach_keeps_recording", "What is recorded by no_grad() and by detach() of the result?"
)
def detach_keeps_recording():
    x = leaf([1.0])
    y = x.exp()
    u = y.detach()
    with torch.no_grad():
        v = x.exp()
    return {
        "y.grad_fn": type(y.grad_fn).__name__,
        "u.grad_fn": u.grad_fn,
        "v.grad_fn": v.grad_fn,
        "u is a leaf": u.is_leaf,
    }


@probe(
    "modes.anomaly_nan_in_forward",
    "Does anomaly mode stop at a NaN that is made in the forward pass?",
)
def anomaly_nan_in_forward():
    with torch.autograd.set_detect_anomaly(True):
        x = leaf([0.0])
        y = x / 0.0
    return y


@probe("modes.anomaly_inf_gradient", "Does anomaly mode stop at an infinite gradient?")
def anomaly_inf_gradient():
    with torch.autograd.set_detect_anomaly(True):
        x = leaf([0.0])
        outcome_ = outcome(lambda: torch.sqrt(x).sum().backward())
    return {"error": outcome_, "x.grad": x.grad}


@probe("modes.anomaly_nan_gradient", "What does anomaly mode raise at a NaN gradient?")
def anomaly_nan_gradient():
    with torch.autograd.set_detect_anomaly(True):
        return outcome(lambda: (leaf([0.0]) ** 2).sqrt().sum().backward())


@probe(
    "modes.anomaly_nan_in_nan_out",
    "Does anomaly mode stop when the NaN comes in with the gradient?",
)
def anomaly_nan_in_nan_out():
    x = leaf([1.0])
    with torch.autograd.set_detect_anomaly(True):
        return outcome(lambda: (x * 2).backward(torch.tensor([float("nan")])))


@probe("modes.anomaly_check_nan_false", "Does anomaly mode with check_nan=False let a NaN pass?")
def anomaly_check_nan_false():
    x = leaf([0.0])
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        (x**2).sqrt().sum().backward()
    return x.grad


@probe(
    "modes.module_requires_grad_false", "Does a frozen layer still pass a gradient to its input?"
)
def module_requires_grad_false():
    layer = torch.nn.Linear(1, 1).requires_grad_(False)
    x = torch.ones(1, 1, requires_grad=True)
    layer(x).sum().backward()
    return {"x.grad is None": x.grad is None, "weight.grad is None": layer.weight.grad is None}


@probe(
    "modes.requires_grad_after_forward",
    "Does requires_grad_(False) after the forward pass stop the weight's gradient?",
)
def requires_grad_after_forward():
    w = leaf(2.0)
    y = w * 3
    w.requires_grad_(False)
    y.backward()
    return w.grad


@probe("modes.integer_results", "Do argmax, comparison, round and long() results require grad?")
def integer_results():
    x = leaf([1.0, 2.0])
    return {
        "argmax": x.argmax().requires_grad,
        "x > 1": (x > 1).requires_grad,
        "round": x.round().requires_grad,
        "long": x.long().requires_grad,
        "item": isinstance(x[0].item(), float),
    }


@probe("modes.lost_by", "Which ways of copying a tensor that requires grad lose the graph?")
def lost_by():
    y = leaf([1.0]) * 2
    made = {
        "torch.tensor(y)": torch.tensor(y),
        "torch.as_tensor(y)": torch.as_tensor(y),
        "y.clone()": y.clone(),
        "y.data": y.data,
        "torch.tensor(y.tolist())": torch.tensor(y.tolist()),
        "y.new_tensor(y)": y.new_tensor(y),
        "torch.Tensor([y[0]])": torch.Tensor([y[0]]),
        "torch.stack([y[0]])": torch.stack([y[0]]),
    }
    return {name: t.requires_grad for name, t in made.items()}


@probe(
    "modes.sampling",
    "Which random operations give a result that requires grad, and which gradient?",
)
def sampling():
    def ask(function):
        mu = leaf(0.5)
        result = function(mu)
        if not result.requires_grad:
            return "no history"
        return outcome(lambda: (result.sum().backward(), mu.grad)[1].item())

    one = torch.tensor(1.0)
    return {
        "torch.normal": ask(lambda mu: torch.normal(mu, one)),
        "torch.bernoulli": ask(torch.bernoulli),
        "torch.poisson": ask(torch.poisson),
        "Normal.sample": ask(lambda mu: torch.distributions.Normal(mu, one).sample()),
        "Normal.rsample": ask(lambda mu: torch.distributions.Normal(mu, one).rsample()),
        "dropout": ask(lambda mu: torch.nn.functional.dropout(mu, 0.0)),
        "rand_like": ask(torch.rand_like),
        "multinomial": ask(lambda mu: torch.multinomial(mu.reshape(1), 1)),
    }


@probe("modes.straight_through", "What gradient does x + (round(x) - x).detach() give?")
def straight_through():
    x = leaf([0.3, 1.7])
    y = x + (torch.round(x) - x).detach()
    y.sum().backward()
    return {"y": y, "x.grad": x.grad}


@probe(
    "modes.to_loses_leaf",
    "Is zeros(3, requires_grad=True).to(dtype) a leaf, for another and for the same dtype?",
)
def to_loses_leaf():
    x = torch.zeros(3, requires_grad=True)
    return {"float64": x.to(torch.float64).is_leaf, "float32": x.to(torch.float32).is_leaf}


@probe(
    "modes.class_decorated_with_no_grad",
    "Does a class decorated with no_grad() run its __init__ without grad, and which warnings come?",
)
def class_decorated_with_no_grad():
    inside = []

    def use():
        @torch.no_grad()
        class Thing:
            def __init__(self):
                inside.append(torch.is_grad_enabled())

        Thing()

    warnings = warned(use)
    return {"grad mode inside": inside, "warnings": warnings}
