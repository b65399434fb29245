"""The probes themselves, and the run that lets no crash or hang of one cost the others."""

import math
import os
import re
import sys
import textwrap

import pytest
import torch
from probes import compare, kink, plain, registry, runner, tools
from probes.kink import Kink

PROBES = registry.load()


@pytest.fixture
def areas(tmp_path, monkeypatch):
    """Writes a package of probes; returns its name. Workers find it in the current folder."""

    def write(text, module="toy"):
        package = tmp_path / "toy_areas"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        head = "import os, signal, sys, time, warnings\nimport torch\nfrom probes.registry import probe\n"
        (package / f"{module}.py").write_text(head + textwrap.dedent(text))
        monkeypatch.chdir(tmp_path)
        return "toy_areas"

    return write


class TestTheList:
    def test_there_are_many_in_every_area(self):
        areas = {probe.area for probe in PROBES.values()}
        assert len(PROBES) >= 150
        assert areas == {
            *("kinks", "ties", "accumulation", "graph_nodes", "in_place_and_views", "hooks"),
            *("modes", "higher_order", "custom_functions", "checkpoint", "func"),
            *("complex_numbers", "sparse", "clipping", "defaults", "messages"),
        }

    def test_about_forty_messages_are_asked_for(self):
        assert sum(probe.area == "messages" for probe in PROBES.values()) >= 40

    def test_a_probe_asks_one_question_in_one_line(self):
        wrong = [
            id
            for id, probe in PROBES.items()
            if not re.fullmatch(r"[a-z_]+\.[a-z0-9_]+", id)
            or not re.fullmatch(r"[^\n]{10,250}\?", probe.question)
        ]
        assert wrong == []

    def test_no_question_is_asked_twice(self):
        questions = [probe.question for probe in PROBES.values()]
        assert {text for text in questions if questions.count(text) > 1} == set()

    def test_an_id_can_be_given_only_once(self):
        with pytest.raises(ValueError, match=r"two probes have the id kinks\.relu_at_0"):
            registry.probe("kinks.relu_at_0", "What?")(lambda: None)

    def test_a_probe_in_the_module_of_another_area_is_refused(self, areas, monkeypatch):
        areas('@probe("ties.misplaced", "What is it?")\ndef misplaced(): return 1', "moved")
        monkeypatch.syspath_prepend(os.getcwd())
        with pytest.raises(ValueError, match=r"ties\.misplaced is in areas/moved\.py: move"):
            registry.load("toy_areas")
        del registry._probes["ties.misplaced"]


class TestKinks:
    def facts(self, expression, *point):
        return kink.facts(Kink(expression, point))

    def test_a_corner_has_two_slopes_and_all_between_them_are_valid(self):
        facts = self.facts("torch.relu(x)", 0.0)
        assert (facts["left"], facts["right"], facts["limits"]) == (0.0, 1.0, [0.0, 1.0])
        assert (facts["gradient"], facts["inside"], facts["gradcheck"]) == (0.0, True, "fails")

    def test_half_passes_gradcheck(self):
        facts = self.facts("torch.maximum(x, torch.tensor(0.0))", 0.0)
        assert (facts["gradient"], facts["inside"], facts["gradcheck"]) == (0.5, True, "passes")

    def test_a_smooth_function_has_one_slope(self):
        facts = self.facts("x**3", 2.0)
        assert (facts["left"], facts["right"], facts["limits"]) == (12.0, 12.0, [12.0])
        assert (facts["value"], facts["gradient"], facts["forward"]) == (8.0, 12.0, 12.0)

    def test_a_gradient_that_is_no_subgradient_is_outside(self):
        facts = self.facts("torch.relu(x) - torch.relu(-x)", 0.0)
        assert (facts["limits"], facts["gradient"], facts["inside"]) == ([1.0], 0.0, False)
        assert self.facts("torch.sqrt(x * x)", 0.0)["inside"] is False

    def test_a_root_is_infinitely_steep_and_has_no_left(self):
        facts = self.facts("torch.sqrt(x)", 0.0)
        assert math.isnan(facts["left"])
        assert (facts["right"], facts["gradient"], facts["inside"]) == (math.inf, math.inf, True)

    @pytest.mark.parametrize(
        "expression", ["torch.floor(x)", "torch.frac(x)", "torch.sign(x - 1)"]
    )
    def test_a_jump_has_no_subgradient(self, expression):
        facts = self.facts(expression, 1.0)
        assert facts["limits"] is None
        assert facts["inside"] is None
        assert math.inf in (abs(facts["left"]), abs(facts["right"]))

    def test_several_inputs_have_corners(self):
        facts = self.facts("torch.maximum(torch.maximum(x, y), z)", 1.0, 1.0, 1.0)
        assert facts["limits"] == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
        assert facts["gradient"] == [0.25, 0.25, 0.5]
        assert facts["inside"] is True

    @pytest.mark.parametrize(
        ("gradient", "inside"),
        [([1, 0], True), ([0.5, 0.5], True), ([0.3, 0.7], True), ([1, 1], False), ([0, 0], False)],
    )
    def test_only_averages_of_the_corners_are_inside(self, gradient, inside):
        assert kink._inside(gradient, [[0.0, 1.0], [1.0, 0.0]]) is inside

    def test_a_norm_has_more_than_corners(self):
        facts = self.facts("x.norm()", [0.0, 0.0])
        assert facts["limits"] == "many"
        assert (facts["left"], facts["right"]) == ([-1.0, -1.0], [1.0, 1.0])
        assert facts["inside"] is True

    def test_constants_are_as_exact_as_the_input(self):
        # As a float32 it would move the corner away from 0.1 in float64.
        facts = self.facts("torch.maximum(x, torch.tensor(0.1))", 0.1)
        assert (facts["left"], facts["right"]) == (0.0, 1.0)
        assert torch.get_default_dtype() is torch.float32

    def test_the_name_of_an_error_is_an_answer(self):
        facts = self.facts("torch.linalg.inv(x).sum()", [[1.0, 2.0], [2.0, 4.0]])
        assert facts["gradient"] == "LinAlgError"
        assert facts["inside"] is None

    def test_what_a_page_draws_is_what_was_asked(self):
        declared = PROBES["ties.fmax_of_equal"].subject
        assert declared.point == (1.0, 1.0)
        assert declared.function(torch.tensor(2.0), torch.tensor(3.0)).item() == 3
        assert declared.place == "x = 1, y = 1"


