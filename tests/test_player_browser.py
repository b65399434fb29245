"""The player in a real browser: what it shows is what torch computes, by an independent way."""

import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from pages import WIDTHS

HOME = "../index"
FIRST = "first_gradients/first_gradient"
STEP_THROUGH = "recorded_graph/step_through_backward"
THREE_FIGURES = "recorded_graph/a_new_graph_each_time"
TWO_CALLS = "recorded_graph/used_up_graph"
WEIGHTS = "more_than_one_output/backward_with_weights"


@pytest.fixture
def open_lesson(browser, site):
    """Open a lesson; afterwards, check that no error was logged."""
    contexts, problems = [], []

    def open_lesson(name: str, clock=False, block=(), **options):
        context = browser.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: problems.append(str(error)))
        if clock:
            tab.clock.install()
        for script in block:
            tab.route(f"**/{script}*", lambda route: route.abort())
        tab.goto((site / "lessons" / f"{name}.html").as_uri())
        return tab

    yield open_lesson
    for context in contexts:
        context.close()
    assert problems == []


class Figure:
    """A figure on a page, in the words of a reader."""

    def __init__(self, tab, index=0):
        self.root = tab.locator(".graph-figure:has(.backward-steps)").nth(index)

    def press(self, name):
        self.root.get_by_role("button", name=name, exact=True).click()

    def choose(self, call):
        self.root.get_by_role("combobox", name="Show").select_option(index=call)

    @property
    def count(self):
        return self.root.locator(".player-count").inner_text()

    @property
    def item(self):
        """The one step that shows."""
        return self.root.locator(".backward-list > li:visible")

    @property
    def numbers(self):
        """Every value of the step that shows, as a list of numbers; None for None."""
        return self.numbers_of("")

    def numbers_of(self, kind):
        texts = self.item.locator(f"{kind} .tensor-value").all_inner_texts()
        return [parsed(text) for text in texts]

    @property
    def ledger(self):
        codes = self.root.locator(".backward-ledger code:visible").all_inner_texts()
        return [parsed(text) for text in codes]

    @property
    def lit(self):
        return [text.split()[0] for text in self.root.locator("svg .node.lit").all_text_contents()]

    @property
    def form(self):
        return self.root.locator("form")

    def answer(self, text):
        self.form.get_by_role("textbox").fill(text)
        self.form.get_by_role("button", name="Check").click()

    @property
    def verdict(self):
        return self.form.get_by_role("status").inner_text()


def parsed(text):
    if text == "None":
        return None
    return [float(number) for number in re.findall(r"[-+]?(?:inf|nan|[\d.]+(?:e[-+]\d+)?)", text)]


# -- What torch says ------------------------------------------------------------------------
#
# Each use of a tensor is a tensor of its own here, so that torch gives each contribution alone.


def number(value):
    return torch.tensor(value, requires_grad=True)


def stored(total, *parts):
    """An AccumulateGrad step: what arrives, its parts, before, added, after."""
    return [total, *parts, None, total, total]


def first_gradient():
    a, b = (torch.arange(4.0, requires_grad=True) for _ in range(2))
    dot = torch.dot(a, b)
    g_dot, g_a, g_b = torch.autograd.grad(2 * dot, (dot, a, b))
    return [[1, g_dot], [g_dot, g_a, g_b], stored(g_a + g_b, g_a, g_b)]


def why_it_adds():
    first, second = number(2.0), number(2.0)
    p, q = 3 * first, 5 * second
    g_p, g_q, g_1, g_2 = torch.autograd.grad(p + q, (p, q, first, second))
    return [[1, g_p, g_q], [g_q, g_2], [g_p, g_1], stored(g_1 + g_2, g_2, g_1)]


def step_through_backward():
    first, second = number(2.0), number(2.0)
    product = first * 3.0
    total = product + second
    g_t, g_p, g_1, g_2 = torch.autograd.grad(total**2, (total, product, first, second))
    return [[1, g_t], [g_t, g_p, g_2], [g_p, g_1], stored(g_1 + g_2, g_2, g_1)]


def three_gradients():
    column, turned = (torch.arange(4.0).reshape(4, 1).requires_grad_() for _ in range(2))
    row = turned.T
    y = torch.mm(row, column)
    g_y, g_row, g_column, g_turned = torch.autograd.grad(y.sum(), (y, row, column, turned))
    x = torch.arange(4.0, requires_grad=True)
    (g_x,) = torch.autograd.grad((x * x).sum(), x)
    both = g_column + g_turned
    return [
        [1, g_y],
        [g_y, g_row, g_column],
        [g_row, g_turned, None, g_row, g_row],
        [both, g_column, g_turned, g_x, None, both, both],
        stored(g_x),
    ]


