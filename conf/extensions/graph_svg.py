"""Turn a torchviz graph into an SVG that a page can show.

torchviz names nodes by memory address, marks roles by colour alone, and asks for a font whose
widths the renderer does not know. The SVG made here has stable names (``n1``, ``n2``, ...),
one CSS class a role, boxes that differ in shape, and an accessible name. No Sphinx, no torch.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree as ET

SVG = "http://www.w3.org/2000/svg"
ROLES = ("leaf", "operation", "output", "base", "saved", "plain")
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

_KIND = {"leaf": "a leaf", "output": "an output"}

# Used only where the file stands alone (a thumbnail, a download): inside a page the SVG is not
# the document's root, and the page's stylesheet applies.
STYLE = """
svg:root { color-scheme: light dark; color: #1b1b1b; }
svg:root text { fill: currentColor; font-family: ui-monospace, Menlo, Consolas, monospace; }
svg:root .edge path { fill: none; stroke: currentColor; }
svg:root .edge polygon { fill: currentColor; stroke: currentColor; }
svg:root :is(.plain, .cluster) > :not(text) { fill: none; stroke: currentColor; }
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


class Edge(NamedTuple):
    """A line of the picture, between two node ids, and what it means.

    ``kind`` is "input" (the operation or tensor ``end`` is made from ``start``), "saved" (the
    tensor ``start`` is saved for the operation ``end``) or "base" (``end`` is a view of
    ``start``); in a graph that torchviz did not make, "arrow" or "line".
    """

    start: str
    end: str
    kind: str = "input"


@dataclass
class Node:
    """A box of the picture: ``id`` as in the SVG, one of ``ROLES``, its lines of text.

    The role is "plain" in a graph that torchviz did not make.
    """

    id: str
    role: str
    label: list[str]

    @property
    def title(self) -> str:
        """What a sentence calls it: a tensor's name and shape, or an operation's name."""
        if self.role == "plain":
            return " ".join(self.label) or "unnamed"
        if self.role == "operation":
            return self.label[0]
        *name, shape = self.label or ["()"]
        shape = "scalar" if shape == "()" else f"shape {shape}"
        return f"{' '.join(name) or 'unnamed tensor'} ({shape})"


@dataclass
class GraphSvg:
    """A drawn graph: the SVG text, its parts, and torchviz's name of each node.

    An edge stands twice where an operation uses one input twice.
    """

    svg: str
    name: str
    nodes: list[Node]
    edges: list[Edge]
    torchviz_names: dict[str, str] = field(repr=False)


def draw_graph(source: str, figure: str, draw: Callable[[str], str]) -> GraphSvg:
    """Draw ``source``, the text of a ``graphviz`` graph, most often one of torchviz.

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
    labels = {_title(group): _lines(group) for group in node_groups}
    # torchviz names its nodes by memory address.
    is_torchviz = all(name.isdigit() for name in names)
    drawn_edges = [_edge(group, labels, is_torchviz) for group in edge_groups]
    leaves = {
        edge.start
        for edge in drawn_edges
        if edge.kind == "input" and labels[edge.end][:1] == ["AccumulateGrad"]
    }

    nodes = []
    for group in node_groups:
        name = _title(group)
        role = "leaf" if name in leaves else _role(group, is_torchviz)
        nodes.append(Node(names[name], role, labels[name]))
        _rewrite_node(group, nodes[-1], figure)
    edges = [Edge(names[start], names[end], kind) for start, end, kind in drawn_edges]
    for number, (group, edge) in enumerate(zip(edge_groups, edges, strict=True), 1):
        group.set("id", f"{figure}-e{number}")
        group.set("class", f"edge {edge.kind}")
        if edge.kind == "input":
            # The way of a gradient.
            group.set("data-from", edge.start)
            group.set("data-to", edge.end)
        group.remove(group.find(f"{{{SVG}}}title"))
        _drop_colours(group)
    for group in groups:
        if group.get("class") == "cluster":
            group.attrib.pop("id", None)
            group.remove(group.find(f"{{{SVG}}}title"))
            _drop_colours(group)

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
        "plain": ("node", "nodes"),
    }
    kind = "Graph" if counts["plain"] else "Autograd graph"
    parts = [f"{counts[role]} {words[role][counts[role] != 1]}" for role in words if counts[role]]
    return f"{kind} with {', '.join(parts)}"


def describe(nodes: list[Node], edges: list[Edge]) -> list[str]:
    """The graph in words: one sentence a node, each after the nodes that it is made from."""
    titles = _unique_titles(nodes)

    def joined(words: str, others: Iterable[str]) -> list[str]:
        counts = Counter(titles[other] for other in others)
        parts = [title if n == 1 else f"{title} ({n} times)" for title, n in counts.items()]
        return [f"{words} {' and '.join(parts)}"] if parts else []

    sentences = []
    for node in _inputs_first(nodes, edges):
        coming = [edge for edge in edges if edge.end == node.id]
        going = [edge for edge in edges if edge.start == node.id]
        parts = [
            *([_KIND[node.role]] if node.role in _KIND else []),
            *joined("receives from", (e.start for e in coming if e.kind == "input")),
            *joined("saved for", (e.end for e in going if e.kind == "saved")),
            *joined("the base of", (e.end for e in going if e.kind == "base")),
            *joined("comes after", (e.start for e in coming if e.kind == "arrow")),
            *joined("joined with", (e.end for e in going if e.kind == "line")),
            *joined("joined with", (e.start for e in coming if e.kind == "line")),
        ]
        sentences.append(f"{titles[node.id]}: {', '.join(parts) or 'stands alone'}.")
    return sentences


def depth(nodes: list[Node], edges: list[Edge]) -> int:
    """How many operations lie on the longest way from an input to an output."""
    operations = {node.id for node in nodes if node.role == "operation"}
    inputs: dict[str, list[str]] = {}
    for edge in edges:
        inputs.setdefault(edge.end, []).append(edge.start)
    longest: dict[str, int] = {}
    for node in _inputs_first(nodes, edges):
        before = max((longest.get(start, 0) for start in inputs.get(node.id, ())), default=0)
        longest[node.id] = before + (node.id in operations)
    return max(longest.values(), default=0)


def _unique_titles(nodes: list[Node]) -> dict[str, str]:
    total = Counter(node.title for node in nodes)
    seen: Counter[str] = Counter()
    titles = {}
    for node in nodes:
        seen[node.title] += 1
        number = f" number {seen[node.title]}" if total[node.title] > 1 else ""
        titles[node.id] = node.title + number
    return titles


def _inputs_first(nodes: list[Node], edges: list[Edge]) -> list[Node]:
    waiting = Counter(edge.end for edge in edges)
    following: dict[str, list[str]] = {}
    for edge in edges:
        following.setdefault(edge.start, []).append(edge.end)
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
    # A result that is saved for the operation that made it (exp) is a circle, and so may be a
    # graph made by hand.
    return ordered + list(by_id.values())


def _edge(group: ET.Element, names: Collection[str], is_torchviz: bool) -> Edge:
    """The edge as drawn, under the source's names."""
    start, end = _ends(_title(group), names)
    has_arrow = group.find(f"{{{SVG}}}polygon") is not None
    if not is_torchviz:
        return Edge(start, end, "arrow" if has_arrow else "line")
    if not has_arrow:
        # torchviz draws some of these from the operation to the tensor, some the other way.
        first, second = (start, end) if _is_tensor(names[start]) else (end, start)
        return Edge(first, second, "saved")
    dotted = group.find(f"{{{SVG}}}path").get("stroke-dasharray") is not None
    return Edge(start, end, "base" if dotted else "input")


def _ends(title: str, names: Collection[str]) -> tuple[str, str]:
    """The names in an edge's title ``a->b``; with ports, ``a:p->b:q:n``."""
    for match in re.finditer("->|--", title):
        ends = title[: match.start()], title[match.end() :]
        found = [next((n for n in _without_ports(end) if n in names), None) for end in ends]
        if None not in found:
            return found[0], found[1]
    raise ValueError(f"the edge {title!r} joins nodes that are not in the picture")


def _without_ports(end: str) -> list[str]:
    parts = end.split(":")
    return [":".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _title(group: ET.Element) -> str:
    return group.find(f"{{{SVG}}}title").text


def _lines(group: ET.Element) -> list[str]:
    texts = [(text.text or "").strip() for text in group.findall(f"{{{SVG}}}text")]
    return [text for text in texts if text]


def _is_tensor(label: list[str]) -> bool:
    return bool(label) and label[-1].startswith("(")


def _role(group: ET.Element, is_torchviz: bool) -> str:
    if not is_torchviz:
        return "plain"
    fill = group.find(f"{{{SVG}}}polygon").get("fill", "")
    return _ROLE_OF_FILL.get(fill, "operation")


def _drop_colours(group: ET.Element) -> None:
    """Leave colours and fonts to the style sheet."""
    for part in group.iter():
        for attribute in ("fill", "stroke", "font-family"):
            part.attrib.pop(attribute, None)


def _rewrite_node(group: ET.Element, node: Node, figure: str) -> None:
    group.set("id", f"{figure}-{node.id}")
    group.set("class", f"node {node.role}")
    group.set("data-node", node.id)
    group.remove(group.find(f"{{{SVG}}}title"))
    _drop_colours(group)
    if node.role != "plain":
        _replace_polygon(group, node.role)
    for text in group.findall(f"{{{SVG}}}text"):
        # torchviz puts a blank before the shape, which would stand off the centre.
        text.text = (text.text or "").strip()


def _replace_polygon(group: ET.Element, role: str) -> None:
    polygon = group.find(f"{{{SVG}}}polygon")
    points = [tuple(map(float, point.split(","))) for point in polygon.get("points").split()]
    x, y = min(p[0] for p in points), min(p[1] for p in points)
    width, height = max(p[0] for p in points) - x, max(p[1] for p in points) - y
    radius = {"leaf": 10, "operation": 0}.get(role, 2)
    boxes = [_rect(x, y, width, height, radius)]
    if role == "output":
        boxes.append(_rect(x + 3, y + 3, width - 6, height - 6, radius) | {"class": "inner"})
    index = list(group).index(polygon)
    group.remove(polygon)
    for offset, box in enumerate(boxes):
        group.insert(index + offset, ET.Element(f"{{{SVG}}}rect", box))


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
