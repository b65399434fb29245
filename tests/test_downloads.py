"""What a reader downloads runs alone."""

import ast
import json
import multiprocessing
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from alone import run_alone
from reading_order import LESSONS


def download(site, name):
    (path,) = (site / "_downloads").glob(f"*/{name}")
    return path


def code_of(notebook) -> str:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return "\n".join(code[1:])  # the first cell installs what is needed


@pytest.fixture(scope="module")
def interpreters():
    """Makes processes that have imported what lessons need, which takes longer than a lesson."""
    context = multiprocessing.get_context("forkserver")
    # The last one is what torch.testing.assert_close imports when it is first called.
    context.set_forkserver_preload(
        ["torch", "torchviz", "matplotlib.pyplot", "torch.distributed.tensor"]
    )
    return context


@pytest.mark.parametrize("lesson", LESSONS)
def test_script_runs_alone(site, tmp_path, interpreters, lesson):
    folder, printed = tmp_path / "empty", tmp_path / "printed"
    folder.mkdir()
    script = download(site, f"{lesson}.py")
    process = interpreters.Process(target=run_alone, args=(script, folder, printed))
    process.start()
    process.join()
    assert process.exitcode == 0, printed.read_text()
    assert printed.read_text()
    assert list(folder.iterdir()) == [], "a lesson writes no file"


def test_script_needs_nothing_but_python_and_the_named_packages(site, tmp_path):
    script = download(site, f"{LESSONS[0]}.py")
    command = [sys.executable, "-I", script]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("lesson", LESSONS)
def test_script_and_notebook_hold_nothing_of_the_build(site, lesson):
    """What is downloaded is what the author wrote, whatever the build recorded of its run."""
    (source,) = site.parents[1].glob(f"examples/*/{lesson}.py")
    assert download(site, f"{lesson}.py").read_bytes() == source.read_bytes()
    cells = json.loads(download(site, f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.parametrize("lesson", LESSONS)
def test_script_says_what_it_needs(site, lesson):
    """The inline metadata (PEP 723) names every package that the script imports."""
    text = download(site, f"{lesson}.py").read_text(encoding="utf-8")
    metadata = re.search(r"(?m)^# /// script\n((?:#.*\n)+?)# ///$", text)[1]
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    allowed = {"torch", "torchviz", "matplotlib"}
    if lesson == "numpy_refused":
        allowed |= {"numpy"}
    assert imported <= allowed | set(sys.stdlib_module_names)
    for package in imported - set(sys.stdlib_module_names):
        assert f'"{package}"' in metadata


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebook_has_the_same_code(site, lesson):
    script = ast.parse(download(site, f"{lesson}.py").read_text(encoding="utf-8"))
    notebook = ast.parse(code_of(download(site, f"{lesson}.ipynb")))
    assert ast.dump(ast.Module(script.body[1:], [])) == ast.dump(ast.Module(notebook.body, []))


def test_notebook_runs_and_says_that_pictures_need_dot(site, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    # The kernel finds Python by its full path, and a shell for pip; `dot` it must not find.
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to(shutil.which("sh"))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    notebook = nbformat.read(download(site, "first_gradient.ipynb"), as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = json.dumps(notebook["cells"])
    assert "pictures are left out" in printed
    assert "(picture left out)" in printed
    assert "Traceback" not in printed


def test_all_lessons_come_in_one_archive(site):
    names = zipfile.ZipFile(download(site, "lessons_python.zip")).namelist()
    assert sorted(name.split("/")[-1] for name in names) == sorted(
        f"{name}.py" for name in LESSONS
    )
    names = zipfile.ZipFile(download(site, "lessons_jupyter.zip")).namelist()
    assert {name.split("/")[-1] for name in names} == {f"{name}.ipynb" for name in LESSONS}