def products(start, *factors):
    results = [number(start)]
    for factor in factors:
        results.append(results[-1] * factor)
    output = results.pop()
    grads = torch.autograd.grad(output, results)
    arriving = [torch.tensor(1.0), *reversed(grads)]
    steps = [[a, b] for a, b in pairwise(arriving)]
    return [*steps, stored(arriving[-1])]


def leaf_or_not():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = 3 * x
    first, second = (h.detach().clone().requires_grad_() for _ in range(2))
    product = first * second
    g_product, g_1, g_2 = torch.autograd.grad(product.sum(), (product, first, second))
    (g_x,) = torch.autograd.grad(h, x, grad_outputs=g_1 + g_2)
    return [[1, g_product], [g_product, g_1, g_2], [g_1 + g_2, g_1, g_2, g_x], stored(g_x)]


def backward_adds():
    x = torch.arange(4.0, requires_grad=True)
    torch.autograd.backward(2 * torch.dot(x, x))
    before = x.grad.clone()
    (ones,) = torch.autograd.grad(x.sum(), x)
    return [[1, ones], [ones, before, ones, before + ones]]


def clamp_against_relu():
    x = number(0.0)
    r = torch.relu(x)
    d = r - 1
    g_d, g_r, g_x = torch.autograd.grad(d**2, (d, r, x))
    return [[1, g_d], [g_d, g_r], [g_r, g_x], stored(g_x)]


def weights(*v):
    copies = [torch.tensor([2.0, 3.0, 5.0], requires_grad=True) for _ in range(4)]
    s1, s2, s3, s4 = picked = [x[i] for x, i in zip(copies, (0, 1, 1, 2), strict=True)]
    product, doubled = s1 * s2, 2 * s4
    total = s3 + doubled
    y, v = torch.stack([product, total]), torch.tensor(v)
    inner = torch.autograd.grad(y, (product, total, doubled, *picked), v, retain_graph=True)
    g_product, g_total, g_doubled, g1, g2, g3, g4 = inner
    parts = torch.autograd.grad(y, copies, v)
    return [
        [v, g_product, g_total],
        [g_total, g3, g_doubled],
        [g_doubled, g4],
        [g4, parts[3]],
        [g3, parts[2]],
        [g_product, g1, g2],
        [g2, parts[1]],
        [g1, parts[0]],
        stored(sum(parts), *reversed(parts)),
    ]


# Of each: the page, which figure of it, which call, and what torch says.
FIGURES = {
    "home": (HOME, 0, 0, first_gradient),
    "first_gradient": (FIRST, 0, 0, first_gradient),
    "backward_adds": ("accumulation/backward_adds", 0, 0, backward_adds),
    "why_it_adds": ("accumulation/why_it_adds", 0, 0, why_it_adds),
    "step_through_backward": (STEP_THROUGH, 0, 0, step_through_backward),
    "three_gradients": ("recorded_graph/three_gradients_of_one_x", 0, 0, three_gradients),
    "two_doublings": (THREE_FIGURES, 0, 0, lambda: products(300.0, 2, 2)),
    "three_doublings": (THREE_FIGURES, 1, 0, lambda: products(150.0, 2, 2, 2)),
    "negative": (THREE_FIGURES, 2, 0, lambda: products(-600.0, 2, 100)),
    "leaf_or_not": ("recorded_graph/leaf_or_not", 0, 0, leaf_or_not),
    "one_output": (WEIGHTS, 0, 1, lambda: weights(0.0, 1.0)),
    "odd_weights": (WEIGHTS, 0, 3, lambda: weights(10.0, -1.0)),
    "clamp_against_relu": ("kinks/clamp_against_relu", 0, 0, clamp_against_relu),
}


def flat(value):
    return None if value is None else pytest.approx(torch.as_tensor(value).flatten().tolist())


@pytest.mark.parametrize("name", FIGURES)
def test_every_number_is_what_torch_computes(open_lesson, name):
    lesson, index, call, compute = FIGURES[name]
    expected = [[flat(value) for value in step] for step in compute()]
    *_, before, _, after = expected[-1]
    figure = Figure(open_lesson(lesson), index)
    if call:
        figure.choose(call)
    forward = []
    for position in range(1, len(expected) + 1):
        assert figure.count == f"Step {position} of {len(expected)}"
        assert figure.numbers == expected[position - 1]
        assert figure.ledger == [after if position == len(expected) else before]
        forward.append(figure.item.inner_text())
        if position < len(expected):
            figure.press("Next step")
    for text in reversed(forward[:-1]):
        figure.press("Previous step")
        assert figure.item.inner_text() == text
    assert figure.count == f"Step 1 of {len(expected)}"


