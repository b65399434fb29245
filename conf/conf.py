"""The site's configuration; behaviour lives in conf/extensions/, one purpose a module."""

import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

CONF = Path(__file__).parent
sys.path[:0] = [str(CONF), str(CONF / "extensions")]
# Found only now that conf/ is on the path.
from reading_order import SECTIONS

# -- Project -----------------------------------------------------------------------------
project = "Autograd by Example"
author = "the authors of Autograd by Example"
copyright = "the authors of Autograd by Example"
release = installed("torch").partition("+")[0]
language = "en"

# -- Extensions --------------------------------------------------------------------------
extensions = [
    # From libraries
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "sphinx.ext.intersphinx",
    "notfound.extension",
    # Ours
    "reading_order",
    "check_release",
    "writable_output",
    "whole_builds",
    "stale_pages",
    "rerun_lessons",
    "lesson_processes",
    "early_cells",
    "folded_cells",
    "fresh_torch",
    "fresh_matplotlib",
    "fresh_images",
    "lesson_exit",
    "graph_figure",
    "plot_svg",
    "record_lessons",
    "backward_steps",
    "gallery_pages",
    "lesson_header",
    "run_bar",
    "lesson_cards",
    "lesson_progress",
    "edit_links",
    "own_branch",
    "prediction",
    "kink_table",
    "release_changes",
    "other_releases",
    "problem_index",
    "mathml",
    "inventories",
    "literal_links",
    "clean_search_index",
    "search_words",
    "search_text",
    "search_page",
    "page_description",
    "social_card",
    "site_metadata",
    "change_feed",
    "reproducible_zips",
    "steady_pages",
    "lean_pages",
    "strict_csp",
    "offline_zip",
]
nitpicky = True
exclude_patterns = [
    # myst-nb takes .ipynb files for sources: each lesson would run a second time.
    "lessons/*.ipynb",
    "lessons/**/*.ipynb",
    # sphinx-gallery's record of running times: a timing differs from build to build.
    "**sg_execution_times.rst",
    "_generated",
]

# -- References of other projects: inventories compiled from conf/inventories/ ------------
intersphinx_mapping = {
    "torch": ("https://docs.pytorch.org/docs/stable", "_generated/inventories/torch.inv"),
    "python": ("https://docs.python.org/3", "_generated/inventories/python.inv"),
}

# -- Lessons: scripts of examples/ --------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "lessons",
    "filename_pattern": r"\.py$",
    "subsection_order": [f"../examples/{section}" for section in SECTIONS],
    "within_subsection_order": "reading_order.lesson_position",
    "image_scrapers": ("graph_figure.scrape", "plot_svg.scrape"),
    "ignore_repr_types": r"graphviz\.",
    "reset_modules": (
        "fresh_images.reset_images",
        "fresh_matplotlib.reset_matplotlib",
        "fresh_torch.reset_torch",
        "record_lessons.reset",
        "lesson_exit.reset",
    ),
    "reset_modules_order": "both",
    "remove_config_comments": True,
    "first_notebook_cell": (CONF / "first_notebook_cell.txt").read_text(),
    # Timings and a signature differ from build to build, or say nothing to a reader.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "show_memory": False,
}
rerun_lessons_packages = ["torch", "torchviz", "matplotlib", "sphinx-gallery", "graphviz-pure"]
rerun_lessons_modules = [
    "backward_trace.py",
    "dot_program.py",
    "fresh_images.py",
    "fresh_torch.py",
    "fresh_matplotlib.py",
    "graph_figure.py",
    "graph_svg.py",
    "plot_svg.py",
    "record_lessons.py",
    "tensor_summary.py",
    "traced_graph.py",
]

# -- Pages in Markdown ---------------------------------------------------------------------
nb_execution_mode = "cache"
# How a cell's output is cut into pieces depends on timing.
nb_merge_streams = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 120
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {"torch_release": release}

# -- HTML ------------------------------------------------------------------------------------
html_theme = "furo"
html_title = project
html_math_renderer = "mathml"
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css", "accessibility.css", "print.css"]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
notfound_urls_prefix = "/"

# -- Repository: only where its address is known ----------------------------------------------
# "Edit this page", and with the branch that holds the built site, "Open in Colab".
repository_url = os.environ.get("REPOSITORY_URL", "")
repository_branch = os.environ.get("REPOSITORY_BRANCH", "main")
run_bar_site_branch = os.environ.get("SITE_BRANCH", "")

# -- Weight: a stylesheet or script, and the classes that it is for -----------------------------
lean_pages_needs = {
    "mystnb.*.css": ["cell"],
    # Ours say how outputs and pictures look.
    "sg_gallery*.css": [],
    "graph-figure.css": ["graph-"],
}
lean_pages_early = ["has-js.js"]
# The home begins with a figure; elsewhere the header is enough.
steady_pages_whole = {"index.html": "furo-main-content", "*": "page-start"}

# -- Hosting: only where the site's address is known -----------------------------------------
html_baseurl = os.environ.get("SITE_URL") or os.environ.get("READTHEDOCS_CANONICAL_URL", "")
if html_baseurl:
    from urllib.parse import urlsplit

    html_baseurl = html_baseurl.rstrip("/") + "/"
    notfound_urls_prefix = urlsplit(html_baseurl).path
    extensions.append("sphinx_sitemap")
    sitemap_url_scheme = "{link}"
    sitemap_excludes = ["404.html", "genindex.html", "search.html"]
