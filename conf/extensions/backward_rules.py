"""One plain sentence for a step of a backward pass, made from the operation's node.

PyTorch names a node after its forward operation: ``MulBackward0``. The number tells variants of
one operation apart and may differ between releases, so a rule here holds for all of them.

A rule has one entry for each input of the forward operation: what the node sends to it, in
words, and as an expression where one line is enough. In expressions ``g`` is the gradient that
arrived, ``a``, ``b`` and ``c`` are the inputs, and ``y`` is the output.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class Rule(NamedTuple):
    """What a node sends to one input: in words, as an expression, and a sentence on limits."""

    words: str
    formula: str = ""
    note: str = ""


# What a call may give. Where a trace knows it, its value stands in the sentence instead.
_ALPHA = " (times alpha, where the call gave one)"
_BETA = " (times beta, where the call gave one)"

_SAME = Rule("the gradient unchanged", "g")
_MINUS = Rule("minus the gradient", "-g")
_RESHAPED = Rule("the same numbers, in the shape of that input", "g.reshape(a.shape)")
_PUT_BACK = Rule("the gradient, put back at the places that were read, and 0 at all others")
_REARRANGED = Rule("the same numbers, each moved back to where it came from")
_PIECE = Rule("the piece of the gradient that belongs to that input")
_PIECES = Rule("the gradients of the pieces, each put back at its place, and 0 where none arrived")
_SUMMED = Rule("the sum of the gradients of all its copies")
_ZERO = Rule("0, since the result is flat between its jumps", "torch.zeros_like(g)")
_TIES = "How equal values share it depends on the form of the call and on the release."
_LARGEST = Rule("the gradient at the largest value, and 0 at all others", note=_TIES)
_SMALLEST = Rule("the gradient at the smallest value, and 0 at all others", note=_TIES)
_LARGER = Rule("the gradient where that input is the larger one, and 0 elsewhere", note=_TIES)
_SMALLER = Rule("the gradient where that input is the smaller one, and 0 elsewhere", note=_TIES)
_AT_A_BOUND = "At a bound the value depends on the release."
_INSIDE = Rule("the gradient where that input is inside the bounds, and 0 elsewhere")
_CLAMPED = _INSIDE._replace(note=_AT_A_BOUND)
_BOUND = Rule("the gradient where this bound was the result, and 0 elsewhere", note=_AT_A_BOUND)
_NORM = Rule(
    "for the ordinary 2-norm, the gradient times the input divided by its norm "
    "(0 where the norm is 0)",
    "g * a / y",
)


# By the forward operation's name, without "Backward" and the number.
RULES: dict[str, tuple[Rule, ...]] = {
    # Arithmetic
    "Add": (_SAME, Rule(f"the gradient{_ALPHA}", "g")),
    "Sub": (_SAME, Rule(f"minus the gradient{_ALPHA}", "-g")),
    "Rsub": (Rule(f"minus the gradient{_ALPHA}", "-g"), _SAME),
    "Neg": (_MINUS,),
    "Mul": (
        Rule("the gradient times the second factor", "g * b"),
        Rule("the gradient times the first factor", "g * a"),
    ),
    "Div": (
        Rule("the gradient divided by the second input", "g / b"),
        Rule(
            "minus the gradient times the first input, divided by the square of the second",
            "-g * a / b**2",
        ),
    ),
    "Reciprocal": (Rule("minus the gradient times the square of the output", "-g * y**2"),),
    "Pow": (
        Rule(
            "the gradient times the exponent times the base to the power of the exponent minus 1 "
            "(0 where the exponent is 0)",
            "g * b * a ** (b - 1)",
        ),
        Rule(
            "the gradient times the output times the logarithm of the base (0 where the base is 0 "
            "and the exponent is not negative)",
            "g * y * a.log()",
        ),
    ),
    "Sqrt": (Rule("the gradient divided by twice the output", "g / (2 * y)"),),
    "Rsqrt": (Rule("minus half the gradient times the cube of the output", "-g * y**3 / 2"),),
    "Abs": (Rule("the gradient times the sign of the input, which is 0 at 0", "g * a.sgn()"),),
    "Lerp": (
        Rule("the gradient times (1 minus the weight)"),
        Rule("the gradient times the weight"),
    ),
    # Functions of one number
    "Exp": (Rule("the gradient times the output", "g * y"),),
    "Exp2": (Rule("the gradient times the output times log 2", "g * y * math.log(2)"),),
    "Expm1": (Rule("the gradient times (the output plus 1)", "g * (y + 1)"),),
    "Log": (Rule("the gradient divided by the input", "g / a"),),
    "Log2": (Rule("the gradient divided by (the input times log 2)", "g / (a * math.log(2))"),),
    "Log10": (Rule("the gradient divided by (the input times log 10)", "g / (a * math.log(10))"),),
    "Log1P": (Rule("the gradient divided by (1 plus the input)", "g / (1 + a)"),),
    "Sin": (Rule("the gradient times the cosine of the input", "g * a.cos()"),),
    "Cos": (Rule("minus the gradient times the sine of the input", "-g * a.sin()"),),
    "Tan": (Rule("the gradient times (1 plus the square of the output)", "g * (1 + y**2)"),),
    "Sinh": (Rule("the gradient times the hyperbolic cosine of the input", "g * a.cosh()"),),
    "Cosh": (Rule("the gradient times the hyperbolic sine of the input", "g * a.sinh()"),),
    "Atan": (Rule("the gradient divided by (1 plus the square of the input)", "g / (1 + a**2)"),),
    "Tanh": (Rule("the gradient times (1 minus the square of the output)", "g * (1 - y**2)"),),
    "Sigmoid": (
        Rule("the gradient times the output times (1 minus the output)", "g * y * (1 - y)"),
    ),
    "LogSigmoid": (
        Rule("the gradient times the sigmoid of minus the input", "g * (-a).sigmoid()"),
    ),
    "Softplus": (Rule("with default settings, the gradient times the sigmoid of the input"),),
    "Sign": (_ZERO,),
    "Floor": (_ZERO,),
    "Ceil": (_ZERO,),
    "Round": (_ZERO,),
    "Trunc": (_ZERO,),
    # Kinks
    "Relu": (Rule("the gradient where the output is positive, and 0 elsewhere", "g * (y > 0)"),),
    "LeakyRelu": (
        Rule(
            "the gradient where the input is positive, and the gradient times the slope elsewhere"
        ),
    ),
    "Threshold": (Rule("the gradient where the input is above the threshold, and 0 elsewhere"),),
    "Hardtanh": (_INSIDE,),
    "Clamp": (_CLAMPED, _BOUND, _BOUND),
    "ClampMin": (_CLAMPED, _BOUND),
    "ClampMax": (_CLAMPED, _BOUND),
    "Maximum": (_LARGER, _LARGER),
    "Minimum": (_SMALLER, _SMALLER),
    "Fmax": (_LARGER, _LARGER),
    "Fmin": (_SMALLER, _SMALLER),
    "Where": (
        Rule("the gradient where the condition is true, and 0 elsewhere"),
        Rule("the gradient where the condition is false, and 0 elsewhere"),
    ),
    "MaskedFill": (
        Rule("the gradient where nothing was filled in, and 0 elsewhere"),
        Rule("the sum of the gradient where it was filled in"),
    ),
    # Many numbers to few
    "Sum": (Rule("the gradient once for each number that was summed", "g.expand_as(a)"),),
    "Mean": (
        Rule("the gradient divided by how many numbers were averaged, once for each of them"),
    ),
    "Prod": (Rule("the gradient times the product of all the other numbers"),),
    "Cumsum": (Rule("at each place the sum of the gradients from there to the end"),),
    "Max": (_LARGEST,),
    "Amax": (_LARGEST,),
    "Min": (_SMALLEST,),
    "Amin": (_SMALLEST,),
    "Norm": (_NORM,),
    "LinalgVectorNorm": (_NORM,),
    "Var": (
        Rule(
            "the gradient times twice the distance from the mean, divided by (the number of "
            "values minus the correction)",
        ),
    ),
    "Std": (
        Rule(
            "the gradient times the distance from the mean, divided by the output and by (the "
            "number of values minus the correction)",
        ),
    ),
    "Logsumexp": (Rule("the gradient times the softmax of the input"),),
    "Softmax": (
        Rule(
            "the output times (the gradient minus the sum, along the softmax dimension, of "
            "gradient times output)",
        ),
    ),
    "LogSoftmax": (
        Rule(
            "the gradient minus the softmax of the input times the sum of the gradient along "
            "the softmax dimension",
        ),
    ),
    # Matrices
    "Dot": (
        Rule("the gradient times the second vector", "g * b"),
        Rule("the gradient times the first vector", "g * a"),
    ),
    "Mv": (
        Rule("the outer product of the gradient and the vector", "torch.outer(g, b)"),
        Rule("the transpose of the matrix times the gradient", "a.T @ g"),
    ),
    "Mm": (
        Rule("the gradient times the transpose of the second operand", "g @ b.T"),
        Rule("the transpose of the first operand times the gradient", "a.T @ g"),
    ),
    "Bmm": (
        Rule("for each matrix of the batch, the gradient times the transpose of the second one"),
        Rule("for each matrix of the batch, the transpose of the first one times the gradient"),
    ),
    "Addmm": (
        Rule(f"the gradient{_BETA}", "g"),
        Rule(f"the gradient times the transpose of the second matrix{_ALPHA}", "g @ c.T"),
        Rule(f"the transpose of the first matrix times the gradient{_ALPHA}", "b.T @ g"),
    ),
    # Losses
    "MseLoss": (
        Rule(
            "the gradient times twice the difference, first input minus second "
            "(divided by the number of elements where the loss is a mean)",
        ),
        Rule(
            "the gradient times twice the difference, second input minus first "
            "(divided by the number of elements where the loss is a mean)",
        ),
    ),
    "NllLoss": (
        Rule(
            "in each row that counts, minus the gradient at the entry of the right class, and 0 at "
            "all others (times the weight of the class, where the call gave weights; divided by "
            "the sum of the weights, or by the number of rows, where the loss is a mean)",
        ),
    ),
    # Shapes, copies and parts
    "View": (_RESHAPED,),
    "UnsafeView": (_RESHAPED,),
    "ReshapeAlias": (_RESHAPED,),
    "Unsqueeze": (_RESHAPED,),
    "Squeeze": (_RESHAPED,),
    "T": (Rule("the transpose of the gradient", "g.T"),),
    "Transpose": (Rule("the gradient with the same two dimensions swapped back"),),
    "Permute": (Rule("the gradient with its dimensions put back in their order"),),
    "Flip": (_REARRANGED,),
    "Roll": (_REARRANGED,),
    "Expand": (_SUMMED,),
    "Repeat": (_SUMMED,),
    "Clone": (_SAME,),
    "Alias": (_SAME,),
    "ToCopy": (Rule("the same numbers, in the dtype and on the device of that input"),),
    "Select": (_PUT_BACK,),
    "Slice": (_PUT_BACK,),
    "Diagonal": (_PUT_BACK,),
    "Unbind": (_PIECES,),
    "Split": (_PIECES,),
    "AsStrided": (_PUT_BACK,),
    "MaskedSelect": (_PUT_BACK,),
    "Topk": (_PUT_BACK,),
    "Sort": (_REARRANGED,),
    "Tril": (Rule("the gradient on and below the diagonal that was kept, and 0 above it"),),
    "Triu": (Rule("the gradient on and above the diagonal that was kept, and 0 below it"),),
    "Trace": (Rule("the gradient at each place of the diagonal, and 0 elsewhere"),),
    "Index": (
        Rule(
            "the gradient, put back at the places that were read (added up where one was read "
            "more than once), and 0 at all others"
        ),
    ),
}
RULES |= dict.fromkeys(["Gather", "IndexSelect", "Embedding"], RULES["Index"])

# Variants with rules of their own, or none; these numbers are the same in all releases.
_NUMBERED: dict[str, tuple[Rule, ...]] = {
    "PowBackward2": (  # a number to the power of a tensor
        Rule(
            "the gradient times the output times the logarithm of the base", "g * y * math.log(2)"
        ),
    ),
    "DivBackward2": (),  # with a rounding mode
    "DivBackward3": (),
    "CopyBackwards": (
        Rule("0, since all of it was overwritten"),
        Rule("the same numbers, in the dtype and on the device of that input"),
    ),
    "CopySlices": (  # a change in place of a part of a tensor
        Rule(
            "the gradient, except for the part that was changed in place: there, what the "
            "operation that changed it sends"
        ),
        Rule("what the operation that changed a part in place sends there"),
    ),
}

# Operations with any number of inputs: one rule for all of them.
_FOR_EACH = {"Cat": _PIECE, "Stack": _PIECE}

# With inputs of different shapes these repeat the smaller one; its gradient is summed.
_BROADCASTING = {
    *("Add", "Sub", "Rsub", "Mul", "Div", "Pow", "Lerp", "Where"),
    *("Clamp", "ClampMin", "ClampMax", "Maximum", "Minimum", "Fmax", "Fmin"),
}
# Here the rule for complex numbers has the conjugate of each factor.
_CONJUGATING = {
    *("Mul", "Div", "Reciprocal", "Pow", "Sqrt", "Rsqrt", "Prod"),
    *("Exp", "Exp2", "Expm1", "Log", "Log2", "Log10", "Log1P"),
    *("Sin", "Cos", "Tan", "Sinh", "Cosh", "Atan", "Tanh", "Sigmoid"),
    *("Dot", "Mv", "Mm", "Bmm", "Addmm"),
}

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def rule(op: str, index: int, scalars: Mapping[str, float] = MappingProxyType({})) -> Rule | None:
    """What the node ``op`` sends to its input ``index``; None where no rule is known.

    Args:
        scalars: ``alpha``, ``beta`` and ``exponent`` of the call, as far as they are known.
    """
    name = _operation(op)
    if name in _FOR_EACH:
        return _FOR_EACH[name]
    if "exponent" in scalars:
        return _power(scalars["exponent"])
    rules = _NUMBERED.get(op, RULES.get(name, ()))
    if index >= len(rules):
        return None
    words = rules[index].words
    for scalar, unknown in (("alpha", _ALPHA), ("beta", _BETA)):
        if scalar in scalars:
            known = "" if scalars[scalar] == 1 else f" times {scalars[scalar]:g}"
            words = words.replace(unknown, known)
    return _SAME if words == "the gradient" else rules[index]._replace(words=words)


def _power(exponent: float) -> Rule:
    """The rule of ``a ** exponent`` for one number as the exponent."""
    if exponent == 0:
        return Rule("0, since the exponent is 0")
    if exponent == 1:
        return _SAME
    power = "" if exponent == 2 else f" to the power of {exponent - 1:g}"
    return Rule(f"the gradient times {exponent:g} times the input{power}")


def sentence(
    op: str,
    needed: Sequence[bool],
    repeated: Sequence[bool] = (),
    scalars: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """What a node does with the gradient that arrived: one sentence, and one on its limits.

    Args:
        op: the name of the node, as ``type(grad_fn).__name__`` has it.
        needed: for each input of the forward operation, whether a gradient is sent to it.
        repeated: for each input, whether the operation repeated it to fit another one.
        scalars: see ``rule``.
    """
    if op == "AccumulateGrad":
        return (
            "AccumulateGrad adds the gradient that arrived to the .grad of its leaf, "
            "or stores it there if .grad is None."
        )
    receivers = [index for index, is_needed in enumerate(needed) if is_needed]
    if not receivers:
        return f"{op} sends nothing on: it has no gradient for any of its inputs."
    rules = [rule(op, index, scalars) for index in receivers]
    if None in rules:
        inputs = _listed([_input(index, len(needed)) for index in receivers])
        return (
            f"{op} works out the gradient with respect to {inputs} "
            "from the one that arrived, and sends it there."
        )
    sent, notes = {}, []
    for index, found in zip(receivers, rules, strict=True):
        words = found.words
        if any(repeated[index : index + 1]):
            words = words.removesuffix(" unchanged")
            words += ", summed to its shape since it was repeated"
        sent.setdefault(words, []).append(index)
        if found.note and found.note not in notes:
            notes.append(found.note)
    parts = [f"to {_inputs(indices, len(needed))} {words}" for words, indices in sent.items()]
    return " ".join([f"{op} sends {_listed(parts, '; and ')}.", *notes])


def step_sentence(trace: dict, step: dict) -> str:
    """The sentence for one step of a trace, as ``backward_trace`` records it."""
    op = trace["nodes"][step["node"]]["op"]
    if step.get("failed"):
        return f"{op} raises the error, and the call ends here."
    if "returned" in step:
        return _returned_sentence(op, step["returned"]["name"])
    if "ledger" in step:
        grad = grad_of(step["ledger"]["leaf"])
        if step["ledger"]["before"] is None:
            return f"AccumulateGrad stores the gradient that arrived in {grad}, which was None."
        return f"AccumulateGrad adds the gradient that arrived to {grad}."
    values = [sent and sent["value"] for sent in step["sends"]]
    shape = next((arrived["shape"] for arrived in step["arrives"] if arrived), None)
    repeated = [
        _is_repeated(op, index, value is not None and value["shape"] != shape)
        for index, value in enumerate(values)
    ]
    scalars = trace["nodes"][step["node"]].get("scalars", {})
    text = sentence(op, [value is not None for value in values], repeated, scalars)
    is_complex = any(value and value["dtype"].startswith("complex") for value in values)
    if is_complex and _operation(op) in _CONJUGATING:
        text += " For complex numbers, each factor is replaced by its conjugate."
    return text


def grad_of(name: str | None, kind: str = "leaf") -> str:
    """What a sentence calls the ``.grad`` of a tensor that may have no name."""
    return f"{name}.grad" if name else f"the {kind}'s .grad"


def _returned_sentence(op: str, name: str | None) -> str:
    text = "torch.autograd.grad returns what arrived here"
    if name:
        text += f" for {name}"
    # Only of a leaf is this sure: the .grad of a tensor with retain_grad() is filled here too.
    if op == "AccumulateGrad":
        text += f"; {grad_of(name)} stays as it is"
    return f"{text}."


def _operation(op: str) -> str:
    """The forward operation's name; '' for a node that is not one of PyTorch's own.

    A custom ``Function`` named Mul makes a node MulBackward, without a number.
    """
    match = re.fullmatch(r"(\w+?)Backward\d+", op)
    return match[1] if match else ""


def _is_repeated(op: str, index: int, differs: bool) -> bool:
    name = _operation(op)
    return differs and (name in _BROADCASTING or (name == "Addmm" and index == 0))


def _input(index: int, count: int) -> str:
    if count == 1:
        return "its input"
    return f"its {_ORDINALS[index]} input" if index < len(_ORDINALS) else f"its input {index + 1}"


def _inputs(indices: list[int], count: int) -> str:
    if len(indices) == count > 1:
        return "each of its inputs"
    return _listed([_input(index, count) for index in indices])


def _listed(items: list[str], last: str = " and ") -> str:
    *others, final = items
    return f"{', '.join(others)}{last}{final}" if others else final
