"""Gradients with complex numbers: the conjugate convention and its consequences."""

from __future__ import annotations

import torch

from probes.registry import Probe, add, probe
from probes.tools import leaf, outcome

POINT = 3 + 4j


def _grad(function, point=POINT):
    z = leaf(point, torch.complex128)
    function(z).backward()
    return z.grad


def _at(name, expression, point, text):
    """A probe of ``z.grad`` of a real function of one complex number."""

    def ask():
        return outcome(lambda: _grad(lambda z: eval(expression, {"torch": torch, "z": z}), point))

    add(Probe(f"complex_numbers.{name}", f"What is z.grad of {expression} at z = {text}?", ask))


_at("square_of_modulus", "(z * z.conj()).real", POINT, "3 + 4j")
_at("square_of_abs", "z.abs() ** 2", POINT, "3 + 4j")
_at("real_part", "z.real", POINT, "3 + 4j")
_at("imaginary_part", "z.imag", POINT, "3 + 4j")
_at("real_part_of_square", "(z**2).real", POINT, "3 + 4j")
_at("abs", "z.abs()", POINT, "3 + 4j")
_at("abs_at_0", "z.abs()", 0j, "0")
_at("angle_at_0", "z.angle()", 0j, "0")
_at("angle_at_minus_1", "z.angle()", -1 + 0j, "-1")
_at("sgn_at_0", "z.sgn().real", 0j, "0")
_at("sgn", "z.sgn().real", POINT, "3 + 4j")
_at("sqrt_at_0", "z.sqrt().real", 0j, "0")
_at("sqrt_at_minus_1", "z.sqrt().real", -1 + 0j, "-1")
_at("log_at_0", "z.log().real", 0j, "0")
_at("reciprocal_at_0", "(1 / z).real", 0j, "0")
_at("power_0_at_0", "(z**0).real", 0j, "0")
_at("power_2_at_0", "(z**2).real", 0j, "0")
_at("acos_at_1", "z.acos().real", 1 + 0j, "1")
_at("norm_at_0", "torch.linalg.vector_norm(z)", 0j, "0")
_at("tanh", "z.tanh().real", 1j, "1j")
_at("polar_form", "torch.polar(z.abs(), z.angle()).real", POINT, "3 + 4j")
_at("view_as_real", "torch.view_as_real(z)[0]", POINT, "3 + 4j")


@probe("complex_numbers.backward_of_complex_scalar", "Is backward() of a complex scalar allowed?")
def backward_of_complex_scalar():
    return outcome(lambda: _grad(lambda z: z**2))


@probe(
    "complex_numbers.backward_with_gradient_1",
    "What is z.grad of z**2 at 3 + 4j with backward(gradient=1)?",
)
def backward_with_gradient_1():
    z = leaf(POINT, torch.complex128)
    (z**2).backward(torch.ones((), dtype=torch.complex128))
    return z.grad


@probe(
    "complex_numbers.real_weight",
    "What is the .grad of a real w in |w * (3 + 4j)|**2 at w = 2, and its dtype?",
)
def real_weight():
    w = leaf(2.0, torch.float64)
    (w * torch.tensor(POINT, dtype=torch.complex128)).abs().square().backward()
    return {"grad": w.grad, "dtype": w.grad.dtype}


@probe("complex_numbers.step_against_gradient", "Does a step against z.grad make |z|**2 smaller?")
def step_against_gradient():
    z = leaf(POINT, torch.complex128)
    z.abs().square().backward()
    return (z - 0.1 * z.grad).abs().square().item() < 25


@probe("complex_numbers.jvp_against_vjp", "What do jvp and vjp of sin give at 0.5 + 0.5j?")
def jvp_against_vjp():
    z = torch.tensor(0.5 + 0.5j, dtype=torch.complex128)
    one = torch.ones((), dtype=torch.complex128)
    return {
        "jvp": torch.func.jvp(torch.sin, (z,), (one,))[1],
        "vjp": torch.func.vjp(torch.sin, z)[1](one)[0],
        "cos(z)": torch.cos(z),
    }


@probe("complex_numbers.functional_jacobian", "Does functional.jacobian take a complex function?")
def functional_jacobian():
    z = torch.tensor(0.5 + 0.5j, dtype=torch.complex128)
    return outcome(lambda: torch.autograd.functional.jacobian(torch.sin, z))


@probe("complex_numbers.gradcheck", "Does gradcheck pass for z**2 and for z.abs() away from 0?")
def gradcheck():
    z = leaf(POINT, torch.complex128)
    return [
        torch.autograd.gradcheck(lambda z: z**2, (z,)),
        torch.autograd.gradcheck(torch.abs, (z,)),
    ]


@probe("complex_numbers.conjugate_is_lazy", "Which nodes do conj() and resolve_conj() record?")
def conjugate_is_lazy():
    z = leaf(POINT, torch.complex128)
    return [
        type(z.conj().grad_fn).__name__,
        type(z.conj().resolve_conj().grad_fn).__name__,
        z.conj().is_conj(),
    ]


@probe(
    "complex_numbers.in_place_on_real_part",
    "What does y.real.mul_(2) on a complex y with history do to z.grad?",
)
def in_place_on_real_part():
    z = leaf(POINT, torch.complex128)
    y = z * 1
    y.real.mul_(2)
    return outcome(lambda: (y.abs().square().backward(), z.grad)[1])


@probe(
    "complex_numbers.fft_of_real",
    "What is the .grad of a real x in |fft(x)|**2 summed, at [1, 2]?",
)
def fft_of_real():
    x = leaf([1.0, 2.0])
    torch.fft.fft(x).abs().square().sum().backward()
    return x.grad


@probe("complex_numbers.relu", "Does relu take a complex tensor?")
def relu():
    return outcome(lambda: torch.relu(leaf([POINT], torch.complex64)))


@probe("complex_numbers.clip_grad_norm", "Does clip_grad_norm_ work with a complex gradient?")
def clip_grad_norm():
    p = torch.nn.Parameter(torch.zeros(1, dtype=torch.complex64))
    p.grad = torch.tensor([POINT], dtype=torch.complex64)

    def clip():
        norm = torch.nn.utils.clip_grad_norm_([p], 1.0)
        return {"norm": norm, "grad": p.grad}

    return outcome(clip)
