"""Measure what a lesson weighs beside other themes with MathJax: ``nox -s weight``.

Each contender builds the same two lessons. A server on this machine sends the pages, compressed;
Chromium loads each with an empty cache, a network and a processor as slow as a cheap phone's, all
contenders in turn, several times. The median counts. The others are measured as they come:
sphinx-gallery's own look, formulas by MathJax, and no graphs, since they have none to show.

MathJax would come from another host. Here it comes from the same server, out of the npm packages
that Sphinx's default address stands for; ``npm`` fetches them. That favours the others: no name
is looked up, and no second connection made.

The figures go to ``docs/contribute/weight.json``, the table beside it.
"""

import argparse
import datetime
import gzip
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import synthetic
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
LESSONS = {"first_gradients": "first_gradient", "kinks": "slopes_from_both_sides"}
THEMES = {
    "furo and MathJax": "furo",
    "pydata-sphinx-theme": "pydata_sphinx_theme",
    "sphinx-book-theme": "sphinx_book_theme",
}
PACKAGES = ["sphinx", "sphinx-gallery", "furo", "pydata-sphinx-theme", "sphinx-book-theme"]
# The release of both npm packages; Sphinx asks for the newest 4.
MATHJAX = "4.1.3"
NPM = {"mathjax": "mathjax", "fonts/mathjax-newcm-font": "@mathjax/mathjax-newcm-font"}
PHONE = {"width": 360, "height": 740}
# Bytes a second and milliseconds: what is often called a slow 4G. The processor: a quarter.
NETWORK = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
SLOWER = 4
COMPRESSED = {".html", ".css", ".js", ".svg"}
OBSERVE = """
window.measured = { shift: 0, paint: 0 };
const watch = (type, note) =>
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
watch("layout-shift", (entry) => (measured.shift += entry.value));
watch("largest-contentful-paint", (entry) => (measured.paint = entry.startTime));
"""


@cache
def compressed(path: Path) -> bytes:
    """A file as a server sends it."""
    data = path.read_bytes()
    return gzip.compress(data, 9, mtime=0) if path.suffix in COMPRESSED else data


class Handler(SimpleHTTPRequestHandler):
    """Sends the files of a folder, compressed where that helps; keeps its connections."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path.partition("?")[0]))
        found = path.is_file()
        data = compressed(path) if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Access-Control-Allow-Origin", "*")
        if path.suffix in COMPRESSED:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_) -> None:
        """Say nothing."""


def fetch_mathjax(folder: Path) -> None:
    """Put MathJax and its font where the server has them."""
    npm = shutil.which("npm")
    if not npm:
        raise SystemExit("nox -s weight needs npm, to fetch the MathJax that the others load")
    for place, package in NPM.items():
        command = [npm, "pack", "--silent", f"{package}@{MATHJAX}"]
        done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
        with tarfile.open(folder / done.stdout.strip()) as archive:
            archive.extractall(folder / "unpacked", filter="data")
        shutil.move(folder / "unpacked" / "package", folder / place)


def build(folder: Path, *options: str) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", *options, "docs", "_build/html"]
    subprocess.run(command, cwd=folder, check=True)


def write_scripts(folder: Path) -> None:
    """Copy the lessons and the headers that they need."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "GALLERY_HEADER.rst", folder)
    for section, lesson in LESSONS.items():
        (folder / section).mkdir()
        for name in ("GALLERY_HEADER.rst", f"{lesson}.py"):
            shutil.copy(ROOT / "examples" / section / name, folder / section)


def build_ours(folder: Path) -> None:
    synthetic.write_configuration(folder, {name: [lesson] for name, lesson in LESSONS.items()})
    write_scripts(folder / "examples")
    # A lesson may link to one that is not here.
    build(folder, "-c", "conf", "-D", "check_release=0")