def test_the_lesson_that_teaches_the_player_records_what_it_shows(open_lesson):
    """The reader's own recorder: fifteen lines, and the same numbers."""
    script = Path(__file__).parents[1] / "examples" / f"{STEP_THROUGH}.py"
    code = re.search(r"\nnodes = .+?handle\.remove\(\)", script.read_text(), re.DOTALL)[0]
    lines = [line for line in code.splitlines() if line and not line.startswith(("#", "print"))]
    assert len(lines) == 15
    steps = runpy.run_path(str(script))["steps"]
    figure = Figure(open_lesson(STEP_THROUGH))
    for position, (name, sent, arrived) in enumerate(steps[:4]):
        if position:
            figure.press("Next step")
        assert name in figure.lit
        assert figure.numbers_of(".step-arrives")[0] == flat(arrived[0])
        assert figure.numbers_of(".step-sends") == [flat(g) for g in sent if g is not None]


def style(locator, name):
    return locator.evaluate("(element, name) => getComputedStyle(element)[name]", name)


class TestPicture:
    def test_lights_the_node_and_its_edges(self, open_lesson):
        figure = Figure(open_lesson(STEP_THROUGH))
        assert figure.lit == ["PowBackward0"]
        figure.press("Next step")
        assert figure.lit == ["AddBackward0"]
        assert figure.root.locator(".edge.arriving").count() == 1
        assert figure.root.locator(".edge.sending").count() == 2
        figure.press("Last step")
        assert sorted(figure.lit) == ["AccumulateGrad", "w"]
        assert figure.root.locator(".edge.arriving").count() == 2

    @pytest.mark.parametrize("touch", [False, True])
    def test_a_click_on_a_node_goes_to_its_step(self, open_lesson, touch):
        figure = Figure(open_lesson(STEP_THROUGH, has_touch=touch))
        picture = figure.root.locator("svg")
        for place, position in (("MulBackward0", 3), ("PowBackward0", 1), ("w", 4)):
            node = picture.locator(".node", has=figure.root.page.get_by_text(place, exact=True))
            if touch:
                node.tap()
            else:
                node.click()
            assert figure.count == f"Step {position} of 4"

    def test_does_not_move_where_motion_is_not_wanted(self, open_lesson):
        figure = Figure(open_lesson(STEP_THROUGH))
        for motion, name in (("no-preference", "backward-flow"), ("reduce", "none")):
            figure.root.page.emulate_media(reduced_motion=motion)
            sending, arriving = (
                figure.root.locator(f".edge.{kind} path").first for kind in ("sending", "arriving")
            )
            assert style(sending, "animationName") == name
            assert style(sending, "strokeDasharray") == "5px, 3px"
            assert style(arriving, "strokeDasharray") == "none", "more than a colour tells them"


