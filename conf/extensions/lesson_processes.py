"""Run many lessons in several processes, and let a warning there count.

Where Sphinx has more than one process (``-j``) and at least ``lesson_processes_from`` lessons are
to run, sphinx-gallery gets as many. Each of them starts Python and imports torch, so that fewer
lessons are sooner done in one.

The processes are Pythons of their own, in which nobody listens to Sphinx's loggers: a warning
there would be printed, and a build with ``-W`` would pass. Here each of them writes its warnings
to a file, and the build gives them again when the lessons have run. What makes it do so travels
with the gallery's configuration, which it gets with every lesson.

A lesson with ``# sphinx_gallery_parallel = False`` runs in the build's own process.
"""

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from sphinx.util import logging as sphinx_logging

logger = sphinx_logging.getLogger(__name__)


def lessons_to_run(examples: Path, generated: Path) -> int:
    """How many scripts differ from the copy that sphinx-gallery made when it ran them."""
    count = 0
    for script in examples.glob("*/*.py"):
        ran = generated / script.relative_to(examples)
        count += not ran.exists() or ran.read_bytes() != script.read_bytes()
    return count


@dataclass
class Listener:
    """Installs itself where it is unpickled: in a process that runs lessons."""

    file: str

    def __reduce__(self):
        return _listen, (self.file,)


class _Writer(logging.Handler):
    def __init__(self, file: str) -> None:
        super().__init__(logging.WARNING)
        self.file = file

    def emit(self, record: logging.LogRecord) -> None:
        said = {
            "message": record.getMessage(),
            "location": str(getattr(record, "location", None) or "") or None,
            "type": getattr(record, "type", None),
            "subtype": getattr(record, "subtype", None),
        }
        # One short write at the end of the file: lines of two processes do not mix.
        with open(self.file, "a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")


def _listen(file: str) -> Listener:
    sphinx = logging.getLogger("sphinx")
    if not any(isinstance(handler, _Writer) for handler in sphinx.handlers):
        sphinx.addHandler(_Writer(file))
    return Listener(file)


def _file(app) -> Path:
    return Path(app.srcdir) / "_generated" / "lesson_warnings.jsonl"


def _before_the_lessons(app) -> None:
    gallery = app.config.sphinx_gallery_conf
    source = Path(app.srcdir)
    count = lessons_to_run(source / gallery["examples_dirs"], source / gallery["gallery_dirs"])
    least = app.config.lesson_processes_from
    if app.parallel < 2 or (count < least and not gallery["run_stale_examples"]):
        return
    _file(app).parent.mkdir(parents=True, exist_ok=True)
    _file(app).write_text("")
    # Not in conf.py: how many processes run the lessons is no property of the pages.
    gallery["parallel"] = app.parallel
    gallery["lesson_warnings"] = Listener(str(_file(app)))


def _after_the_lessons(app) -> None:
    if app.config.sphinx_gallery_conf.pop("lesson_warnings", None) is None:
        return
    for line in _file(app).read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        logger.warning("%s", said.pop("message"), **said)
    _file(app).unlink()
    # The processes would wait for more lessons, with a PyTorch each, while the pages are written.
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def setup(app):
    app.add_config_value("lesson_processes_from", 40, "", int)
    # sphinx-gallery runs the lessons at builder-inited with the default priority of 500.
    app.connect("builder-inited", _before_the_lessons, priority=490)
    app.connect("builder-inited", _after_the_lessons, priority=510)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
