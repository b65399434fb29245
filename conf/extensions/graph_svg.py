"""Turn a torchviz graph into an SVG that a page can show.

torchviz names nodes by memory address, marks roles by colour alone, and asks for a font whose
widths the renderer does not know. The SVG made here has stable names (``n1``, ``n2``, ...),
one CSS class a role, boxes that differ in shape, and an accessible name. No Sphinx, no torch.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree as ET

SVG = "http://www.w3.org/2000/svg"
ROLES = ("leaf", "operation", "output", "base", "saved", "plain")
# torchviz names a node by a memory address, and tells its role by the fill colour.
_ADDRESS = re.compile(r"\d{9,}")
_TENSOR_STATEMENT = re.compile(
    r'^\t(\d{9,}) \[label="(?:[^"\\]|\\.)*" fillcolor=(\w+)\]\n', re.MULTILINE
)
# The fill colours as renderers write them.
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
svg:root text { fill: currentColor; stroke: none; font-family: ui-monospace, Menlo, Consolas, monospace; }
svg:root .edge path { fill: none; stroke: currentColor; }
svg:root .edge :is(polygon, ellipse) { fill: currentColor; stroke: currentColor; }
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
    ``start``). At a node that torchviz did not make: "arrow" or "line", with the ``label`` that
    its author gave it.
    """

    start: str
    end: str
    kind: str = "input"
    label: str = ""


@dataclass
class Node:
    """A box of the picture: ``id`` as in the SVG, one of ``ROLES``, its lines of text.

    The role is "plain" where torchviz did not make the node.
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
    source = _keep_names(source)
    # An unnamed tensor has an empty line for its name.
    source = source.replace('[label="\n ', '[label="')
    return clean(draw(source), figure)


def _keep_names(source: str) -> str:
    """Let a leaf or an output that is saved stay what it is.

    torchviz writes such a tensor twice, and the later one counts: the leaf ``x`` would turn into
    a saved tensor with the name that its operation gives it, as ``self``.
    """
    statements = list(_TENSOR_STATEMENT.finditer(source))
    known = {name for name, fill in (found.groups() for found in statements) if fill != "orange"}

    def kept(found: re.Match) -> str:
        name, fill = found.groups()
        return "" if fill == "orange" and name in known else found[0]

    return _TENSOR_STATEMENT.sub(kept, source)


def clean(svg: str, figure: str) -> GraphSvg:
    """Rewrite a renderer's SVG as described at the top of this module."""
    root = ET.fromstring(svg)
    groups = root.findall(f".//{{{SVG}}}g")
    node_groups = {_title(g): g for g in groups if g.get("class", "").startswith("node")}
    edge_groups = {g: _title(g) for g in groups if g.get("class", "").startswith("edge")}
    _drop_identity(root)
    # The renderer's order follows that of the source, not the addresses.
    nodes = {
        name: Node(f"n{number}", _role(name, group), _lines(group))
        for number, (name, group) in enumerate(node_groups.items(), 1)
    }
    for name, group in node_groups.items():
        _rewrite_node(group, nodes[name], figure)
    drawn = [(group, _edge(group, title, nodes)) for group, title in edge_groups.items()]
    for number, (group, edge) in enumerate(drawn, 1):
        _rewrite_edge(group, edge, f"{figure}-e{number}")
    for group in groups:
        if group.get("class", "").startswith("cluster"):
            _drop_colours(group)

    parts = list(nodes.values())
    name = accessible_name(parts)
    _rewrite_root(root, name, figure)
    ET.register_namespace("", SVG)
    text = ET.tostring(root, encoding="unicode")
    edges = [edge for _, edge in drawn if edge is not None]
    ids = {name: node.id for name, node in nodes.items()}
    return GraphSvg(f"{text}\n", name, parts, edges, ids)


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
    kind = "Autograd graph" if set(counts) - {"plain"} else "Graph"
    parts = [f"{counts[role]} {words[role][counts[role] != 1]}" for role in words if counts[role]]
    return f"{kind} with {', '.join(parts) or 'no nodes'}"