class TestControls:
    def test_keys(self, open_lesson):
        tab = open_lesson(STEP_THROUGH, clock=True)
        figure = Figure(tab)
        figure.root.locator(".graph-scroll").focus()
        for key, position in [
            ("ArrowRight", 2),
            ("ArrowRight", 3),
            ("ArrowLeft", 2),
            ("End", 4),
            ("ArrowRight", 4),
            ("Home", 1),
            ("ArrowLeft", 1),
        ]:
            tab.keyboard.press(key)
            assert figure.count == f"Step {position} of 4", key
        tab.keyboard.press(" ")
        tab.clock.run_for(2600)
        assert figure.count == "Step 2 of 4"
        tab.keyboard.press(" ")
        tab.clock.run_for(6000)
        assert figure.count == "Step 2 of 4"

    @pytest.mark.parametrize("motion", ["reduce", "no-preference"])
    def test_plays_to_the_end_and_from_the_start(self, open_lesson, motion):
        tab = open_lesson(STEP_THROUGH, clock=True, reduced_motion=motion)
        figure = Figure(tab)
        figure.press("Play")
        assert figure.root.get_by_role("button", name="Pause").is_visible()
        tab.clock.run_for(10_000)
        assert figure.count == "Step 4 of 4"
        figure.press("Play")
        assert figure.count == "Step 1 of 4"

    def test_all_of_it_with_the_keyboard_alone(self, open_lesson):
        tab = open_lesson(STEP_THROUGH)
        figure = Figure(tab)
        figure.root.locator(".graph-scroll").focus()

        def tab_to(name):
            for _ in range(9):
                tab.keyboard.press("Tab")
                if (
                    tab.evaluate(
                        "document.activeElement.matches('[data-do]') && "
                        "(document.activeElement.ariaLabel || "
                        "document.activeElement.textContent)"
                    )
                    == name
                ):
                    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                    assert outline == "solid"
                    return
            pytest.fail(f"Tab does not reach {name}")

        tab_to("Next step")
        tab.keyboard.press("Enter")
        assert figure.count == "Step 2 of 4"
        tab_to("Predict")
        tab.keyboard.press("Enter")
        for typed in ("16", "16"):  # one for each input of the addition
            tab.keyboard.type(typed)
            tab.keyboard.press("Enter")
        assert "You have seen all values of this step." in figure.form.inner_text()
        tab.keyboard.press("Enter")  # the focus is on Next now
        assert figure.count == "Step 3 of 4"

    def test_figures_of_one_page_do_not_touch_each_other(self, open_lesson):
        tab = open_lesson(THREE_FIGURES)
        first, second, third = (Figure(tab, index) for index in range(3))
        second.press("Next step")
        third.press("Predict")
        assert [first.count, second.count, third.count] == [
            "Step 1 of 3",
            "Step 2 of 4",
            "Step 1 of 3",
        ]
        assert not first.form.is_visible()
        assert third.form.is_visible()
        first.root.locator(".graph-scroll").focus()
        tab.keyboard.press("End")
        assert [first.count, second.count, third.count] == [
            "Step 3 of 3",
            "Step 2 of 4",
            "Step 1 of 3",
        ]

    def test_a_second_call_can_be_chosen(self, open_lesson):
        figure = Figure(open_lesson(TWO_CALLS))
        figure.choose(1)
        assert figure.count == "Step 1 of 2"
        figure.press("Last step")
        assert "raises the error" in figure.item.inner_text()
        assert "Trying to backward through the graph a second time" in figure.item.inner_text()

    def test_the_page_does_not_move_when_the_script_comes(self, open_lesson):
        for lesson in (STEP_THROUGH, TWO_CALLS):
            heights = []
            for block in ((), ("joined-*.js",)):
                figure = Figure(open_lesson(lesson, block=block))
                for width in (1280, 360):
                    figure.root.page.set_viewport_size({"width": width, "height": 800})
                    heights.append(figure.root.bounding_box()["height"])
            assert heights[:2] == heights[2:], lesson

    def test_stepping_does_not_move_what_follows(self, open_lesson):
        figure = Figure(open_lesson(STEP_THROUGH))
        places = set()
        for position in range(4):
            if position:
                figure.press("Next step")
            whole, item = figure.root.bounding_box(), figure.item.bounding_box()
            places.add((whole["height"], round(item["y"] - whole["y"])))
        assert len(places) == 1

    def test_a_phone_needs_no_sideways_scroll(self, open_lesson):
        for lesson in (STEP_THROUGH, TWO_CALLS, WEIGHTS, HOME):
            tab = open_lesson(lesson, viewport={"width": 360, "height": 740})
            Figure(tab).press("Predict")
            needed, given = tab.evaluate(WIDTHS)
            assert needed <= given <= 360, lesson


