"""Show matplotlib's figures as SVG that follow the page's colours, light or dark.

A PNG of the same plot weighs twice as much, has a white ground in the dark, and blurs when it is
made larger. Name the scraper as the string ``"plot_svg.scrape"``, in place of "matplotlib".
"""

import sys
from pathlib import Path

# matplotlib writes each colour into the style of its element; what is only in a stylesheet is
# weaker without "!important". Text is drawn as outlines without a colour, which means black.
IN_THE_DARK = """\
  <style>
   @media (prefers-color-scheme: dark) {
    [style*="stroke: #000000"] { stroke: #dcdddf !important }
    [style*="fill: #000000"], g[id^="text_"] g:not([style*="fill"]) { fill: #dcdddf }
    [style*="fill: #ffffff"] { fill: #1d1f23 !important }
   }
  </style>
"""


def scrape(block, block_vars: dict, gallery_conf: dict) -> str:
    """Save the open figures as sphinx-gallery's own scraper does, but as SVG.

    Returns:
        reStructuredText with the pictures, or "" where no figure is open.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not pyplot.get_fignums():
        return ""
    import matplotlib
    from sphinx_gallery.scrapers import matplotlib_scraper

    paths = _Noted(block_vars["image_path_iterator"])
    # The same names and no date in each build.
    with matplotlib.rc_context({"svg.hashsalt": "plot"}):
        variables = {**block_vars, "image_path_iterator": paths}
        how = {"format": "svg", "transparent": True, "metadata": {"Date": None}}
        text = matplotlib_scraper(block, variables, gallery_conf, **how)
    for path in paths.noted:
        file = Path(path).with_suffix(".svg")
        if file.exists():
            svg = file.read_text(encoding="utf-8")
            file.write_text(svg.replace(" <defs>\n", IN_THE_DARK + " <defs>\n", 1), "utf-8")
    return text


class _Noted:
    """An iterator that remembers what it gave."""

    def __init__(self, source) -> None:
        self.source, self.noted = source, []

    def __iter__(self):
        return self

    def __next__(self):
        self.noted.append(next(self.source))
        return self.noted[-1]


def setup(app):
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
