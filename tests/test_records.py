"""The records: whole, in agreement with what is known, and never lost."""

import contextlib
import datetime
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from typing import ClassVar

import check_release
import pytest
import tiny
import torch
from probes import compare, installed, records, registry, runner
from probes import record as command
from probes.record import Interpreter, RecordingError
from probes.records import RecordError

RECORDS = {release: records.read(release) for release in records.releases()}
INSTALLED = torch.__version__.partition("+")[0]
THIS = Interpreter(sys._base_executable, "this one")


def value(release, id, *keys):
    """A recorded answer; of a dict, what is under the keys."""
    answer = RECORDS[release]["probes"][id]
    found = answer.get("value", next(iter(answer)))
    for key in keys:
        found = found[key]
    return found


class TestCommittedRecords:
    def test_the_promised_releases_are_there(self):
        assert {"1.13.1", "2.13.0", "2.14.1", "2.15.0"} <= set(RECORDS)
        between = [r for r in RECORDS if (2, 0) <= records.release_order(r) < (2, 13)]
        assert len(between) >= 2

    @pytest.mark.parametrize("release", RECORDS)
    def test_every_probe_is_in_every_record_and_nothing_else(self, release):
        assert list(RECORDS[release]["probes"]) == list(registry.load())

    @pytest.mark.parametrize("release", RECORDS)
    def test_no_answer_holds_what_differs_between_machines(self, release):
        text = json.dumps(RECORDS[release]["probes"])
        assert not [
            part for part in ("0x", "/root", "/home", "/tmp", "site-packages") if part in text
        ]

    @pytest.mark.parametrize("release", RECORDS)
    def test_no_answer_tells_of_a_mistake_in_a_probe(self, release):
        raised = [a["raises"] for a in RECORDS[release]["probes"].values() if "raises" in a]
        assert not [text for text in raised if text.startswith(("NameError", "SyntaxError"))]
        # From 1.13 on, each probe knows what its question can end in.
        assert records.release_order(release) < (1, 13) or raised == []

    @pytest.mark.parametrize(
        "release", [r for r in RECORDS if records.release_order(r) >= (2, 13)]
    )
    def test_new_releases_have_all_that_is_asked_for(self, release):
        kinds = {next(iter(answer)) for answer in RECORDS[release]["probes"].values()}
        assert kinds == {"value"}