class TestPredict:
    @pytest.fixture
    def figure(self, open_lesson):
        figure = Figure(open_lesson(FIRST))
        figure.press("Next step")
        figure.press("Predict")
        return figure

    def test_hides_what_leaves_the_node(self, figure):
        assert "2." in figure.item.inner_text()  # what arrives
        assert "4." not in figure.item.inner_text()
        assert "What does DotBackward0 send to AccumulateGrad of x, for the first input?" in (
            figure.form.inner_text()
        )

    def test_what_is_hidden_stays_in_one_piece(self, figure):
        for width in (1280, 520, 360):
            figure.root.page.set_viewport_size({"width": width, "height": 800})
            for value in figure.item.locator("[data-wanted]").all():
                assert value.evaluate("value => value.getClientRects().length") == 1

    def test_right(self, figure):
        figure.answer("0, 2, 4, 6")
        assert "Right." in figure.verdict
        assert figure.item.inner_text().count("[0., 2., 4., 6.]") == 1
        assert figure.verdict == "Right. Now the next value of this step."
        assert "second input?" in figure.form.inner_text()
        assert "1 of 1 right" in figure.form.inner_text()
        figure.answer("0 2.0001 4 6")
        assert figure.verdict == "Right."
        assert "2 of 2 right" in figure.form.inner_text()

    def test_a_place_in_a_matrix_is_told_by_row_and_column(self, open_lesson):
        figure = Figure(open_lesson("recorded_graph/three_gradients_of_one_x"))
        figure.press("Predict")
        for _ in range(2):
            figure.press("Next step")
        figure.answer("0 1 2 -3")
        assert "Row 4, column 1: you said -3 (your sign is the other way round)" in figure.verdict

    def test_wrong_says_where_and_how_but_not_what(self, figure):
        figure.answer("0 2 8 -6")
        assert "Number 3: you said 8" in figure.verdict
        assert "yours is 2 times as large" in figure.verdict
        assert "Number 4: you said -6" in figure.verdict
        assert "your sign is the other way round" in figure.verdict
        assert "4" not in figure.verdict.replace("Number 4", "")
        assert "4." not in figure.item.inner_text()
        assert "0 of 1 right" in figure.form.inner_text()
        figure.answer("0 2 4 6")
        assert "Right." in figure.verdict
        assert "0 of 1 right" in figure.form.inner_text()

    @pytest.mark.parametrize("typed", ["", "no idea", "[]", "<b>"])
    def test_malformed(self, figure, typed):
        figure.answer(typed)
        assert "Type 4 numbers" in figure.verdict
        figure.answer("1 2")
        assert "This takes 4 numbers; you typed 2." in figure.verdict
        assert "4." not in figure.item.inner_text()
        assert "right at the first try" not in figure.form.inner_text()

    def test_shows_it_on_request(self, figure):
        figure.form.get_by_role("button", name="Show it").click()
        assert "It is [0., 2., 4., 6.]." in figure.verdict
        assert "0 of 1 right" in figure.form.inner_text()

    def test_the_ledger_waits_for_the_answer(self, figure):
        figure.press("Last step")
        assert figure.ledger == [None]
        figure.answer("0 4 8 12")
        assert figure.ledger == [[0, 4, 8, 12]]

    def test_can_be_switched_off(self, figure):
        figure.press("Predict")
        assert not figure.form.is_visible()
        assert figure.item.inner_text().count("[0., 2., 4., 6.]") == 2

    def test_nothing_is_kept(self, figure, open_lesson):
        figure.answer("0 2 4 6")
        tab = figure.root.page
        assert tab.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]") in (
            [],
            ["theme"],
        )
        tab.reload()
        assert "right at the first try" not in figure.form.inner_text()


def shown(figure):
    return [item.is_visible() for item in figure.root.locator(".backward-list > li").all()]


class TestEveryReader:
    def test_without_javascript_all_steps_are_a_list(self, open_lesson):
        figure = Figure(open_lesson(TWO_CALLS, java_script_enabled=False))
        assert shown(figure) == [True] * 5
        assert figure.root.get_by_role("button").count() == 0
        text = figure.root.inner_text()
        assert "x.grad: before None + added [2., 4.] = after [2., 4.]" in text
        assert "Backward, step by step: call 2 of 2, raises RuntimeError" in text

    @pytest.mark.parametrize("predicting", [False, True])
    def test_print_shows_all_steps(self, open_lesson, predicting):
        tab = open_lesson(TWO_CALLS)
        figure = Figure(tab)
        if predicting:
            figure.press("Predict")
        tab.emulate_media(media="print")
        assert shown(figure) == [True] * 5
        assert figure.root.get_by_role("button").count() == 0
        assert "after [2., 4.]" in figure.root.inner_text()

    def test_a_screen_reader_gets_names_and_one_step(self, open_lesson):
        figure = Figure(open_lesson(STEP_THROUGH))
        tree = figure.root.aria_snapshot()
        for line in [
            'group "Step through backward"',
            'button "First step" [disabled]',
            'button "Previous step" [disabled]',
            'button "Play"',
            'button "Next step"',
            'button "Last step"',
            'button "Predict"',
            'progressbar "Progress"',
        ]:
            assert line in tree, tree
        assert tree.count("Arrives:") == 1
        assert "PowBackward0 sends to its input the gradient times 2 times the input." in tree
        figure.press("Predict")
        tree = figure.root.aria_snapshot()
        assert 'button "Predict" [pressed]' in tree
        assert 'textbox "What does PowBackward0 send to AddBackward0?"' in tree
        assert "16." not in tree

    def test_each_step_is_announced(self, open_lesson):
        figure = Figure(open_lesson(STEP_THROUGH))
        status = figure.root.locator(".player").get_by_role("status")
        assert status.inner_text() == ""
        figure.press("Next step")
        assert status.inner_text().startswith("Step 2 of 4. AddBackward0 sends")
        assert "Arrives: 16." in status.inner_text()
        figure.press("Predict")
        figure.press("Next step")
        assert status.inner_text().endswith("What does MulBackward0 send to AccumulateGrad of w?")
        assert "48" not in status.inner_text()
