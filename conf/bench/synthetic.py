"""Make a gallery of any size, in the style of the real lessons: what the benchmark builds."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IN_SECTION = 20
# Notebooks start a kernel each: more than these take too long to be worth a measurement.
FEW = 25
GENERATED = shutil.ignore_patterns("lessons", "_generated", "__pycache__", ".ruff_cache")

LESSON = '''\
# /// script
# requires-python = ">=3.10"
# dependencies = ["torch", "torchviz", "setuptools"]
# ///
"""
Take the slope of example {number}
{line}

You will be able to take the slope of a sum of products that has {number} in it.

Know first: {before}.
"""

import torch
from torchviz import make_dot

# %%
# The function is :math:`y = {number} \\sum_i x_i^2`. Its slope in direction :math:`i` is
# :math:`{double}\\,x_i`. The sum of the squares is 14.

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = {number} * (x * x).sum()
print(y)
torch.testing.assert_close(y, torch.tensor({number} * 14.0))

# %%
# What is recorded
# ----------------
#
# A multiplication, a sum and one more multiplication: ``torch.Tensor.backward`` will go
# through them from the end to the start.

make_dot(y, params={{"x": x}})

# %%
# The slope
# ---------
#
# Which three numbers does *backward* leave in ``x.grad``?

y.backward()
# Predict first: what is x.grad?
print(x.grad)
torch.testing.assert_close(x.grad, {double} * x.detach())

# %%
# The largest of them stands last.

print(x.grad.argmax())
assert x.grad.argmax().item() == 2
'''


def names(count: int) -> dict[str, list[str]]:
    """The sections and their lessons, in reading order."""
    lessons = [f"example_{number:04}" for number in range(1, count + 1)]
    return {
        f"section_{start // IN_SECTION + 1:02}": lessons[start : start + IN_SECTION]
        for start in range(0, count, IN_SECTION)
    }


def lesson(number: int) -> str:
    """The script of one lesson."""
    before = f"``example_{number - 1:04}``" if number > 1 else "nothing but multiplication"
    title = f"Take the slope of example {number}"
    line = "=" * len(title)
    return LESSON.format(number=number, double=2 * number, before=before, line=line)


def write_scripts(folder: Path, count: int) -> None:
    """Write ``<section>/GALLERY_HEADER.rst`` and the lessons, and the gallery's own header."""
    folder.mkdir(parents=True)
    (folder / "GALLERY_HEADER.rst").write_text("Lessons\n=======\n\nAll of them.\n")
    number = 0
    for section, lessons in names(count).items():
        (folder / section).mkdir()
        title = section.replace("_", " ").capitalize()
        text = f"{title}\n{'=' * len(title)}\n\nThe examples of {section}.\n"
        (folder / section / "GALLERY_HEADER.rst").write_text(text)
        for name in lessons:
            number += 1
            (folder / section / f"{name}.py").write_text(lesson(number))


def write_site(folder: Path, count: int) -> None:
    """Write the sources of a site with our configuration and a synthetic gallery."""
    write_configuration(folder, names(count))
    write_scripts(folder / "examples", count)


def write_configuration(folder: Path, sections: dict[str, list[str]]) -> None:
    """Write our configuration for a gallery with these lessons, and a home."""
    shutil.copytree(ROOT / "conf", folder / "conf", ignore=GENERATED)
    order = folder / "conf" / "reading_order.py"
    text, replaced = re.subn(
        r"(?ms)^SECTIONS = \{.*?^\}$", lambda _: f"SECTIONS = {sections!r}", order.read_text()
    )
    if replaced != 1:
        raise ValueError(f"{order} no longer has one SECTIONS = {{...}} to put another list into")
    order.write_text(text)
    shutil.copytree(ROOT / "docs" / "records", folder / "docs" / "records")
    (folder / "docs" / "records" / "lessons.toml").write_text("[lessons]\n")
    index = "# Home\n\nA gallery for the benchmark.\n\n```{toctree}\nlessons/index\n```\n"
    (folder / "docs" / "index.md").write_text(index)


def blocks(number: int) -> Iterator[tuple[str, str]]:
    """The parts of a lesson in order: ("text", reST) and ("code", Python)."""
    _, docstring, rest = lesson(number).split('"""')
    yield "text", docstring.strip()
    for block in rest.split("# %%\n"):
        lines = block.strip().splitlines()
        ends = [index for index, line in enumerate(lines) if not line.startswith("#")]
        prose = ends[0] if ends else len(lines)
        if prose:
            yield (
                "text",
                "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:prose]),
            )
        if code := "\n".join(lines[prose:]).strip():
            yield "code", code


def write_plain_pages(folder: Path, count: int) -> None:
    """Write a page for each lesson with its text and code: no outputs, no pictures, no toctree."""
    folder.mkdir()
    (folder / "conf.py").write_text('project = "Plain"\nhtml_theme = "furo"\n')
    (folder / "index.rst").write_text("Home\n====\n\nNothing else.\n")
    for number in range(1, count + 1):
        parts = [":orphan:"]
        for kind, text in blocks(number):
            if kind == "code":
                text = ".. code-block:: python\n\n" + re.sub(r"(?m)^(?=.)", "    ", text)
            parts.append(text)
        (folder / f"example_{number:04}.rst").write_text("\n\n".join(parts) + "\n")


def write_stock(folder: Path) -> None:
    """Write the least that sphinx-gallery and Furo need, for the scripts in ``examples/``."""
    folder.mkdir()
    (folder / "conf.py").write_text(
        'project = "Stock"\nhtml_theme = "furo"\nextensions = ["sphinx_gallery.gen_gallery"]\n'
        'sphinx_gallery_conf = {"examples_dirs": "../examples", "gallery_dirs": "lessons",'
        ' "filename_pattern": r"\\.py$"}\n'
    )
    (folder / "index.rst").write_text("Home\n====\n\n.. toctree::\n\n   lessons/index\n")


def write_notebooks(folder: Path, count: int, extension: str) -> None:
    """Write the lessons as notebooks without outputs, for ``myst_nb`` or ``nbsphinx`` to run."""
    folder.mkdir()
    run = {"myst_nb": 'nb_execution_mode = "force"', "nbsphinx": 'nbsphinx_execute = "always"'}
    (folder / "conf.py").write_text(
        f'project = "Notebooks"\nhtml_theme = "furo"\nextensions = ["{extension}"]\n'
        f"{run[extension]}\n"
    )
    (folder / "index.rst").write_text("Home\n====\n\n.. toctree::\n   :glob:\n\n   example_*\n")
    for number in range(1, count + 1):
        (folder / f"example_{number:04}.ipynb").write_text(json.dumps(notebook(number)))


def notebook(number: int) -> dict:
    """A lesson as a notebook: headings and double backquotes in Markdown."""
    cells = []
    for index, (kind, text) in enumerate(blocks(number)):
        cell = {"id": f"cell-{index}", "metadata": {}, "source": text}
        if kind == "code":
            cells.append(cell | {"cell_type": "code", "execution_count": None, "outputs": []})
        else:
            text = re.sub(r"(?m)^(.+)\n=+$", r"# \1", text)
            text = re.sub(r"(?m)^(.+)\n-+$", r"## \1", text)
            text = re.sub(r":math:`([^`]*)`", r"$\1$", text).replace("``", "`")
            cells.append(cell | {"cell_type": "markdown", "source": text})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
