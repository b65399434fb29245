"""Links to other projects' references, from lists kept in the repository.

intersphinx usually fetches each project's inventory during the build. Here a readable list,
``conf/inventories/<project>.txt``, is compiled to the same format, so that nothing is fetched,
and a name that is not in the list fails the build. One object a line::

    torch.dot           function
    torch.Tensor        class      tensors.html

The page is ``generated/<name>.html`` where the line gives none; the anchor is the name.
"""

import re
import zlib
from pathlib import Path

from sphinx.errors import ConfigError

LISTS = Path(__file__).parent.parent / "inventories"
ROLES = {"attribute", "class", "data", "exception", "function", "method", "module", "property"}
_LINE = re.compile(r"(?P<name>[\w.]+)\s+(?P<role>\w+)(?:\s+(?P<page>[\w./-]+\.html))?")


def compile_list(text: str, project: str, file: str) -> bytes:
    """One list as an ``objects.inv`` of format 2.

    Raises:
        ConfigError: a line that is not "name role [page]"; names the file, the line, the remedy.
    """
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        match = _LINE.fullmatch(content)
        if match is None or match["role"] not in ROLES:
            raise ConfigError(
                f"{file}:{number}: {content!r} is not 'name role [page.html]' with a role of "
                f"{', '.join(sorted(ROLES))}: correct the line"
            )
        page = match["page"] or f"generated/{match['name']}.html"
        anchor = f"module-{match['name']}" if match["role"] == "module" else "$"
        entries.append(f"{match['name']} py:{match['role']} 1 {page}#{anchor} -\n")
    head = (
        "# Sphinx inventory version 2\n"
        f"# Project: {project}\n"
        "# Version: \n"
        "# The remainder of this file is compressed using zlib.\n"
    )
    return head.encode() + zlib.compress("".join(sorted(entries)).encode(), 9)


def _compile_all(app, config) -> None:
    folder = Path(app.srcdir) / "_generated" / "inventories"
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(LISTS.glob("*.txt")):
        compiled = compile_list(
            source.read_text(encoding="utf-8"), source.stem, f"conf/inventories/{source.name}"
        )
        target = folder / f"{source.stem}.inv"
        if not target.exists() or target.read_bytes() != compiled:
            target.write_bytes(compiled)


def setup(app):
    # Before intersphinx, which reads the files at builder-inited.
    app.connect("config-inited", _compile_all)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
