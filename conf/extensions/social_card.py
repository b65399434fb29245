"""A picture of each page, which programs show beside a link to it.

The picture is made only where the site's address is known: such a link is an absolute one. The
card has the page's title, its description and the site's name, in the font that matplotlib
brings, so it is the same on every machine. Pillow draws it in some hundredths of a second.

sphinxext-opengraph makes such cards too. It describes a page by the first text it finds, which is
the release of a lesson, takes no SVG as logo, and puts Sphinx's own on each card.
"""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from site_metadata import kind_of

FOLDER = "_images/cards"
WIDTH, HEIGHT = 1200, 630
MARGIN = 80
PAPER, INK, QUIET = "#ffffff", "#16202b", "#4a5563"
# The colours of a leaf, an output and an operation in the site's graphs.
STRIPE = ("#1d6fb8", "#3f7d20", "#6b7280")
KINDS = {"lesson": "Lesson", "problem": "Problem", "page": ""}


@cache
def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    # matplotlib itself takes long to import.
    (package,) = find_spec("matplotlib").submodule_search_locations
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    path = Path(package) / "mpl-data" / "fonts" / "ttf" / name
    # The basic layout is the same whether or not the system has another library for it.
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def lines(text: str, used: ImageFont.FreeTypeFont, most: int) -> list[str]:
    """The text broken at spaces, so that it fits the card; cut after the last line."""
    broken = [""]
    for word in text.split():
        longer = f"{broken[-1]} {word}".strip()
        if used.getlength(longer) <= WIDTH - 2 * MARGIN:
            broken[-1] = longer
        else:
            broken.append(word)
    if len(broken) > most:
        broken = [*broken[: most - 1], f"{broken[most - 1]} …"]
    return broken


def draw(title: str, description: str, site: str, kind: str) -> Image.Image:
    card = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(card)
    for place, color in enumerate(STRIPE):
        start = WIDTH * place // len(STRIPE)
        pen.rectangle((start, 0, start + WIDTH // len(STRIPE), 16), fill=color)
    y = MARGIN
    if kind:
        pen.text((MARGIN, y), kind, font=font(30), fill=QUIET)
    y += 60
    for line in lines(title, font(60, bold=True), 3):
        pen.text((MARGIN, y), line, font=font(60, bold=True), fill=INK)
        y += 76
    y += 16
    for line in lines(description, font(30), 3):
        pen.text((MARGIN, y), line, font=font(30), fill=QUIET)
        y += 42
    pen.text(
        (MARGIN, HEIGHT - MARGIN), site, font=font(34, bold=True), fill=STRIPE[0], anchor="ls"
    )
    return card


def _add(app, pagename, templatename, context, doctree) -> None:
    if not app.config.html_baseurl or doctree is None:
        return
    title = app.env.titles[pagename].astext()
    said = (
        title,
        context.get("page_description", ""),
        app.config.project,
        KINDS[kind_of(pagename)],
    )
    # Programs keep a card for long: another text gets another address.
    digest = hashlib.sha256("\0".join(said).encode()).hexdigest()[:8]
    path = f"{FOLDER}/{pagename.replace('/', '-')}-{digest}.png"
    file = Path(app.outdir) / path
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        # Few colours are enough for text, and make the file four times smaller.
        few = Image.Quantize.FASTOCTREE
        draw(*said).quantize(64, method=few, dither=Image.Dither.NONE).save(file)
    alt = ". ".join(part.rstrip(".") for part in said[:2] if part)
    context["social_card"] = {"path": path, "alt": alt, "width": WIDTH, "height": HEIGHT}


def setup(app):
    # After page_description, before site_metadata.
    app.connect("html-page-context", _add, priority=550)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
