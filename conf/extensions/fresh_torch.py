"""Give every lesson a PyTorch in its initial state.

sphinx-gallery runs many scripts in one process. A default dtype, a grad mode, a seed or a
warning filter that one lesson sets would reach the next one, so that a full build and an
incremental one differ. Named as ``"fresh_torch.reset_torch"`` in ``reset_modules``; worker
processes of a parallel build find it there too.
"""

import gc
import os
import random
import warnings
from pathlib import Path

_ENVIRONMENT = dict(os.environ)


def reset_torch(gallery_conf: dict, fname: str, when: str = "before") -> None:
    """Put back what a lesson can have changed (a resetter as sphinx-gallery calls it)."""
    # Only here: a build without a lesson to run should not import torch.
    import torch

    if when == "before":  # after a lesson, its own variables are still there
        _freeze()
    random.seed(0)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)
    torch.autograd.set_multithreading_enabled(True)
    # Asked first, since the setter imports the compiler, which takes 2 s.
    if torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(False)
    torch.set_printoptions(profile="default")
    torch.set_num_threads(1)
    # Many of PyTorch's warnings are given once a process: only the first lesson would show them.
    torch.set_warn_always(True)
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    _reset_warnings()


def _freeze() -> None:
    # sphinx-gallery collects garbage before each script, and would go through torch, Sphinx and
    # all that earlier lessons imported each time. What is left now lives on: leave it out.
    gc.collect()
    gc.freeze()


def _reset_warnings() -> None:
    warnings.resetwarnings()
    # torchviz uses distutils; a reader of a lesson can do nothing about it.
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    # sphinx-gallery reads the attributes of a lesson's variables to find links, .grad included.
    warnings.filterwarnings("ignore", module=r"sphinx_gallery\.")
    warnings.formatwarning = _format_warning


def _format_warning(message, category, filename, lineno, line=None) -> str:
    """Python's own form, with the file's name in place of its path on this machine."""
    return f"{Path(filename).name}:{lineno}: {category.__name__}: {message}\n"


def setup(app):
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