class TestPlainData:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (torch.tensor([1.0, math.nan, -math.inf]), [1.0, "nan", "-inf"]),
            (torch.tensor(0.1), 0.1),
            (1 / 3, 0.333333),
            ((1, True, None, "text"), [1, True, None, "text"]),
            (3 + 4j, {"real": 3.0, "imag": 4.0}),
            ({1: torch.float32}, {"1": "torch.float32"}),
        ],
    )
    def test_values(self, value, expected):
        assert plain.plain(value) == expected

    def test_the_sign_of_a_zero_is_dropped(self):
        assert math.copysign(1, plain.plain(-0.0)) == 1

    def test_a_gradient_without_memory_is_zeros(self):
        x = torch.zeros(2, requires_grad=True)
        x.sgn().sum().backward()
        assert plain.plain(x.grad) == [0.0, 0.0]

    def test_other_objects_are_refused(self):
        with pytest.raises(TypeError, match="plain data, not a object"):
            plain.plain(object())

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("<Node at 0x7f12ab>", "<Node at (address)>"),
            (
                "in /usr/lib/python3/torch/_tensor.py, line 39, in f",
                "in (path), line (number), in f",
            ),
            ("see https://pytorch.org/docs/a.html#b", "see https://pytorch.org/docs/a.html#b"),
            ("a (Triggered internally at ../aten/x.cpp:12.)", "a"),
            ("at autograd.cpp:123", "at autograd.cpp:(number)"),
            ("sizes differ at /aten/TH.cpp:136", "sizes differ at (path):(number)"),
            (
                "no sign\nException raised from f at a.h:1 (most recent call first):\nframe #0",
                "no sign",
            ),
            (
                "Could not run it. This could be because the operator doesn't exist: CPU",
                "Could not run it.",
            ),
        ],
    )
    def test_texts_are_the_same_on_every_machine(self, text, expected):
        assert plain.stable_text(text) == expected

    @pytest.mark.parametrize(
        ("error", "missing"),
        [
            (AttributeError("module 'torch' has no attribute 'func'"), True),
            (ImportError("cannot import name 'forward_ad'"), True),
            (TypeError("grad() got an unexpected keyword argument 'k'"), True),
            (ValueError("Unexpected keyword arguments: use_reentrant,k"), True),
            (ValueError("Unexpected keyword arguments: k"), False),
            (TypeError("'int' object is not iterable"), False),
            (RuntimeError("has no attribute"), False),
        ],
    )
    def test_what_tells_of_a_missing_api(self, error, missing):
        def ask():
            raise error

        assert plain.is_missing(error) is missing
        if missing:
            with pytest.raises(type(error)):
                tools.raised(ask)
        else:
            assert tools.raised(ask) == f"{type(error).__name__}: {error}"