def describe(nodes: list[Node], edges: list[Edge]) -> list[str]:
    """The graph in words: one sentence a node, each after the nodes that it is made from."""
    titles = _unique_titles(nodes)

    def joined(words: str, kind: str, near: str, far: str) -> list[str]:
        others = Counter(
            titles[getattr(edge, far)] + (f" (labelled “{edge.label}”)" if edge.label else "")
            for edge in edges
            if edge.kind == kind and getattr(edge, near) == node.id
        )
        parts = [title if n == 1 else f"{title} ({n} times)" for title, n in others.items()]
        return [f"{words} {' and '.join(parts)}"] if parts else []

    sentences = []
    for node in _inputs_first(nodes, edges):
        parts = [
            *([_KIND[node.role]] if node.role in _KIND else []),
            *joined("receives from", "input", "end", "start"),
            *joined("saved for", "saved", "start", "end"),
            *joined("the base of", "base", "start", "end"),
            *joined("comes after", "arrow", "end", "start"),
            *joined("joined with", "line", "start", "end"),
            *joined("joined with", "line", "end", "start"),
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


def _edge(group: ET.Element, title: str, nodes: dict[str, Node]) -> Edge | None:
    """The edge as drawn; None where it leads to a node that is not, which its author hid."""
    ends = _ends(title, nodes)
    if ends is None:
        return None
    start, end = (nodes[name] for name in ends)
    at_start, at_end = _arrows(group)
    if "plain" in (start.role, end.role):
        if at_start and not at_end:
            start, end = end, start
        kind = "line" if at_start == at_end else "arrow"
        return Edge(start.id, end.id, kind, " ".join(_lines(group)))
    if not at_end:
        # torchviz draws some of these from the operation to the tensor, some the other way.
        tensor, operation = (end, start) if start.role == "operation" else (start, end)
        return Edge(tensor.id, operation.id, "saved")
    dotted = group.find(f"{{{SVG}}}path").get("stroke-dasharray") is not None
    return Edge(start.id, end.id, "base" if dotted else "input")


def _ends(title: str, names: Collection[str]) -> tuple[str, str] | None:
    """The names in an edge's title ``a->b``; with ports, ``a:p->b:q:n``."""
    found = []
    for match in re.finditer("->|--", title):
        ends = title[: match.start()], title[match.end() :]
        names_of_ends = [
            next((n for n in _without_ports(end) if n in names), None) for end in ends
        ]
        if None not in names_of_ends:
            found.append(tuple(names_of_ends))
    # More than one where names have arrows in them: "a->b->c" can be read in two ways.
    return found[0] if len(found) == 1 else None


def _arrows(group: ET.Element) -> tuple[bool, bool]:
    """Whether the line has an arrow at its start, and at its end. The line may be in a link."""
    line = next(group.iter(f"{{{SVG}}}path"))
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", line.get("d"))]
    start, end = numbers[:2], numbers[-2:]
    tips = []
    for shape in group.iter(f"{{{SVG}}}polygon"):
        points = [tuple(map(float, point.split(","))) for point in shape.get("points").split()]
        tips.append(points[0])
    tips += [(float(e.get("cx")), float(e.get("cy"))) for e in group.iter(f"{{{SVG}}}ellipse")]
    at_end = [math.dist(tip, end) <= math.dist(tip, start) for tip in tips]
    return False in at_end, True in at_end


def _without_ports(end: str) -> list[str]:
    parts = end.split(":")
    return [":".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _title(group: ET.Element) -> str:
    return group.find(f"{{{SVG}}}title").text


def _lines(group: ET.Element) -> list[str]:
    texts = [(text.text or "").strip() for text in group.iter(f"{{{SVG}}}text")]
    return [text for text in texts if text]


def _role(name: str, group: ET.Element) -> str:
    box = group.find(f"{{{SVG}}}polygon")
    if box is None or not _ADDRESS.fullmatch(name):
        return "plain"
    return _ROLE_OF_FILL.get(box.get("fill"), "plain")


def _drop_identity(root: ET.Element) -> None:
    """Take away the renderer's ids, equal on each picture, and titles, which are tooltips."""
    for element in root.iter():
        element.attrib.pop("id", None)
        for title in element.findall(f"{{{SVG}}}title"):
            element.remove(title)


def _drop_colours(group: ET.Element) -> None:
    """Leave colours and fonts to the style sheet."""
    for part in group.iter():
        for attribute in ("fill", "stroke", "font-family"):
            part.attrib.pop(attribute, None)


def _rewrite_node(group: ET.Element, node: Node, figure: str) -> None:
    group.set("id", f"{figure}-{node.id}")
    group.set("class", f"node {node.role}")
    group.set("data-node", node.id)
    _drop_colours(group)
    if node.role != "plain":
        _replace_polygon(group, node.role)
    for text in group.iter(f"{{{SVG}}}text"):
        # torchviz puts a blank before the shape, which would stand off the centre.
        text.text = (text.text or "").strip()


def _rewrite_edge(group: ET.Element, edge: Edge | None, element_id: str) -> None:
    group.set("id", element_id)
    group.set("class", f"edge {edge.kind}" if edge else "edge")
    if edge and edge.kind == "input":
        # The way of a gradient.
        group.set("data-from", edge.start)
        group.set("data-to", edge.end)
    _drop_colours(group)


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
    background = graph.find(f"{{{SVG}}}polygon")
    if background is not None:
        graph.remove(background)
    root.set("id", figure)
    root.set("role", "img")
    root.set("aria-label", name)
    style = ET.Element(f"{{{SVG}}}style")
    style.text = STYLE
    root.insert(0, style)