# What is known of six releases from measurements made apart from these records, CPU builds:
# probe, keys into its answer, and the answers by release; ... where it was not measured.
EVER = ("1.4.0", "1.6.0", "1.13.1", "2.13.0", "2.14.1", "2.15.0")
nan, inf = "nan", "inf"
ERROR, MISSING = "RuntimeError", "missing"
KNOWN = [
    # clamp at its bounds
    ("kinks.clamp_min_at_0", "gradient", 1, 1, 1, 1, 0, 0),
    ("kinks.clamp_range_at_lower", "gradient", ..., ..., 1, 1, 0, 0),
    ("kinks.clamp_range_at_upper", "gradient", ..., ..., 1, 1, 0, 0),
    ("kinks.clamp_min_function_at_0", "gradient", ..., ..., 1, 1, 0, 0),
    ("kinks.clamp_max_function_at_1", "gradient", ..., ..., 1, 1, 0, 0),
    ("kinks.clamp_min_tensor_at_0", "gradient", 1, 1, 1, 1, 0.5, 0.5),
    ("kinks.loss_through_clamp", "gradient", ..., ..., -2, -2, 0, 0),
    ("kinks.loss_through_relu", "gradient", 0, 0, 0, 0, 0, 0),
    ("kinks.network_with_clamp_for_relu", (2, 1), ..., ..., -38, -38, 0, 0),
    ("kinks.network_with_clamp_for_relu", (0, 1), ..., ..., 0, 0, 0, 0),
    ("kinks.network_with_maximum_for_relu", (2, 1), MISSING, MISSING, -19, -19, -19, -19),
    ("kinks.straight_through_on_bound", "gradient", ..., ..., 1, 1, 0, 0),
    ("kinks.angle_between_equal_vectors", ("gradient", 0), ..., ..., nan, nan, 0, 0),
    # other kinks
    ("kinks.relu_at_0", "gradient", 0, 0, 0, 0, 0, 0),
    ("kinks.relu6_at_0", "gradient", ..., ..., 0, 0, 0, 0),
    ("kinks.relu6_at_6", "gradient", ..., ..., 0, 0, 0, 0),
    ("kinks.hardtanh_at_1", "gradient", ..., ..., 0, 0, 0, 0),
    ("kinks.hardtanh_at_minus_1", "gradient", ..., ..., 0, 0, 0, 0),
    ("kinks.hardsigmoid_at_3", "gradient", ..., ..., 0, 0, 0, 0),
    ("kinks.hardswish_at_minus_3", "gradient", ..., ..., -0.5, 0, 0, 0),
    ("kinks.hardswish_at_3", "gradient", ..., ..., 1.5, 1, 1, 1),
    ("kinks.leaky_relu_at_0", "gradient", 0.1, 0.1, 0.1, 0.1, 0.1, 0.1),
    ("kinks.prelu_at_0", "gradient", ..., ..., 0.25, 0.25, 0.25, 0.25),
    ("kinks.elu_at_0", "gradient", ..., ..., 1, 1, 1, 1),
    ("kinks.abs_at_0", "gradient", 0, 0, 0, 0, 0, 0),
    ("kinks.where_at_0", "gradient", ..., ..., 0, 0, 0, 0),
    ("kinks.sqrt_at_0", "gradient", ..., ..., inf, inf, inf, inf),
    ("kinks.sqrt_of_square_power_at_0", "gradient", ..., ..., nan, nan, nan, nan),
    ("kinks.norm_at_0", "gradient", [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]),
    ("kinks.norm_p_half_at_0", ("gradient", 0), nan, nan, 0, 0, 0, 0),
    ("kinks.norm_p_0_at_0", "gradient", [0, 0], [0, 0], None, None, None, None),
    ("kinks.std_of_constant", ("gradient", 0), nan, nan, 0, 0, 0, 0),
    ("kinks.atan2_at_origin", ("gradient", 0), ..., ..., nan, 0, 0, 0),
    ("kinks.var_of_one_element", "gradient", [[nan]], [[nan]], ERROR, [[nan]], [[nan]], [[nan]]),
    ("kinks.prod_of_one_zero_by_dimension", "gradient", ERROR, ERROR, [1], [1], [1], [1]),
    ("kinks.prod_with_a_zero", "gradient", ..., ..., [0, 6, 0], [0, 6, 0], [0, 6, 0], [0, 6, 0]),
    ("kinks.acos_at_1", "gradient", ..., ..., "-inf", "-inf", "-inf", "-inf"),
    ("kinks.abs_at_0", "gradcheck", ..., ..., ..., "passes", ..., ...),
    ("ties.maximum_with_constant_0", "gradcheck", ..., ..., ..., "passes", ..., ...),
    ("kinks.relu_at_0", "gradcheck", ..., ..., ..., "fails", ..., ...),
    ("kinks.clamp_min_at_0", "gradcheck", ..., ..., ..., "fails", ..., ...),
    # ties
    ("ties.fmax_of_equal", "gradient", ..., ..., [1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5]),
    ("ties.fmin_of_equal", "gradient", ..., ..., [1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5]),
    ("ties.fmax_with_constant_0", "gradient", ..., ..., 1, 1, 0.5, 0.5),
    ("ties.maximum_with_constant_0", "gradient", MISSING, MISSING, 0.5, 0.5, 0.5, 0.5),
    ("ties.max_of_all", "gradient", [1, 1], [1, 0], *[[0.5, 0.5]] * 4),
    ("ties.norm_p_inf_tie", "gradient", [1, 0, -1], [1, 0, -1], *[[0.5, 0, -0.5]] * 4),
    ("ties.max_with_constant_0", "gradient", ..., ..., 0.5, 0.5, 0.5, 0.5),
    ("ties.amax_with_constant_0", "gradient", ..., ..., 0.5, 0.5, 0.5, 0.5),
    ("ties.max_by_dimension_with_constant_0", "gradient", ..., ..., 1, 1, 1, 1),
    ("ties.max_by_dimension", "gradient", ..., [1, 0], [1, 0], [1, 0], [1, 0], [1, 0]),
    ("ties.median_of_three", ("gradient", 0), ..., ..., 1 / 3, 1 / 3, 1 / 3, 1 / 3),
    # higher order
    ("higher_order.norm_at_0", ("second", 0), 0, 0, nan, nan, nan, nan),
    ("higher_order.maml", "create_graph=False", 1.4, 1.4, 1.4, 1.4, 1.4, 1.4),
    ("higher_order.maml", "create_graph=True", 0.56, 0.56, 0.56, 0.56, 0.56, 0.56),
    ("higher_order.hessian_forward_over_reverse_at_norm", 0, ..., ..., MISSING, *[[0, 0]] * 3),
    ("higher_order.hessian_reverse_over_reverse_at_norm", 0, ..., ..., MISSING, *[[nan, nan]] * 3),
    ("higher_order.hessian_without_norm", 0, ..., ..., MISSING, *[[2, 0]] * 3),
    # accumulation, views, hooks, modes
    ("accumulation.optimizer_zero_grad_leaves", (), [[0]], ..., [[0]], None, None, None),
    ("accumulation.stale_grad_of_frozen_parameter", (), ..., ..., True, True, True, True),
    ("in_place_and_views.optimizer_step_between_backwards", (), None, *[ERROR] * 5),
    (
        "in_place_and_views.rows_from_iteration",
        (),
        [[2, 2], [2, 2]],
        [[2, 2], [2, 2]],
        *[ERROR] * 4,
    ),
    ("in_place_and_views.column_of_parameter", (), *[{"is_leaf": False}] * 2, *[ERROR] * 4),
    ("in_place_and_views.two_views_alive", "x.grad", ..., ..., ..., [36, 6], ..., ...),
    ("hooks.retain_grad_then_hook", "y.grad", ..., ..., 1, 10, 10, 10),
    ("hooks.hook_on_inputs_of_grad", (), ..., ..., [], ["called"], ["called"], ["called"]),
    ("hooks.before_and_after_in_place", 0, ..., ..., ["set before", 5], *[["set after", 1]] * 3),
    ("hooks.before_and_after_in_place", 1, ..., ..., ["set after", 5], *[["set before", 5]] * 3),
    ("hooks.node_prehook_and_retain_grad", "y.grad", ..., ..., ..., 3, ..., ...),
    (
        "modes.defined_with_set_grad_enabled_false",
        (),
        "TypeError",
        "TypeError",
        ...,
        ...,
        ...,
        ...,
    ),
    (
        *("modes.defined_with_set_grad_enabled_false", "after the definition"),
        *(..., ..., False, True, True, True),
    ),
    ("modes.anomaly_nan_in_forward", (), ..., ..., [nan], [nan], [nan], [nan]),
    ("modes.sampling", "torch.normal", ..., ..., 0, 0, 0, 0),
    ("complex_numbers.backward_of_complex_scalar", "real", ..., ..., 6, ..., ..., ...),
    ("complex_numbers.backward_of_complex_scalar", (), ..., ..., ..., ERROR, ERROR, ERROR),
    ("complex_numbers.square_of_abs", "real", ..., ..., 6, 6, 6, 6),
    # custom functions, clipping, checkpoint
    (
        *("custom_functions.output_kept_on_ctx_leaks", "ctx.result = result"),
        *(False, False, True, True, True, True),
    ),
    ("custom_functions.detached_second_derivative", (), ..., ..., 36, 36, 36, 36),
    ("custom_functions.gradient_of_wrong_shape", (), ..., ..., [2], [2], [2], [2]),
    ("custom_functions.once_differentiable", "f(x * x), grad", ..., ..., 144, 144, 144, 144),
    ("custom_functions.once_differentiable", "f(x * x)**2, backward", ..., ..., *[ERROR] * 4),
    ("clipping.one_inf", "grads", ..., ..., [nan, 0], [nan, 0], [nan, 0], [nan, 0]),
    ("checkpoint.default_is_reentrant", (), ..., ..., *["CheckpointFunctionBackward"] * 4),
    (
        "sparse.norm_of_sparse_gradient",
        "vector_norm",
        ...,
        ...,
        ...,
        "NotImplementedError",
        ...,
        ...,
    ),
    ("sparse.clip_grad_norm", (), ..., ..., 10**0.5, "NotImplementedError", 10**0.5, 10**0.5),
    # names of nodes
    ("graph_nodes.reshape", 0, ..., ..., "ReshapeAliasBackward0", *["ViewBackward0"] * 3),
    ("graph_nodes.norm", 0, ..., ..., "NormBackward1", *["LinalgVectorNormBackward0"] * 3),
    (
        "graph_nodes.attention_3d",
        0,
        ...,
        ...,
        ...,
        "UnsafeViewBackward0",
        *["SqueezeBackward1"] * 2,
    ),
]
KNOWN_TEXTS = [
    # probe, releases, a part of the text
    ("messages.modified_in_place", "1.13.1", "output 0 of SigmoidBackward0,"),
    ("messages.modified_in_place", "2.13.0 2.14.1 2.15.0", "output 0 of Sigmoid,"),
    ("messages.unused_input", "1.13.1", "One of the differentiated Tensors"),
    ("messages.unused_input", "2.13.0 2.14.1 2.15.0", "Tensor at index 1"),
    ("messages.grad_of_wrong_size", "1.13.1", "data of a different size"),
    ("messages.grad_of_wrong_size", "2.13.0 2.14.1 2.15.0", "size '[1, 4]' to a tensor of size"),
    ("messages.deepcopy_of_non_leaf", "2.13.0 2.14.1 2.15.0", "weight_norm"),
    ("messages.inference_saved", "2.13.0 2.14.1 2.15.0", "torch.no_grad()"),
    ("messages.checkpoint_without_use_reentrant", "1.13.1", "[]"),
    ("messages.checkpoint_without_use_reentrant", "2.13.0 2.14.1", "Starting in PyTorch 2.9"),
    ("messages.checkpoint_without_use_reentrant", "2.15.0", "In a future release"),
    ("messages.var_of_one_element", "1.4.0 1.6.0 1.13.1", "[]"),
    ("messages.var_of_one_element", "2.13.0 2.14.1 2.15.0", "degrees of freedom"),
    ("messages.leaf_in_place", "1.4.0", "has been used in an in-place operation"),
    ("messages.leaf_in_place", "1.13.1 2.13.0 2.14.1 2.15.0", "is being used in an in-place"),
    ("func.jvp_warns", "2.14.1 2.15.0", "FutureWarning: `torch.jit.script` is deprecated"),
]


