"""Measure how the cost of a build grows with the number of lessons: ``nox -s bench``.

Each contender builds the same synthetic lessons (see ``synthetic``) in a folder of its own, one
after another. What counts is the ratio of two rows of one run. Seconds of the processor decide,
since the clock also counts what else the machine does; both are written down.

The figures go to ``docs/contribute/benchmark.json``, the table and the plot beside it.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import pypandoc
import report
import synthetic

HERE = Path(__file__).parent
LIMIT = 20 * 60  # seconds; a contender that needs longer is out of the race
PACKAGES = ["torch", "sphinx", "sphinx-gallery", "furo", "myst-nb", "nbsphinx"]


@dataclass
class Figure:
    """One measured command. ``seconds`` is None where it was stopped after ``LIMIT``."""

    contender: str
    lessons: int
    seconds: float | None
    processor: float | None
    memory: int | None  # MiB, of the largest process
    page: int | None = None  # bytes of the largest lesson page


def measure(contender: str, lessons: int, command: list[str], folder: Path) -> Figure:
    """Run a command to its end.

    Raises:
        SystemExit: the command failed; the message holds the end of what it printed.
    """
    log = folder / "log.txt"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PATH": f"{pandoc()}:{os.environ['PATH']}"}
    with log.open("w") as output:
        start = time.monotonic()
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > LIMIT:
                process.kill()
                os.wait4(process.pid, 0)
                process.returncode = -9
                return Figure(contender, lessons, None, None, None)
            time.sleep(0.02)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise SystemExit(f"{contender} with {lessons} lessons failed: {' '.join(command)}\n{end}")
    processor = used.ru_utime + used.ru_stime
    pages = [page.stat().st_size for page in folder.glob("_build/html/**/example_*.html")]
    return Figure(
        contender,
        lessons,
        round(seconds, 2),
        round(processor, 2),
        used.ru_maxrss // 1024,
        max(pages, default=None),
    )


def pandoc() -> str:
    """The folder of the program with which nbsphinx reads Markdown."""
    return str(Path(pypandoc.get_pandoc_path()).parent)


def sphinx(*options: str) -> list[str]:
    """A build in one process, of ``docs/`` into ``_build/html``."""
    fixed = ("-q", "-j", "1", "-d", "_build/doctrees")
    return [sys.executable, "-m", "sphinx", *fixed, *options, "docs", "_build/html"]


def our_build(processes: str = "1") -> list[str]:
    """What ``nox -s docs`` runs, without the probes of ``check_release``."""
    options = ("-q", "-j", processes, "-D", "check_release=0")
    return [sys.executable, "conf/build_site.py", *options]


def scripts(folder: Path, lessons: int) -> list[Figure]:
    """The floor's first half: all scripts in one Python process."""
    synthetic.write_scripts(folder / "examples", lessons)
    shutil.copy(HERE / "run_scripts.py", folder)
    command = [sys.executable, "run_scripts.py", "examples"]
    return [measure("scripts", lessons, command, folder)]


def pages(folder: Path, lessons: int) -> list[Figure]:
    """The floor's second half: as many pages with the same text and code, and no navigation."""
    synthetic.write_plain_pages(folder / "docs", lessons)
    return [
        measure("plain pages", lessons, sphinx(), folder),
        measure("plain pages, nothing changed", lessons, sphinx(), folder),
    ]


def ours(folder: Path, lessons: int) -> list[Figure]:
    """Our configuration: cold, with nothing changed, with one lesson edited."""
    synthetic.write_site(folder, lessons)
    figures = [
        measure("ours", lessons, our_build(), folder),
        measure("ours, nothing changed", lessons, our_build(), folder),
    ]
    script = next((folder / "examples").glob("*/example_0007.py"))
    script.write_text(script.read_text().replace("The largest of them", "The largest number"))
    return [*figures, measure("ours, one lesson edited", lessons, our_build(), folder)]


def side_by_side(folder: Path, lessons: int) -> list[Figure]:
    """Our configuration with as many processes as there are cores."""
    synthetic.write_site(folder, lessons)
    return [measure("ours, all cores", lessons, our_build("auto"), folder)]


def floor_of_an_edit(folder: Path, lessons: int) -> list[Figure]:
    """Start Python, import torch, run one script."""
    synthetic.write_scripts(folder / "examples", 1)
    shutil.copy(HERE / "run_scripts.py", folder)
    command = [sys.executable, "run_scripts.py", "examples"]
    return [measure("one script", 1, command, folder)]


def stock(folder: Path, lessons: int) -> list[Figure]:
    """sphinx-gallery and furo as they come."""
    synthetic.write_scripts(folder / "examples", lessons)
    synthetic.write_stock(folder / "docs")
    return [measure("stock sphinx-gallery", lessons, sphinx(), folder)]


def notebooks(folder: Path, lessons: int, extension: str) -> list[Figure]:
    """The same lessons as notebooks."""
    synthetic.write_notebooks(folder / "docs", lessons, extension)
    return [measure(extension, lessons, sphinx(), folder)]


def contenders(lessons: int, stock_ended: bool):
    """The builds of one size, as (name, function)."""
    yield "scripts", scripts
    yield "pages", pages
    yield "ours", ours
    yield "all cores", side_by_side
    yield "one", floor_of_an_edit
    if stock_ended:
        yield "stock", stock
    if lessons <= synthetic.FEW:
        for extension in ("myst_nb", "nbsphinx"):
            yield extension, lambda folder, count, name=extension: notebooks(folder, count, name)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sizes", nargs="*", type=int, default=[25, 100, 400, 1000])
    sizes = arguments.parse_args().sizes
    figures: list[Figure] = []
    stock_ended = True
    with tempfile.TemporaryDirectory() as scratch:
        for lessons in sizes:
            for name, build in contenders(lessons, stock_ended):
                folder = Path(scratch) / f"{name}-{lessons}"
                folder.mkdir()
                for figure in build(folder, lessons):
                    print(report.line(asdict(figure)), flush=True)
                    figures.append(figure)
                    if name == "stock" and figure.seconds is None:
                        stock_ended = False
                shutil.rmtree(folder)
    measured = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(
            ["nox -s bench", *(["--", *map(str, sizes)] if len(sys.argv) > 1 else [])]
        ),
        "machine": f"{os.cpu_count()} logical cores, Python {platform.python_version()}",
        "versions": {name: version(name) for name in PACKAGES},
        "figures": [asdict(figure) for figure in figures],
    }
    folder = HERE.parents[1] / "docs" / "contribute"
    (folder / "benchmark.json").write_text(json.dumps(measured, indent=1) + "\n")
    report.write(folder, measured)


if __name__ == "__main__":
    main()