class TestComparison:
    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ({"value": "nan"}, {"value": "nan"}),
            ({"value": [1.0, 2]}, {"value": [1, 2.0001]}),
            ({"value": 0.0}, {"value": 1e-7}),
            ({"missing": "in one wording"}, {"missing": "in another"}),
        ],
    )
    def test_equal(self, a, b):
        assert compare.same(a, b)

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ({"value": "nan"}, {"value": 0.0}),
            ({"value": 1}, {"value": True}),
            ({"value": 1.0}, {"value": 1.001}),
            ({"value": [1]}, {"value": [1, 1]}),
            ({"value": {"a": 1}}, {"value": {"b": 1}}),
            ({"value": "RuntimeError"}, {"raises": "RuntimeError"}),
            ({"value": None}, {"missing": "it"}),
            (None, {"value": None}),
        ],
    )
    def test_different(self, a, b):
        assert not compare.same(a, b)

    def test_changes_are_sorted_and_include_what_one_lacks(self):
        old = {"probes": {"b.x": {"value": 1}, "a.x": {"value": 1}, "c.x": {"value": 1}}}
        new = {"probes": {"b.x": {"value": 2}, "d.x": {"value": 1}, "c.x": {"value": 1}}}
        assert [change.id for change in compare.changes(old, new)] == ["a.x", "b.x", "d.x"]


class TestRun:
    def test_a_crash_a_hang_or_a_missing_api_costs_only_one_probe(self, areas):
        toy = areas("""
            @probe("toy.a_crash", "Does it crash?")
            def crash(): os.kill(os.getpid(), signal.SIGSEGV)

            @probe("toy.b_exit", "Does it exit?")
            def leave(): os._exit(3)

            @probe("toy.c_hang", "Does it hang?")
            def hang(): time.sleep(60)

            @probe("toy.d_missing", "Is it there?")
            def missing(): return torch.no_such_function

            @probe("toy.e_keyword", "Is the argument there?")
            def keyword(): return torch.autograd.grad(no_such_argument=1)

            @probe("toy.f_error", "Does it raise?")
            def error(): raise RuntimeError("at 0x12")

            @probe("toy.g_fine", "Is it fine?")
            def fine(): return torch.ones(2)
        """)
        seen = []
        run = runner.run(limit=2.0, areas=toy, progress=lambda id, answer: seen.append(id))
        answers = run["probes"]
        assert list(answers) == seen == sorted(seen)
        assert answers["toy.a_crash"] == {"crash": "SIGSEGV"}
        assert answers["toy.b_exit"] == {"crash": "exit status 3"}
        assert answers["toy.c_hang"] == {"timeout": 2.0}
        assert "no_such_function" in answers["toy.d_missing"]["missing"]
        assert "no_such_argument" in answers["toy.e_keyword"]["missing"]
        assert answers["toy.f_error"] == {"raises": "RuntimeError: at (address)"}
        assert answers["toy.g_fine"] == {"value": [1.0, 1.0]}
        assert run["release"] == torch.__version__.partition("+")[0]

    def test_no_probe_sees_what_another_one_left(self, areas):
        toy = areas("""
            @probe("toy.a_leave", "What does it leave?")
            def leave():
                torch.set_default_dtype(torch.float64)
                torch.set_grad_enabled(False)
                torch.autograd.set_detect_anomaly(True)
                torch.manual_seed(7)
                warnings.simplefilter("error")
                print("among the answers")
                return torch.rand(1).item()

            @probe("toy.b_find", "What does it find?")
            def find():
                warnings.warn("not an error")
                return [torch.get_default_dtype(), torch.is_grad_enabled(),
                        torch.is_anomaly_enabled(), torch.get_num_threads(), torch.rand(1)]

            @probe("toy.c_again", "And again?")
            def again(): return torch.rand(1)

            @probe("toy.d_process", "In which process?")
            def process(): return os.getpid()

            @probe("toy.e_fresh", "In which process?", fresh=True)
            def fresh(): return os.getpid()

            @probe("toy.f_process", "In which process?")
            def process_again(): return os.getpid()
        """)
        answers = {id: answer["value"] for id, answer in runner.run(areas=toy)["probes"].items()}
        *state, first = answers["toy.b_find"]
        assert state == ["torch.float32", True, False, 1]
        assert first == answers["toy.c_again"]
        assert answers["toy.d_process"] == answers["toy.f_process"] != answers["toy.e_fresh"]

    def test_the_user_s_settings_do_not_reach_the_probes(self, areas, monkeypatch):
        monkeypatch.setenv("TORCH_LOGS", "+autograd")
        monkeypatch.setenv("PYTHONWARNINGS", "error")
        kept = runner.environment()
        assert not {"TORCH_LOGS", "PYTHONWARNINGS"} & set(kept)
        assert kept["PATH"] == os.environ["PATH"]

    def test_an_interpreter_without_torch_is_one_clear_error(self, tmp_path):
        (tmp_path / "python").write_text(f'#!/bin/sh\nexec "{sys._base_executable}" -I -S "$@"\n')
        (tmp_path / "python").chmod(0o755)
        python = str(tmp_path / "python")
        with pytest.raises(runner.RunError, match="could not start the probes"):
            runner.run(python)
        with pytest.raises(runner.RunError, match="has no torch: install it there"):
            runner.release_of(python)
