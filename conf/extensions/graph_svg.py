"""Turn a torchviz graph into an SVG that a page can show.

torchviz names nodes by memory address, marks roles by colour alone, and asks for a font whose
widths the renderer does not know. The SVG made here has stable names (``n1``, ``n2``, ...),
one CSS class a role, boxes that differ in shape, and an accessible name. No Sphinx, no torch.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

SVG = "http://www.w3.org/2000/svg"
ROLES = ("leaf", "operation", "output", "base", "saved")
# torchviz's fill colours, as renderers write them.
_ROLE_OF_FILL = {
    "lightblue": "leaf",
    "lightgrey": "operation",
    "darkolivegreen1": "output",
    "#caff70": "output",
    "darkolivegreen3": "base",
    "#a2cd5a": "base",
    "orange": "saved",
}

_KIND = {"leaf": "a leaf", "output": "an output", "base": "the base of a view", "saved": "saved"}

# Used only where the file stands alone (a thumbnail, a download): inside a page the SVG is not
# the document's root, and the page's stylesheet applies.
STYLE = """
svg:root { color-scheme: light dark; color: #1b1b1b; }
svg:root text { fill: currentColor; font-family: ui-monospace, Menlo, Consolas, monospace; }
svg:root .edge path { fill: none; stroke: currentColor; }
svg:root .edge polygon { fill: currentColor; stroke: currentColor; }
svg:root .node rect { fill: #f0f1f3; stroke: #5c6470; }
svg:root .leaf rect { fill: #dbeafe; stroke: #1d4ed8; stroke-width: 2; }
svg:root .output rect { fill: #dcfce7; stroke: #15803d; stroke-width: 1.5; }
svg:root .output rect.inner { fill: none; stroke-width: 1; }
svg:root .base rect { fill: #ecfccb; stroke: #4d7c0f; stroke-dasharray: 6 3; }
svg:root .saved rect { fill: #ffedd5; stroke: #c2410c; stroke-dasharray: 2 2; }
@media (prefers-color-scheme: dark) {
  svg:root { color: #e6e6e6; }
  svg:root .node rect { fill: #2a2e35; stroke: #9aa4b2; }
  svg:root .leaf rect { fill: #1e2f50; stroke: #93b4fd; }
  svg:root .output rect { fill: #15351f; stroke: #6fd693; }
  svg:root .output rect.inner { fill: none; }
  svg:root .base rect { fill: #2a3514; stroke: #b5dc6a; }
  svg:root .saved rect { fill: #43260f; stroke: #fdba74; }
}
"""


@dataclass
class Node:
    """A box of the picture: ``id`` as in the SVG, one of ``ROLES``, its lines of text."""

    id: str
    role: str
    label: list[str]

    @property
    def title(self) -> str:
        """What a sentence calls it: a tensor's name and shape, or an operation's name."""
        if self.role == "operation":
            return self.label[0]
        *name, shape = self.label or ["()"]
        shape = "scalar" if shape == "()" else f"shape {shape}"
        return f"{' '.join(name) or 'unnamed tensor'} ({shape})"


@dataclass
class GraphSvg:
    """A drawn graph: the SVG text, its parts, and torchviz's name of each node.

    ``edges`` are pairs of node ids, from the input towards the output; an edge stands twice
    where an operation uses one input twice.
    """

    svg: str
    name: str
    nodes: list[Node]
    edges: list[tuple[str, str]]
    torchviz_names: dict[str, str] = field(repr=False)


def draw_graph(source: str, figure: str, draw: Callable[[str], str]) -> GraphSvg:
    """Draw ``source``, the text of a torchviz ``Digraph``.

    Args:
        figure: a name unique on the page; it starts every ``id`` in the SVG.
        draw: runs the renderer, from Graphviz's language to SVG (``dot_program.draw``).
    """
    # "monospace" has no metrics in the renderer; Courier is as wide as most such fonts.
    source = source.replace("fontname=monospace", "fontname=Courier")
    # torchviz limits the size in inches, which would shrink the text of larger graphs.
    source = re.sub(r'\bsize="[\d.]+,[\d.]+"', "", source)
    return clean(draw(source), figure)


def clean(svg: str, figure: str) -> GraphSvg:
    """Rewrite a renderer's SVG as described at the top of this module."""
    root = ET.fromstring(svg)
    groups = root.findall(f".//{{{SVG}}}g")
    node_groups = [group for group in groups if group.get("class", "").startswith("node")]
    edge_groups = [group for group in groups if group.get("class", "").startswith("edge")]
    # The order of the drawing follows memory addresses nowhere: renderers keep the order of
    # the source, which torchviz writes in the order of its walk from the output.
    names = {_title(group): f"n{i}" for i, group in enumerate(node_groups, 1)}
    ends = [tuple(_title(group).split("->")) for group in edge_groups]
    labels = {_title(group): _lines(group) for group in node_groups}
    leaves = {
        a for a, b in ends if labels.get(b, [""])[0] == "AccumulateGrad" and _is_tensor(labels[a])
    }

    nodes = []
    for group in node_groups:
        name = _title(group)
        role = "leaf" if name in leaves else _role(group)
        nodes.append(Node(names[name], role, labels[name]))
        _rewrite_node(group, nodes[-1], figure)
    edges = [(names[a], names[b]) for a, b in ends]
    for number, (group, (start, end)) in enumerate(zip(edge_groups, edges, strict=True), 1):
        group.set("id", f"{figure}-e{number}")
        group.set("class", "edge")
        group.set("data-from", start)
        group.set("data-to", end)
        group.remove(group.find(f"{{{SVG}}}title"))
        for part in group:
            for attribute in ("fill", "stroke"):
                part.attrib.pop(attribute, None)

    name = accessible_name(nodes)
    _rewrite_root(root, name, figure)
    ET.register_namespace("", SVG)
    text = ET.tostring(root, encoding="unicode")
    return GraphSvg(f"{text}\n", name, nodes, edges, names)


def accessible_name(nodes: list[Node]) -> str:
    """One short sentence for the picture as a whole."""
    counts = Counter(node.role for node in nodes)
    words = {
        "operation": ("operation", "operations"),
        "leaf": ("leaf", "leaves"),
        "output": ("output", "outputs"),
        "base": ("base of a view", "bases of views"),
        "saved": ("saved tensor", "saved tensors"),
    }
    parts = [f"{counts[role]} {words[role][counts[role] != 1]}" for role in words if counts[role]]
    return f"Autograd graph with {', '.join(parts)}"


def describe(nodes: list[Node], edges: list[tuple[str, str]]) -> list[str]:
    """The graph in words: one sentence a node, each after the nodes that it receives from."""
    titles = _unique_titles(nodes)
    sentences = []
    for node in _inputs_first(nodes, edges):
        sources = Counter(titles[start] for start, end in edges if end == node.id)
        received = [title if n == 1 else f"{title} ({n} times)" for title, n in sources.items()]
        parts = [_KIND[node.role]] if node.role in _KIND else []
        parts += [f"receives from {' and from '.join(received)}"] if received else []
        sentences.append(f"{titles[node.id]}: {', '.join(parts) or 'stands alone'}.")
    return sentences


def _unique_titles(nodes: list[Node]) -> dict[str, str]:
    total = Counter(node.title for node in nodes)
    seen: Counter[str] = Counter()
    titles = {}
    for node in nodes:
        seen[node.title] += 1
        number = f" number {seen[node.title]}" if total[node.title] > 1 else ""
        titles[node.id] = node.title + number
    return titles


def _inputs_first(nodes: list[Node], edges: list[tuple[str, str]]) -> list[Node]:
    waiting = Counter(end for _, end in edges)
    following: dict[str, list[str]] = {}
    for start, end in edges:
        following.setdefault(start, []).append(end)
    by_id = {node.id: node for node in nodes}
    ready = [node.id for node in nodes if not waiting[node.id]]
    ordered = []
    while ready:
        current = ready.pop(0)
        ordered.append(by_id.pop(current))
        for end in following.get(current, []):
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    # torchviz draws a leaf that is also saved as one box with arrows both ways: a circle.
    return ordered + list(by_id.values())


def _title(group: ET.Element) -> str:
    return group.find(f"{{{SVG}}}title").text


def _lines(group: ET.Element) -> list[str]:
    texts = [(text.text or "").strip() for text in group.findall(f"{{{SVG}}}text")]
    return [text for text in texts if text]


def _is_tensor(label: list[str]) -> bool:
    return bool(label) and label[-1].startswith("(")


def _role(group: ET.Element) -> str:
    shape = group.find(f"{{{SVG}}}polygon")
    return _ROLE_OF_FILL.get(shape.get("fill", "") if shape is not None else "", "operation")


def _rewrite_node(group: ET.Element, node: Node, figure: str) -> None:
    group.set("id", f"{figure}-{node.id}")
    group.set("class", f"node {node.role}")
    group.set("data-node", node.id)
    group.remove(group.find(f"{{{SVG}}}title"))
    polygon = group.find(f"{{{SVG}}}polygon")
    points = [tuple(map(float, point.split(","))) for point in polygon.get("points").split()]
    x, y = min(p[0] for p in points), min(p[1] for p in points)
    width, height = max(p[0] for p in points) - x, max(p[1] for p in points) - y
    radius = {"leaf": 10, "operation": 0}.get(node.role, 2)
    boxes = [_rect(x, y, width, height, radius)]
    if node.role == "output":
        boxes.append(_rect(x + 3, y + 3, width - 6, height - 6, radius) | {"class": "inner"})
    index = list(group).index(polygon)
    group.remove(polygon)
    for offset, box in enumerate(boxes):
        group.insert(index + offset, ET.Element(f"{{{SVG}}}rect", box))
    for text in group.findall(f"{{{SVG}}}text"):
        text.attrib.pop("font-family", None)
        text.attrib.pop("fill", None)
        # torchviz puts a blank before the shape, which would stand off the centre.
        text.text = (text.text or "").strip()


def _rect(x: float, y: float, width: float, height: float, radius: int) -> dict[str, str]:
    sides = {"x": x, "y": y, "width": width, "height": height, "rx": radius}
    return {name: f"{value:.2f}".rstrip("0").rstrip(".") for name, value in sides.items()}


def _rewrite_root(root: ET.Element, name: str, figure: str) -> None:
    graph = root.find(f"{{{SVG}}}g")
    graph.attrib.pop("id", None)
    background = graph.find(f"{{{SVG}}}polygon")
    if background is not None:
        graph.remove(background)
    root.set("id", figure)
    root.set("role", "img")
    root.set("aria-label", name)
    style = ET.Element(f"{{{SVG}}}style")
    style.text = STYLE
    root.insert(0, style)
