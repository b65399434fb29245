"""How typed answers are compared with a value of the run (conf/static/answers.js)."""

import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "conf" / "static" / "answers.js"


@pytest.fixture(scope="module")
def answers(browser):
    tab = browser.new_page()
    tab.add_script_tag(path=SCRIPT)
    yield lambda function, *args: tab.evaluate(f"Answers.{function}(...{json.dumps(args)})")
    tab.close()


@pytest.mark.parametrize(
    ("typed", "output", "status"),
    [
        ("28", "28.0", "right"),
        ("28.0", "tensor(28., grad_fn=<MulBackward0>)", "right"),
        ("0 4 8 12", "tensor([ 0.,  4.,  8., 12.])", "right"),
        ("[0, 4, 8, 12]", "tensor([ 0.,  4.,  8., 12.], dtype=torch.float64)", "right"),
        ("1/3", "0.3333", "right"),
        ("nan", "nan", "right"),
        ("-inf", "-inf", "right"),
        ("inf", "-inf", "wrong"),
        ("\u221238", "-38.0", "right"),
        ("1e-3", "0.0010", "right"),
        ("3", "tensor([3., 3.])", "malformed"),
        ("", "28.0", "malformed"),
        ("none", "None", "right"),
        ("false", "False", "right"),
        ("true", "False", "wrong"),
        ("", "None", "malformed"),
        ("accumulategrad", "AccumulateGrad", "right"),
        ("True False", "True False", "right"),
    ],
)
def test_verdict(answers, typed, output, status):
    assert answers("compareOutput", typed, output)["status"] == status


@pytest.mark.parametrize(
    ("typed", "wanted", "hint"),
    [
        ("2 4", [2, 8], "Number 2: you said 4, the run gives 8 (yours is 0.5 times as large)."),
        ("-38", [38], "you said -38, the run gives 38 (your sign is the other way round)."),
        ("1 2 3", [1, 2], "This takes 2 numbers; you typed 3."),
        ("0", [5], "you said 0, the run gives 5."),
        ("words", [1, 2], "Type 2 numbers, for example 1 2."),
    ],
)
def test_hint(answers, typed, wanted, hint):
    assert answers("compareNumbers", typed, wanted)["text"] == hint


def test_a_place_in_a_matrix(answers):
    wanted = [1, 2, 3, 4, 5, 6]
    hint = answers("compareNumbers", "1 2 3 -4 5 0", wanted, False, 3)["text"]
    assert "Row 2, column 1: you said -4 (your sign is the other way round)." in hint
    assert "Row 2, column 3: you said 0 (the run gives another number)." in hint
