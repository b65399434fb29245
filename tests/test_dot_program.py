"""Where the renderer is looked up, and what is said when something is wrong with it."""

import dot_program
import pytest


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_graphviz_dot_comes_first(monkeypatch, tmp_path):
    chosen = program(tmp_path / "my-dot", "cat")
    monkeypatch.setenv("GRAPHVIZ_DOT", str(chosen))
    assert dot_program.find_dot() == str(chosen)


def test_a_graphviz_dot_that_does_not_exist_is_named(monkeypatch):
    monkeypatch.setenv("GRAPHVIZ_DOT", "/no/such/dot")
    with pytest.raises(dot_program.DotError, match=r"/no/such/dot.*pip install graphviz-pure"):
        dot_program.find_dot()


def test_the_package_is_found_without_an_activated_environment(monkeypatch):
    monkeypatch.delenv("GRAPHVIZ_DOT", raising=False)
    monkeypatch.setenv("PATH", "")
    assert "graphviz-pure" in dot_program.find_dot()


def test_the_systems_dot_is_the_fallback(monkeypatch, tmp_path):
    monkeypatch.delenv("GRAPHVIZ_DOT", raising=False)
    monkeypatch.setattr(dot_program.sysconfig, "get_path", lambda name: str(tmp_path / "empty"))
    monkeypatch.setattr(dot_program.sys, "executable", str(tmp_path / "empty" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(dot_program.DotError, match="looked for graphviz-pure"):
        dot_program.find_dot()
    system = program(tmp_path / "dot", "cat")
    assert dot_program.find_dot() == str(system)


def test_a_renderer_that_fails_is_quoted(monkeypatch, tmp_path):
    failing = program(tmp_path / "failing", "echo 'syntax error in line 3' >&2; exit 1")
    monkeypatch.setenv("GRAPHVIZ_DOT", str(failing))
    with pytest.raises(dot_program.DotError, match="syntax error in line 3"):
        dot_program.draw("digraph {}")


def test_a_renderer_that_hangs_is_ended(monkeypatch, tmp_path):
    hanging = program(tmp_path / "hanging", "exec sleep 60")
    monkeypatch.setenv("GRAPHVIZ_DOT", str(hanging))
    monkeypatch.setattr(dot_program, "TIMEOUT", 0.2)
    with pytest.raises(dot_program.DotError, match=r"hanging did not draw a graph in 0\.2 s"):
        dot_program.draw("digraph {}")


def test_a_picture_that_no_browser_could_read_is_refused(monkeypatch, tmp_path):
    broken = program(tmp_path / "broken", "echo '<svg><text></svg>'")
    monkeypatch.setenv("GRAPHVIZ_DOT", str(broken))
    with pytest.raises(dot_program.DotError, match="not well-formed"):
        dot_program.draw("digraph {}")
