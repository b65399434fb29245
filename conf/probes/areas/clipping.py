"""Clipping gradients, and the scaler of mixed precision."""

from __future__ import annotations

import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from probes.registry import probe
from probes.tools import outcome

inf, nan = float("inf"), float("nan")


def _parameters(*grads):
    made = [torch.nn.Parameter(torch.zeros(1)) for _ in grads]
    for number, grad in enumerate(grads):
        made[number].grad = None if grad is None else torch.tensor([grad])
    return made


def _clip(*grads, max_norm=1.0, **options):
    parameters = _parameters(*grads)
    norm = clip_grad_norm_(parameters, max_norm, **options)
    return {"norm": norm, "grads": [None if p.grad is None else p.grad.item() for p in parameters]}


@probe(
    "clipping.three_and_four",
    "What does clip_grad_norm_ to 1 return and leave for gradients 3 and 4?",
)
def three_and_four():
    return _clip(3.0, 4.0)


@probe("clipping.below_the_limit", "What does clip_grad_norm_ to 10 leave for gradients 3 and 4?")
def below_the_limit():
    return _clip(3.0, 4.0, max_norm=10.0)


@probe(
    "clipping.at_the_limit",
    "Does clip_grad_norm_ to 5 change gradients 3 and 4, in the last digit?",
)
def at_the_limit():
    parameters = _parameters(3.0, 4.0)
    clip_grad_norm_(parameters, 5.0)
    return parameters[0].grad.item() != 3.0


@probe("clipping.one_inf", "What does clip_grad_norm_ leave for gradients inf and 2?")
def one_inf():
    return _clip(inf, 2.0)


@probe("clipping.one_nan", "What does clip_grad_norm_ leave for gradients nan and 2?")
def one_nan():
    return _clip(nan, 2.0)


@probe("clipping.overflow", "What does clip_grad_norm_ leave for gradients 1e30 and 2?")
def overflow():
    return _clip(1e30, 2.0)


@probe("clipping.error_if_nonfinite", "What does error_if_nonfinite=True raise for a NaN?")
def error_if_nonfinite():
    return outcome(lambda: _clip(nan, 2.0, error_if_nonfinite=True))


@probe("clipping.all_zero", "What does clip_grad_norm_ leave for gradients 0 and 0?")
def all_zero():
    return _clip(0.0, 0.0)


@probe("clipping.no_gradients", "What does clip_grad_norm_ return when all gradients are None?")
def no_gradients():
    return _clip(None, None)


@probe("clipping.some_none", "What does clip_grad_norm_ do with a parameter without gradient?")
def some_none():
    return _clip(None, 2.0)


@probe(
    "clipping.infinity_norm",
    "What does clip_grad_norm_(norm_type=inf) leave for gradients 3 and -4?",
)
def infinity_norm():
    return _clip(3.0, -4.0, norm_type=inf)


@probe(
    "clipping.norm_of_1", "What does clip_grad_norm_(norm_type=1) leave for gradients 3 and -4?"
)
def norm_of_1():
    return _clip(3.0, -4.0, norm_type=1)


@probe("clipping.max_norm_0", "What does clip_grad_norm_ to 0 leave?")
def max_norm_0():
    return _clip(3.0, 4.0, max_norm=0.0)


@probe("clipping.negative_max_norm", "What does clip_grad_norm_ to -1 leave?")
def negative_max_norm():
    return outcome(lambda: _clip(3.0, 4.0, max_norm=-1.0))


@probe("clipping.generator", "Does clip_grad_norm_ take a generator of parameters?")
def generator():
    parameters = _parameters(3.0, 4.0)
    norm = clip_grad_norm_((p for p in parameters), 1.0)
    return {"norm": norm, "grads": [p.grad for p in parameters]}


@probe("clipping.single_tensor", "Does clip_grad_norm_ take a single tensor?")
def single_tensor():
    (p,) = _parameters(5.0)
    return {"norm": clip_grad_norm_(p, 1.0), "grad": p.grad}


@probe(
    "clipping.foreach",
    "Does clip_grad_norm_ with foreach=True give the same as with foreach=False?",
)
def foreach():
    return {"True": _clip(3.0, 4.0, foreach=True), "False": _clip(3.0, 4.0, foreach=False)}


