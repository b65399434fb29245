"""torch.func: grad, vmap, jvp and their like."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from probes.registry import probe
from probes.tools import leaf, outcome, warned


@probe("func.is_there", "Is there a torch.func, and which of its functions?")
def is_there():
    func = torch.func
    known = [
        "functional_call",
        "functionalize",
        "grad",
        "grad_and_value",
        "hessian",
        "jacfwd",
        "jacrev",
        "jvp",
        "linearize",
        "stack_module_state",
        "vjp",
        "vmap",
    ]
    return [name for name in known if hasattr(func, name)]


@probe("func.grad", "What does torch.func.grad of x**2 give at 3, and does it need requires_grad?")
def grad():
    return torch.func.grad(lambda x: x**2)(torch.tensor(3.0))


@probe(
    "func.grad_leaves_grad_alone",
    "Does torch.func.grad fill x.grad, and has its result a history?",
)
def grad_leaves_grad_alone():
    x = leaf(3.0)
    result = torch.func.grad(lambda t: t**2)(x)
    return {"x.grad": x.grad, "result requires grad": result.requires_grad}


@probe(
    "func.grad_of_several", "What does torch.func.grad(argnums=(0, 1)) of x * y give at 2 and 3?"
)
def grad_of_several():
    return torch.func.grad(lambda x, y: x * y, argnums=(0, 1))(
        torch.tensor(2.0), torch.tensor(3.0)
    )


@probe("func.grad_of_unused", "What does torch.func.grad give for an argument that is not used?")
def grad_of_unused():
    return outcome(
        lambda: torch.func.grad(lambda x, y: y * 2)(torch.tensor(2.0), torch.tensor(3.0))
    )


@probe(
    "func.grad_at_kinks", "What does torch.func.grad give for relu, clamp, maximum and abs at 0?"
)
def grad_at_kinks():
    zero = torch.tensor(0.0)
    functions = {
        "relu": F.relu,
        "clamp(min=0)": lambda x: x.clamp(min=0),
        "maximum(x, 0)": lambda x: torch.maximum(x, zero),
        "abs": torch.abs,
    }
    return {name: torch.func.grad(function)(zero) for name, function in functions.items()}


@probe(
    "func.jvp_warns", "Which warnings does the first torch.func.jvp of a process give?", fresh=True
)
def jvp_warns():
    x = torch.ones(1)
    return warned(lambda: torch.func.jvp(torch.sin, (x,), (x,)))


@probe("func.functional_jvp", "What does torch.autograd.functional.jvp of x**2 give at 3 along 1?")
def functional_jvp():
    return torch.autograd.functional.jvp(lambda x: x**2, torch.tensor(3.0), torch.tensor(1.0))


@probe("func.jvp", "What does torch.func.jvp of x**2 give at 3 along 1?")
def jvp():
    return torch.func.jvp(lambda x: x**2, (torch.tensor(3.0),), (torch.tensor(1.0),))


@probe("func.vjp", "What does torch.func.vjp of x**2 give at [1, 2] for v = [1, 10]?")
def vjp():
    value, pull = torch.func.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]))
    return [value, pull(torch.tensor([1.0, 10.0]))[0]]


@probe("func.linearize", "What does torch.func.linearize of x**2 give at 3 along 1?")
def linearize():
    value, push = torch.func.linearize(lambda x: x**2, torch.tensor(3.0))
    return [value, push(torch.tensor(1.0))]


@probe("func.jacobians_agree", "Do jacrev, jacfwd and functional.jacobian agree?")
def jacobians_agree():
    def f(x):
        return torch.stack([x[0] * x[1], x[1] ** 2, x.sum()])

    x = torch.tensor([2.0, 3.0])
    return {
        "jacrev": torch.func.jacrev(f)(x),
        "jacfwd": torch.func.jacfwd(f)(x),
        "functional.jacobian": torch.autograd.functional.jacobian(f, x),
    }


@probe("func.hessian", "What does torch.func.hessian of x**3 summed give at [1, 2]?")
def hessian():
    return torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))


@probe(
    "func.per_sample_gradients", "What are the per-sample gradients of (x @ w)**2 by vmap of grad?"
)
def per_sample_gradients():
    w, data = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return torch.func.vmap(torch.func.grad(lambda w, x: (x @ w) ** 2), in_dims=(None, 0))(w, data)


@probe(
    "func.functional_call",
    "Does torch.func.grad through functional_call give the parameters' gradients?",
)
def functional_call():
    layer = torch.nn.Linear(2, 1)
    parameters = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([0.0])}

    def loss(parameters):
        return torch.func.functional_call(layer, parameters, (torch.tensor([[3.0, 4.0]]),)).sum()

    return torch.func.grad(loss)(parameters)


@probe(
    "func.no_grad_inside", "What does torch.func.grad give when the function uses no_grad inside?"
)
def no_grad_inside():
    def f(x):
        with torch.no_grad():
            y = x**2
        return x * y

    return torch.func.grad(f)(torch.tensor(3.0))


@probe("func.no_grad_outside", "Does torch.func.grad work when it is called under no_grad?")
def no_grad_outside():
    with torch.no_grad():
        return torch.func.grad(lambda x: x**2)(torch.tensor(3.0))


@probe("func.detach_inside", "What does torch.func.grad of x * x.detach() give at 3?")
def detach_inside():
    return torch.func.grad(lambda x: x * x.detach())(torch.tensor(3.0))


@probe("func.backward_inside", "What does backward() inside a function under torch.func.grad do?")
def backward_inside():
    def f(x):
        y = leaf(2.0)
        (y * 3).backward()
        return x * y.grad

    return outcome(lambda: torch.func.grad(f)(torch.tensor(3.0)))


@probe("func.autograd_grad_inside", "What does torch.autograd.grad inside torch.func.grad do?")
def autograd_grad_inside():
    def f(x):
        (g,) = torch.autograd.grad(x**3, x, create_graph=True)
        return g

    return outcome(lambda: torch.func.grad(f)(torch.tensor(2.0)))


@probe(
    "func.in_place_on_captured",
    "What does an in-place change of a captured tensor inside torch.func.grad do?",
)
def in_place_on_captured():
    captured = torch.zeros(1)

    def f(x):
        captured.copy_(x)
        return (captured * 2).sum()

    return outcome(lambda: torch.func.grad(f)(torch.ones(1)))


@probe(
    "func.side_effect_leaks", "What can be done with a tensor that leaks out of torch.func.grad?"
)
def side_effect_leaks():
    leaked = []
    torch.func.grad(lambda x: leaked.append(x) or x**2)(torch.tensor(3.0))
    return outcome(lambda: (leaked[0] * 2).item())


@probe(
    "func.vmap_random_same", "Do the rows get the same dropout mask with vmap(randomness='same')?"
)
def vmap_random_same():
    rows = torch.func.vmap(F.dropout, randomness="same")(torch.ones(2, 64))
    return torch.equal(rows[0], rows[1])


@probe(
    "func.vmap_random_different",
    "Do the rows get the same dropout mask with vmap(randomness='different')?",
)
def vmap_random_different():
    rows = torch.func.vmap(F.dropout, randomness="different")(torch.ones(2, 64))
    return torch.equal(rows[0], rows[1])


@probe("func.vmap_where", "Does vmap work with torch.where in place of if?")
def vmap_where():
    return torch.func.vmap(lambda x: torch.where(x.sum() > 0, x, -x))(
        torch.tensor([[1.0], [-2.0]])
    )


@probe(
    "func.vmap_over_function_with_rule", "Does vmap work over a Function with generate_vmap_rule?"
)
def vmap_over_function_with_rule():
    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    return torch.func.vmap(Square.apply)(torch.tensor([1.0, 2.0]))


@probe(
    "func.forward_ad_of_attention", "Does forward mode work through scaled_dot_product_attention?"
)
def forward_ad_of_attention():
    q = torch.ones(1, 1, 2, 8)
    return outcome(
        lambda: (
            torch.func.jvp(lambda q: F.scaled_dot_product_attention(q, q, q), (q,), (q,))[1].shape
        )
    )


@probe("func.forward_ad_of_layers", "Which of some layers have forward mode?")
def forward_ad_of_layers():
    from torch.autograd import forward_ad

    def works(function, *shape):
        x = torch.ones(*shape)
        with forward_ad.dual_level():
            try:
                dual = forward_ad.make_dual(x, torch.ones(*shape))
                return forward_ad.unpack_dual(function(dual)).tangent is not None
            except (RuntimeError, NotImplementedError):
                return False

    return {
        "embedding_bag": works(lambda x: F.embedding_bag(torch.tensor([[0]]), x), 1, 1),
        "layer_norm": works(lambda x: F.layer_norm(x, [2]), 2),
        "batch_norm": works(lambda x: F.batch_norm(x, None, None, training=True), 2, 2),
        "conv2d": works(lambda x: F.conv2d(x, torch.ones(1, 1, 1, 1)), 1, 1, 2, 2),
        "max_pool2d": works(lambda x: F.max_pool2d(x, 2), 1, 2, 2),
        "cdist": works(lambda x: torch.cdist(x, torch.zeros(1, 2)), 1, 2),
        "cross_entropy": works(lambda x: F.cross_entropy(x, torch.tensor([0])), 1, 2),
        "ctc_loss": works(
            lambda x: F.ctc_loss(
                x.log_softmax(2), torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1])
            ),
            3,
            1,
            2,
        ),
        "interpolate": works(lambda x: F.interpolate(x, scale_factor=2), 1, 1, 2),
        "grid_sample": works(
            lambda x: F.grid_sample(x, torch.zeros(1, 1, 1, 2), align_corners=True), 1, 1, 2, 2
        ),
        "eigh": works(lambda x: torch.linalg.eigh(x)[0], 2, 2),
    }


@probe("func.chunk_size", "Does vmap take a chunk_size?")
def chunk_size():
    return torch.func.vmap(lambda x: x * 2, chunk_size=1)(torch.ones(2))


@probe("func.jacobian_by_functional", "What does functional.jacobian of x**2 give at [1, 2, 3]?")
def jacobian_by_functional():
    return torch.autograd.functional.jacobian(lambda t: t**2, torch.tensor([1.0, 2.0, 3.0]))


@probe("func.is_grads_batched", "Does grad(..., is_grads_batched=True) give the Jacobian?")
def is_grads_batched():
    x = leaf([2.0, 3.0])
    y = torch.stack([x[0] * x[1], x[1] ** 2, x.sum()])
    return torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)[0]
