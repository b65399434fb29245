"""torchviz graphs as SVG: names, roles, sizes, words."""

import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import graphviz
import pytest
import torch
from dot_program import draw
from graph_svg import SVG, depth, describe, draw_graph
from torchviz import make_dot


def drawn(output, figure="graph-test", **options):
    return draw_graph(make_dot(output, **options).source, figure, draw)


def roles(graph):
    return {" ".join(node.label): node.role for node in graph.nodes}


@pytest.fixture
def x():
    return torch.arange(4.0, requires_grad=True)


class Keep(torch.autograd.Function):
    """A custom Function that saves its input, a leaf: torchviz paints the leaf orange."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class TestRoles:
    def test_leaf_operation_and_output(self, x):
        y = (x * x).sum()
        assert roles(drawn(y, params={"x": x, "y": y})) == {
            "x (4)": "leaf",
            "y ()": "output",
            "AccumulateGrad": "operation",
            "MulBackward0": "operation",
            "SumBackward0": "operation",
        }

    def test_base_of_a_view(self, x):
        view = (2 * x)[:2]
        assert list(roles(drawn(view, params={"x": x, "v": view})).values()).count("base") == 1

    def test_saved_tensors(self, x):
        graph = drawn((x + 1).exp().sum(), params={"x": x}, show_saved=True)
        assert roles(graph)["result (4)"] == "saved"

    def test_a_leaf_that_is_saved_stays_a_leaf(self, x):
        assert roles(drawn(Keep.apply(x).sum(), params={"x": x}))["x (4)"] == "leaf"
        graph = drawn((x * x).sum(), params={"x": x}, show_saved=True)
        assert "leaf" in roles(graph).values()

    def test_a_saved_leaf_or_output_keeps_its_name(self, x):
        w = torch.ones(4, requires_grad=True)
        y = x * w + x.sin()
        z = torch.dot(y, w)
        named = {"x": x, "w": w, "y": y, "z": z}
        graph = drawn((y, z), params=named, show_saved=True)
        tensors = {" ".join(n.label): n.role for n in graph.nodes if n.role != "operation"}
        assert tensors == {"x (4)": "leaf", "w (4)": "leaf", "y (4)": "output", "z ()": "output"}
        said = " ".join(words(graph))
        assert "x (shape (4)): a leaf, saved for MulBackward0 and SinBackward0." in said
        assert "y (shape (4)): an output, receives from AddBackward0, saved for DotB" in said

    def test_outputs_in_a_tuple_that_are_a_leaf_a_base_and_a_view(self, x):
        base = 2 * x
        view = base[:2]
        made = drawn((x, base, view), params={"x": x, "base": base, "view": view})
        found = {n.label[0]: n.role for n in made.nodes if n.role != "operation"}
        assert found == {"x": "leaf", "base": "output", "view": "output"}
        assert roles(drawn(x, params={"x": x})) == {"x (4)": "output"}

    def test_differ_in_shape_and_not_in_colour_alone(self, x):
        y = x.sum()
        root = ET.fromstring(drawn(y, params={"x": x, "y": y}).svg)
        boxes = {
            group.get("class").split()[1]: group.findall(f"{{{SVG}}}rect")
            for group in root.iter(f"{{{SVG}}}g")
            if group.get("class", "").startswith("node")
        }
        assert len(boxes["output"]) == 2
        assert boxes["leaf"][0].get("rx") == "10"
        assert boxes["operation"][0].get("rx") == "0"


class TestNames:
    def test_ids_begin_with_the_figure(self, x):
        ids = re.findall(r' id="([^"]+)"', drawn(x.sum(), "graph-a").svg)
        assert "graph-a-n1" in ids
        assert all(name.startswith("graph-a") for name in ids)

    def test_no_memory_address_is_left(self, x):
        graph = drawn((x * x).sum(), params={"x": x}, show_saved=True, show_attrs=True)
        assert not re.search(r"\d{9,}", graph.svg)
        assert all(re.fullmatch(r"\d{9,}", name) for name in graph.torchviz_names)

    def test_markup_in_a_label_is_text(self, x):
        graph = drawn(x.sum(), params={'<b>"&': x})
        assert "&lt;b&gt;" in graph.svg
        assert '<b>"& (4)' in roles(graph)

    def test_accessible_name_counts_the_parts(self, x):
        graph = drawn(x.sum(), params={"x": x})
        assert graph.name == "Autograd graph with 2 operations, 1 leaf, 1 output"
        assert f'aria-label="{graph.name}"' in graph.svg


def test_same_bytes_in_two_processes():
    """Addresses and hash seeds differ between processes; the picture does not."""
    code = (
        "import torch; from torchviz import make_dot; from graph_svg import draw_graph;"
        "from dot_program import draw; x = torch.ones(3, requires_grad=True);"
        "h = (x * 2).relu(); y = (h * h + x).sum();"
        "print(draw_graph(make_dot(y, params={'x': x}, show_saved=True).source, 'g', draw).svg)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    path = {"PYTHONPATH": ":".join(sys.path)}
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True, env=path).stdout
        for _ in range(2)
    )
    assert first == second
    assert "ReluBackward0" in first


def test_the_shape_of_an_unnamed_tensor_is_in_the_middle_of_its_box(x):
    root = ET.fromstring(drawn(x.sum()).svg)
    (leaf,) = (group for group in root.iter() if group.get("class") == "node leaf")
    box, text = leaf.find(f"{{{SVG}}}rect"), leaf.find(f"{{{SVG}}}text")
    middle = float(box.get("y")) + float(box.get("height")) / 2
    # A text's y is that of its base line.
    assert abs(float(text.get("y")) - middle) < float(text.get("font-size")) / 2


def test_every_text_lies_within_its_box():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    graph = drawn(
        model(torch.ones(2, 3)).sum(), params=dict(model.named_parameters()), show_attrs=True
    )
    for group in ET.fromstring(graph.svg).iter(f"{{{SVG}}}g"):
        box = group.find(f"{{{SVG}}}rect")
        for text in group.findall(f"{{{SVG}}}text"):
            width = 0.6 * float(text.get("font-size")) * len(text.text)  # Courier: 0.6 em
            assert width <= float(box.get("width")) + 1, text.text


def words(graph):
    return describe(graph.nodes, graph.edges)


def test_words_tell_what_is_saved_from_what_flows(x):
    saved = words(drawn(x.exp().sum(), params={"x": x}, show_saved=True))
    assert "result (shape (4)): saved for ExpBackward0." in saved
    assert "ExpBackward0: receives from AccumulateGrad." in saved
    product = words(drawn((x * x).sum(), params={"x": x}, show_saved=True))
    assert product[0] == "x (shape (4)): a leaf, saved for MulBackward0 (2 times)."
    own = words(drawn(Keep.apply(x).sum(), params={"x": x}))
    assert own[0] == "x (shape (4)): a leaf, saved for KeepBackward."
    assert "KeepBackward: receives from AccumulateGrad." in own


def test_words_tell_a_view_from_a_result(x):
    base = 2 * x
    view = base[:2]
    said = words(drawn(view, params={"x": x, "v": view, "b": base}))
    assert "b (shape (4)): receives from MulBackward0, the base of v (shape (2))." in said
    assert "v (shape (2)): an output, receives from SliceBackward0." in said


def test_a_line_that_carries_no_gradient_is_marked(x):
    svg = drawn((2 * x).exp()[:2], params={"x": x}, show_saved=True).svg
    groups = [group for group in ET.fromstring(svg).iter() if "edge" in group.get("class", "")]
    kinds = [(group.get("class").split()[1], "data-from" in group.attrib) for group in groups]
    assert set(kinds) == {("input", True), ("saved", False), ("base", False)}


def test_depth_counts_operations_and_not_tensors(x):
    graph = drawn(((x * x).exp() + x).sum(), params={"x": x}, show_saved=True)
    # AccumulateGrad, Mul, Exp, Add, Sum
    assert depth(graph.nodes, graph.edges) == 5


class TestGraphsMadeByHand:
    def draw(self, graph):
        return draw_graph(graph.source, "graph-test", draw)

    def test_keep_their_shapes_and_take_the_colours_of_the_page(self):
        graph = graphviz.Digraph()
        graph.node("a", "A", shape="ellipse", color="red")
        graph.node("b", "B", shape="none")
        graph.node("r", "{<p>left|<q>right}", shape="record")
        graph.node("h", "<<b>bold</b>>")
        graph.edge("a:e", "r:p", label="go")
        graph.edge("b", "a->c", style="dotted")
        with graph.subgraph(name="cluster_x") as cluster:
            cluster.attr(label="group")
            cluster.node("a")
        made = self.draw(graph)
        assert made.name == "Graph with 5 nodes"
        assert "left right: comes after A (labelled “go”)." in words(made)
        assert "a->c: comes after B." in words(made)
        assert "<ellipse" in made.svg
        assert not re.search(r"red|black|Times", made.svg)

    def test_without_arrows(self):
        graph = graphviz.Graph()
        graph.edge("a", "b")
        assert words(self.draw(graph)) == ["a: joined with b.", "b: joined with a."]

    def test_with_numbers_for_names(self):
        graph = graphviz.Digraph()
        graph.node("1", shape="none")
        graph.edge("1", "2")
        made = self.draw(graph)
        assert made.name == "Graph with 2 nodes"
        assert words(made) == ["1: stands alone.", "2: comes after 1."]

    def test_arrows_at_either_end_and_labels(self):
        graph = graphviz.Digraph()
        graph.edge("a", "b", dir="back", label="turned")
        graph.edge("c", "d", dir="both")
        graph.edge("e", "f", arrowhead="dot")
        graph.edge("f", "e")
        said = words(self.draw(graph))
        assert "a: comes after b (labelled “turned”)." in said
        assert "b: stands alone." in said
        assert "c: joined with d." in said
        assert "e: comes after f." in said
        assert "f: comes after e." in said

    def test_with_links(self):
        graph = graphviz.Digraph("G")
        graph.node("a", "A", URL="page.html")
        graph.edge("a", "b", URL="page.html", label="go")
        made = self.draw(graph)
        assert words(made) == ["A: stands alone.", "b: comes after A (labelled “go”)."]
        ids = re.findall(r' id="([^"]+)"', made.svg)
        assert all(name.startswith("graph-test") for name in ids)
        assert "<title" not in made.svg

    def test_hidden_nodes_and_names_with_arrows_are_drawn_and_not_told(self):
        graph = graphviz.Digraph()
        graph.node("a", style="invis")
        graph.edge("a", "b")
        made = self.draw(graph)
        assert words(made) == ["b: stands alone."]
        assert made.svg.count("<path") == 1
        names = graphviz.Digraph()
        names.edge("a->b", "c")
        names.edge("a", "b->c")
        assert all("stands alone" in sentence for sentence in words(self.draw(names)))

    def test_without_nodes(self):
        assert self.draw(graphviz.Digraph()).name == "Graph with no nodes"

    def test_a_note_on_a_graph_of_torchviz(self, x):
        graph = make_dot(x.sum(), params={"x": x})
        graph.node("note", "the sum", shape="plaintext")
        graph.edge("note", re.search(r"(\d+) \[label=SumBackward0", graph.source)[1], dir="none")
        made = self.draw(graph)
        assert made.name == "Autograd graph with 2 operations, 1 leaf, 1 output, 1 node"
        assert "the sum: joined with SumBackward0." in words(made)
        assert "x (shape (4)): a leaf." in words(made)


def test_words_name_inputs_before_what_uses_them(x):
    y = torch.dot(x, x)
    graph = drawn(y, params={"x": x, "y": y})
    assert describe(graph.nodes, graph.edges) == [
        "x (shape (4)): a leaf.",
        "AccumulateGrad: receives from x (shape (4)).",
        "DotBackward0: receives from AccumulateGrad (2 times).",
        "y (scalar): an output, receives from DotBackward0.",
    ]