class TestKnownFacts:
    @pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"{row[0]} {row[1]}")
    def test_the_records_agree(self, row):
        id, keys, *known = row
        keys = keys if isinstance(keys, tuple) else (keys,)
        compared = 0
        for release, expected in zip(EVER, known, strict=True):
            if release not in RECORDS or expected is ...:
                continue
            found = value(release, id) if expected in (ERROR, MISSING) else None
            if found != expected:
                found = value(release, id, *keys)
            assert compare.same(found, expected), release
            compared += 1
        assert compared

    @pytest.mark.parametrize(("id", "releases", "part"), KNOWN_TEXTS)
    def test_the_recorded_texts_agree(self, id, releases, part):
        for release in releases.split():
            if release in RECORDS:
                assert part in str(value(release, id)), release

    def test_the_jit_warning_was_hidden_before_2_14(self):
        assert "FutureWarning" not in str(value("2.13.0", "func.jvp_warns"))


TOY = """
    import os, time, torch
    from probes.registry import probe

    @probe("toy.a_number", "Which number?")
    def number():
        with open("asked", "a") as file: file.write("once\\n")
        return torch.tensor(0.5)

    @probe("toy.b_process", "Is it quick?")
    def quick():
        if os.path.exists("hang"): time.sleep(60)
        return "yes"
"""