def build_theme(folder: Path, theme: str, server: str) -> None:
    """A site with another theme, sphinx-gallery and MathJax, each as it comes."""
    write_scripts(folder / "examples")
    synthetic.write_stock(folder / "docs")
    with (folder / "docs" / "conf.py").open("a") as conf:
        conf.write(
            f'html_theme = "{theme}"\n'
            f'mathjax_path = "{server}/mathjax/tex-mml-chtml.js"\n'
            f'mathjax4_config = {{"loader": {{"paths": {{"fonts": "{server}/fonts"}}}}}}\n'
        )
    build(folder)


def load(browser: Browser, address: str) -> dict:
    """What it costs to open a page with an empty cache."""
    context = browser.new_context(viewport=PHONE)
    tab = context.new_page()
    tab.add_init_script(OBSERVE)
    session = context.new_cdp_session(tab)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    finished = []
    tab.on("requestfinished", lambda request: finished.append(request))
    tab.goto(address, wait_until="load", timeout=120_000)
    # MathJax fetches parts of its font when it meets a formula, and paints again.
    tab.wait_for_load_state("networkidle", timeout=120_000)
    tab.wait_for_timeout(1_000)
    measured = tab.evaluate("measured")
    # Browsers ask for an icon where a page names none; a headless one does so once.
    sizes = {
        request.url: request.sizes()["responseBodySize"]
        for request in finished
        if not request.url.endswith("favicon.ico")
    }
    context.close()
    return {
        "requests": len(sizes),
        "bytes": sum(sizes.values()),
        "fonts": sum(size for url, size in sizes.items() if ".woff" in url),
        "paint": round(measured["paint"]),
        "shift": round(measured["shift"], 4),
    }


def table(measured: dict) -> str:
    """The figures as a MyST table."""
    lines = [
        "| Lesson | Built with | Requests | kB | of it fonts | Largest paint, s | Layout shift |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in measured["figures"]:
        lines.append(
            f"| `{row['lesson']}` | {row['contender']} | {row['requests']} "
            f"| {row['bytes'] / 1000:.0f} | {row['fonts'] / 1000:.0f} "
            f"| {row['paint'] / 1000:.1f} | {row['shift']:.3f} |"
        )
    versions = ", ".join(f"{name} {number}" for name, number in measured["versions"].items())
    said = (
        f"Measured on {measured['date']} with `{measured['command']}`, the median of "
        f"{measured['runs']} loads: {measured['machine']}, {versions}."
    )
    return "\n".join([*lines, "", said, ""])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("runs", nargs="?", type=int, default=7)
    runs = arguments.parse_args().runs
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if not program:
        raise SystemExit("nox -s weight needs Chromium or Chrome")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        fetch_mathjax(folder)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        build_ours(folder / "ours")
        for theme in THEMES.values():
            build_theme(folder / theme, theme, address)
        contenders = {"ours": "ours"} | THEMES
        loads: dict[tuple[str, str], list[dict]] = {}
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for _ in range(runs):
                for section, lesson in LESSONS.items():
                    for name, place in contenders.items():
                        page = f"{address}/{place}/_build/html/lessons/{section}/{lesson}.html"
                        loads.setdefault((lesson, name), []).append(load(browser, page))
            chromium = browser.version
            browser.close()
        server.shutdown()
    figures = [
        {"lesson": lesson, "contender": name}
        | {key: statistics.median(one[key] for one in found) for key in found[0]}
        for (lesson, name), found in loads.items()
    ]
    measured = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["nox -s weight", *(["--", str(runs)] if len(sys.argv) > 1 else [])]),
        "runs": runs,
        "machine": f"a network of 1.6 Mbit/s and 150 ms, a processor slowed {SLOWER} times, "
        f"Python {platform.python_version()}, Chromium {chromium}",
        "versions": {name: version(name) for name in PACKAGES} | {"MathJax": MATHJAX},
        "figures": figures,
    }
    target = ROOT / "docs" / "contribute"
    (target / "weight.json").write_text(json.dumps(measured, indent=1) + "\n")
    (target / "weight.txt").write_text(table(measured))
    print(table(measured))


if __name__ == "__main__":
    main()
