"""Make a lesson that ends its Python an error of that lesson.

sphinx-gallery runs lessons in the build's own process and catches exceptions, of which
``SystemExit`` is none: the build would end there, and with ``sys.exit()`` even as a success.
Named as ``"lesson_exit.reset"`` in ``reset_modules`` with ``reset_modules_order="both"``.
"""

import builtins
import sys

_OWN = {(sys, "exit"): sys.exit}
_OWN |= {(builtins, name): getattr(builtins, name) for name in ("exit", "quit")}


class LessonExitError(RuntimeError):
    """A lesson called ``sys.exit``, ``exit`` or ``quit``."""


def _refuse(code=None):
    raise LessonExitError(
        f"the lesson wants to end Python (exit status {code!r}): "
        "let it run to its last line, as the reader's Python does"
    )


def reset(gallery_conf: dict, fname: str | None, when: str) -> None:
    """Refuse to exit during a lesson only (a resetter as sphinx-gallery calls it)."""
    for (module, name), own in _OWN.items():
        setattr(module, name, _refuse if when == "before" else own)


def setup(app):
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