@pytest.fixture(scope="module")
def toy_once(tmp_path_factory):
    """A folder with two probes and the installed release's record of them."""
    folder = tmp_path_factory.mktemp("toy")
    package = folder / "toy_areas"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "toy.py").write_text(textwrap.dedent(TOY))
    with contextlib.chdir(folder):
        command.write(runner.run(areas="toy_areas"), folder / "records")
    (folder / "asked").unlink()
    return folder


@pytest.fixture
def toy(toy_once, tmp_path, monkeypatch):
    """A copy of that folder, where workers find the probes."""
    shutil.copytree(toy_once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def change_record(folder):
    path = folder / "records" / f"{INSTALLED}.json"
    path.write_text(path.read_text().replace("0.5", "0.25"))


class TestDisagreements:
    def test_each_is_named_with_both_answers_and_the_remedy(self, toy):
        change_record(toy)
        (toy / "hang").touch()
        before = contents(toy / "records")
        with pytest.raises(installed.DisagreementError) as raised:
            installed.check_installed(folder=toy / "records", areas="toy_areas", limit=2.0)
        text = str(raised.value)
        assert "answers 2 of 2 probes otherwise" in text
        for id, old, new in (
            ("toy.a_number", '{"value": 0.25}', '{"value": 0.5}'),
            ("toy.b_process", '{"value": "yes"}', '{"timeout": 2.0}'),
        ):
            assert f"  {id}\n    recorded: {old}\n    now:      {new}" in text
        assert f"nox -s record -- {INSTALLED}" in text
        assert contents(toy / "records") == before

    def test_a_new_probe_is_not_in_the_record(self):
        facts = {"python": "3.11.7", "platform": "Linux x86_64", "probes": {"toy.new": {}}}
        change = compare.Change("toy.new", None, {"value": True})
        text = installed.Check("9.9.9", True, [change], facts, facts).message
        assert 'toy.new\n    recorded: no such probe\n    now:      {"value": true}' in text


CONF = """
extensions = ["check_release"]
check_release_records = "records"
check_release_areas = "toy_areas"
exclude_patterns = ["html"]
"""
PAGE = "Title\n=====\n\n.. unrecorded-release::\n"


def build(folder):
    """Build a tiny site without -W; also returns how often the probe was asked so far."""
    (folder / "conf.py").write_text(CONF)
    (folder / "index.rst").write_text(PAGE)
    command = [sys.executable, "-m", "sphinx", folder, folder / "html"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    asked = folder / "asked"
    times = len(asked.read_text().split()) if asked.exists() else 0
    return done.returncode, done.stdout + done.stderr, times


class TestBuild:
    """What the build of the site does with the record of the installed release."""

    def test_it_asks_again_only_after_a_change(self, toy):
        status, output, asked = build(toy)
        assert (status, asked) == (0, 1), output
        assert f"comparing PyTorch {INSTALLED} with its record... done" in output
        assert tiny.soup(toy).select(".admonition") == []
        status, output, asked = build(toy)
        assert (status, asked) == (0, 1), output
        change_record(toy)
        before = contents(toy / "records")
        status, output, asked = build(toy)
        assert status != 0, output
        assert asked == 2
        assert output.count("answers 1 of 2") == 1
        assert (
            '  toy.a_number\n    recorded: {"value": 0.25}\n    now:      {"value": 0.5}' in output
        )
        assert f"nox -s record -- {INSTALLED}" in output
        assert contents(toy / "records") == before
        # It does not take the failed check for a good one.
        assert not check_release.remembered(toy / "html" / ".doctrees").exists()

    def test_what_the_probes_are_made_of_is_watched(self, tmp_path):
        record = tmp_path / "record.json"
        record.write_text("{}")
        before = check_release.fingerprint(record)
        assert {f"torch {torch.__version__}", "kinks.py"} <= {
            word for line in before.splitlines() for word in (line, line.split()[0])
        }
        record.write_text("{ }")
        assert check_release.fingerprint(record) != before

    def test_a_truncated_record_stops_it(self, toy):
        path = toy / "records" / f"{INSTALLED}.json"
        path.write_text(path.read_text()[:-20])
        status, output, asked = build(toy)
        assert status != 0
        assert asked == 0
        assert f"{INSTALLED}.json: the record is not whole JSON" in output

    def test_a_release_without_a_record_is_built_and_the_pages_say_so(self, toy):
        (toy / "records" / f"{INSTALLED}.json").unlink()
        status, output, asked = build(toy)
        assert (status, asked) == (0, 0), output
        assert "build succeeded." in output
        assert f"PyTorch {INSTALLED} has no record" in output
        assert f"nox -s record -- {INSTALLED}" in output
        note = tiny.soup(toy).select_one(".admonition.note").get_text()
        assert f"PyTorch {INSTALLED}, and how that release answers is not recorded" in note

    @pytest.mark.skipif(INSTALLED not in RECORDS, reason=f"torch {INSTALLED} has no record")
    def test_the_site_was_built_under_its_record(self, builds):
        doctrees = builds[0] / "_build" / "doctrees"
        record = records.path_of(INSTALLED)
        assert check_release.remembered(doctrees).read_text() == check_release.fingerprint(record)


def example(**changes):
    record = {
        "release": "9.9.9",
        "build": "9.9.9+cpu",
        "python": "3.11.7",
        "numpy": None,
        "platform": "Linux x86_64",
        "date": "2026-01-31",
        "probes": {"b.one": {"value": [1.5, "nan"]}, "a.two": {"timeout": 60.0}},
    }
    return {**record, **changes}


class TestFiles:
    def test_what_was_written_is_read(self, tmp_path):
        path = records.write(example(), tmp_path)
        assert records.read("9.9.9", tmp_path) == example()
        assert path.read_text() == (
            '{\n "build": "9.9.9+cpu",\n "date": "2026-01-31",\n "numpy": null,\n'
            ' "platform": "Linux x86_64",\n "python": "3.11.7",\n "release": "9.9.9",\n'
            ' "probes": {\n  "a.two": {"timeout": 60.0},\n  "b.one": {"value": [1.5, "nan"]}\n }\n}\n'
        )
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert os.listdir(tmp_path) == ["9.9.9.json"]

    def test_a_file_that_is_named_after_no_release_is_named(self, tmp_path):
        (tmp_path / "2.13.0 copy.json").write_text("{}")
        with pytest.raises(RecordError, match=r"2\.13\.0 copy\.json: .* Rename the file"):
            records.releases(tmp_path)

    def test_releases_are_in_the_order_of_their_numbers(self, tmp_path):
        for release in ("2.10.0", "2.9.1", "1.13.1"):
            records.write(example(release=release), tmp_path)
        assert records.releases(tmp_path) == ["1.13.1", "2.9.1", "2.10.0"]

    def test_a_truncated_record_names_the_file_and_the_remedy(self, tmp_path):
        path = records.write(example(), tmp_path)
        path.write_text(path.read_text()[:-20])
        with pytest.raises(
            RecordError, match=r"9\.9\.9\.json: .*not whole JSON.*nox -s record -- 9\.9\.9"
        ):
            records.read("9.9.9", tmp_path)

    def test_an_unsorted_record_was_edited_by_hand(self, tmp_path):
        path = records.write(example(), tmp_path)
        path.write_text(json.dumps(example()))
        with pytest.raises(RecordError, match="not sorted"):
            records.read("9.9.9", tmp_path)

    def test_a_release_without_a_record(self, tmp_path):
        with pytest.raises(RecordError, match=r"has no record.*nox -s record -- 9\.9\.9"):
            records.read("9.9.9", tmp_path)

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"release": "9.9"}, "'9.9' as its release"),
            ({"release": "9.9.8"}, "of release 9.9.8, which is not the file's name"),
            ({"date": "today"}, "'today' as its date"),
            ({"python": None}, "None as its python"),
            ({"more": 1}, "exactly the keys"),
            ({"probes": {}}, "no probes"),
            ({"probes": {"No Area": {"value": 1}}}, "'No Area', which is not area.name"),
            ({"probes": {"a.b": 1}}, r"no valid answer to a\.b"),
            ({"probes": {"a.b": {}}}, r"no valid answer to a\.b"),
            ({"probes": {"a.b": {"value": 1, "missing": ""}}}, r"no valid answer to a\.b"),
            ({"probes": {"a.b": {"timeout": "long"}}}, r"no valid answer to a\.b"),
            ({"probes": {"a.b": {"answer": 1}}}, r"no valid answer to a\.b"),
        ],
    )
    def test_the_schema(self, tmp_path, changes, problem):
        path = tmp_path / "9.9.9.json"
        with pytest.raises(
            RecordError, match=rf"9\.9\.9\.json: .*{problem}.*nox -s record -- 9\.9\.9"
        ):
            records.check(example(**changes), path)

    def test_a_record_that_cannot_be_written_leaves_the_old_one(self, tmp_path, monkeypatch):
        records.write(example(), tmp_path)
        before = contents(tmp_path)
        for problem in ({"probes": {}}, {"probes": {"a.b": {"value": float("nan")}}}):
            with pytest.raises((RecordError, ValueError)):
                records.write(example(**problem), tmp_path)

        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            records.write(example(date="2027-01-01"), tmp_path)
        assert contents(tmp_path) == before