@probe("clipping.same_parameter_twice", "What happens to a parameter that is in the list twice?")
def same_parameter_twice():
    (p,) = _parameters(4.0)
    norm = clip_grad_norm_([p, p], 1.0)
    return {"norm": norm, "grad": p.grad}


@probe("clipping.half_precision", "What do float16 gradients of 300 and 300 give?")
def half_precision():
    parameters = [torch.nn.Parameter(torch.zeros(1, dtype=torch.float16)) for _ in range(2)]
    for p in parameters:
        p.grad = torch.tensor([300.0], dtype=torch.float16)

    def clip():
        norm = clip_grad_norm_(parameters, 1.0)
        return {"norm": norm, "dtype": norm.dtype, "grad": parameters[0].grad}

    return outcome(clip)


@probe(
    "clipping.gradient_in_the_graph",
    "Does clipping gradients from create_graph=True keep their history?",
)
def gradient_in_the_graph():
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)

    def clip():
        clip_grad_norm_([x], 1.0)
        return {"requires_grad": x.grad.requires_grad, "grad_fn": type(x.grad.grad_fn).__name__}

    return outcome(clip)


@probe("clipping.norm_requires_grad", "Does the returned norm require grad when the gradients do?")
def norm_requires_grad():
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    return outcome(lambda: clip_grad_norm_([x], 1.0).requires_grad)


@probe("clipping.value", "What does clip_grad_value_ to 1 leave for 3, -4, inf and nan?")
def value():
    parameters = _parameters(3.0, -4.0, inf, nan)
    returned = clip_grad_value_(parameters, 1.0)
    return {"returned": returned, "grads": [p.grad.item() for p in parameters]}


@probe("clipping.get_total_norm", "Is there a get_total_norm, and what does it give for 3 and 4?")
def get_total_norm():
    from torch.nn.utils import get_total_norm as total

    return total([torch.tensor([3.0]), torch.tensor([4.0])])


@probe(
    "clipping.clip_grads_with_norm",
    "Is there a clip_grads_with_norm_, and what does it leave for 3 and 4 at norm 5?",
)
def clip_grads_with_norm():
    from torch.nn.utils import clip_grads_with_norm_

    parameters = _parameters(3.0, 4.0)
    clip_grads_with_norm_(parameters, 1.0, torch.tensor(5.0))
    return [p.grad.item() for p in parameters]


def _scaled(dtype):
    p = torch.nn.Parameter(torch.ones(1, dtype=dtype))
    scaler = torch.amp.GradScaler("cpu")
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler.scale((p * 2).float().sum()).backward()
    return p, scaler, optimizer


@probe(
    "clipping.scaler_grad_before_unscale",
    "How large is .grad of p * 2 under a new GradScaler, before and after unscale_?",
)
def scaler_grad_before_unscale():
    p, scaler, optimizer = _scaled(torch.float32)
    before = p.grad.item()
    scaler.unscale_(optimizer)
    return [before, p.grad.item()]


@probe("clipping.scaler_float16", "What does unscale_ say about float16 gradients?")
def scaler_float16():
    _, scaler, optimizer = _scaled(torch.float16)
    return outcome(lambda: scaler.unscale_(optimizer))


@probe(
    "clipping.scaler_without_gradients",
    "What does scaler.step say when no parameter has a gradient?",
)
def scaler_without_gradients():
    _, scaler, _ = _scaled(torch.float32)
    other = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    return outcome(lambda: scaler.step(other))


@probe("clipping.scaler_unscale_twice", "What does a second unscale_ before update say?")
def scaler_unscale_twice():
    _, scaler, optimizer = _scaled(torch.float32)
    scaler.unscale_(optimizer)
    return outcome(lambda: scaler.unscale_(optimizer))


@probe(
    "clipping.scaler_skips_step",
    "Is the step skipped, and the scale halved, for an infinite gradient?",
)
def scaler_skips_step():
    p, scaler, optimizer = _scaled(torch.float32)
    p.grad.fill_(inf)
    scaler.step(optimizer)
    before = scaler.get_scale()
    scaler.update()
    return {"p": p, "scale": [before, scaler.get_scale()]}