class TestRecording:
    """The command that makes a record, up to where the network would be needed."""

    OLD: ClassVar = example()

    @pytest.fixture
    def folder(self, tmp_path):
        records.write(self.OLD, tmp_path / "records")
        return tmp_path / "records"

    def record(self, folder, release="9.9.9", pythons=(THIS,)):
        environments = folder.parent / "environments"
        try:
            return command.record(release, list(pythons), folder=folder, environments=environments)
        finally:
            assert not environments.exists() or os.listdir(environments) == []

    def test_an_unknown_release_is_one_clear_error(self, folder, monkeypatch):
        # pip without any index answers as it does for a release that no index has.
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_CONSTRAINT", os.devnull)
        before = contents(folder)
        with pytest.raises(RecordingError) as raised:
            self.record(folder)
        assert "pip offers torch 9.9.9 to none of the Pythons" in str(raised.value)
        assert THIS.path in str(raised.value)
        assert "No matching distribution found for torch==9.9.9" in str(raised.value)
        assert contents(folder) == before

    def test_another_failure_of_pip_is_shown(self, folder, monkeypatch):
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_CONSTRAINT", "/no/such/file")
        # This environment's pip, which cannot install anything so, in place of a new one.
        monkeypatch.setattr(command, "python_of", lambda environment: sys.executable)
        monkeypatch.setattr(command, "install", command.pip_install)
        before = contents(folder)
        with pytest.raises(
            RecordingError, match=r"pip could not install torch 9\.9\.9(.|\n)*no/such/file"
        ):
            self.record(folder)
        assert contents(folder) == before

    def test_a_release_that_a_constraint_forbids_is_tried_with_the_next_python(
        self, folder, monkeypatch
    ):
        (folder.parent / "constraints").write_text("torch<9\n")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_CONSTRAINT", str(folder.parent / "constraints"))
        monkeypatch.setattr(command, "python_of", lambda environment: sys.executable)
        with pytest.raises(command.Unavailable, match=r"torch==9\.9\.9"):
            command.pip_install("9.9.9", THIS, folder)

    def test_a_python_that_is_not_there_is_named(self, folder):
        with pytest.raises(RecordingError, match="/no/such/python cannot make an environment"):
            self.record(folder, pythons=(Interpreter("/no/such/python", "3.11.1"),))

    @pytest.mark.parametrize("release", ["2.13", "latest", "2.13.0+cpu", ""])
    def test_what_is_not_a_release(self, folder, release):
        with pytest.raises(RecordingError, match="give all three numbers, like 2"):
            self.record(folder, release)

    def test_no_python_is_an_error_that_names_those_wanted(self, folder):
        with pytest.raises(RecordingError, match=r"Install one of 3\.11, 3\.12"):
            self.record(folder, pythons=())

    def test_an_interrupted_run_leaves_the_record(self, folder, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(command, "install", lambda *_: None)
        monkeypatch.setattr(command, "answers_of", interrupted)
        before = contents(folder)
        with pytest.raises(KeyboardInterrupt):
            self.record(folder)
        assert contents(folder) == before

    def test_a_run_under_another_release_is_not_recorded(self, folder, monkeypatch):
        monkeypatch.setattr(command, "install", lambda *_: None)
        monkeypatch.setattr(command, "answers_of", lambda *_: example(release="9.9.8"))
        before = contents(folder)
        with pytest.raises(RecordingError, match=r"installed torch 9\.9\.8 in place of 9\.9\.9"):
            self.record(folder)
        assert contents(folder) == before

    def test_a_run_is_recorded_with_its_date(self, folder, monkeypatch):
        answers = {key: content for key, content in example().items() if key != "date"}
        monkeypatch.setattr(command, "install", lambda *_: None)
        monkeypatch.setattr(command, "answers_of", lambda *_: answers)
        self.record(folder)
        assert records.read("9.9.9", folder)["date"] == datetime.date.today().isoformat()

    def test_the_next_python_is_tried(self, monkeypatch, tmp_path):
        tried = []

        def install(release, interpreter, environment):
            tried.append(interpreter.version)
            if interpreter.version != "3.8.1":
                raise command.Unavailable("not for this one")

        monkeypatch.setattr(command, "install", install)
        pythons = [
            Interpreter("a", "3.11.1"),
            Interpreter("b", "3.8.1"),
            Interpreter("c", "3.9.1"),
        ]
        command.make_environment("9.9.9", pythons, tmp_path)
        assert tried == ["3.11.1", "3.8.1"]

    def test_a_shim_that_runs_nothing_is_no_python(self, monkeypatch, tmp_path):
        shim = tmp_path / "python3.9"
        shim.write_text("#!/bin/sh\necho not found >&2\nexit 127\n")
        shim.chmod(0o755)
        monkeypatch.setattr(command, "_candidates", lambda minor: [str(shim), "/no/such/python"])
        assert command.interpreters() == []

    def test_this_python_is_found(self):
        minor = sys.version_info[1]
        found = command._interpreter(minor)
        assert found.version.startswith(f"3.{minor}.")

    def test_the_command_says_what_it_needs(self):
        script = command.__file__
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "give releases, such as 2.14.1, or --installed" in done.stderr
        done = subprocess.run(
            [sys.executable, script, "2.13"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "No record was changed." in done.stderr

    def test_a_slip_in_the_second_name_is_told_before_the_first_is_recorded(self):
        done = subprocess.run(
            [sys.executable, command.__file__, "9.9.9", "latest"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PIP_NO_INDEX": "1"},
        )
        assert done.returncode == 1
        assert "'latest' is not a release" in done.stderr
        assert "No record was changed." in done.stderr
