"""Delete the pictures that a lesson left when it ran last, before it runs again.

sphinx-gallery writes new pictures beside old ones. A card then shows what it finds first: the
sign "broken" of a run that failed, or the PNG of a plot that is an SVG now. Named as
``"fresh_images.reset_images"`` in ``reset_modules``.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import reading_order


def pictures_of(lesson: str, section: Path) -> Iterator[Path]:
    """The pictures of a lesson in its section's folder, its thumbnail and what is kept beside.

    Not those of a lesson whose name goes on: first_gradient and first_gradient_two.
    """
    name = re.compile(rf"sphx_glr_{re.escape(lesson)}_(?:\d{{3}}[._]|thumb\.).*")
    for folder in (section / "images", section / "images" / "thumb"):
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if name.fullmatch(path.name))


def reset_images(gallery_conf: dict, fname: str | None, when: str) -> None:
    """Delete the pictures of a lesson that is about to run (sphinx-gallery's resetter)."""
    if when != "before" or fname is None:
        return
    lesson = Path(fname).stem
    generated = Path(gallery_conf["src_dir"]) / gallery_conf["gallery_dirs"]
    for section, lessons in reading_order.SECTIONS.items():
        if lesson in lessons:
            # Without the pictures the lesson has not run, whatever becomes of it now.
            (generated / section / f"{lesson}.py.md5").unlink(missing_ok=True)
            for picture in list(pictures_of(lesson, generated / section)):
                picture.unlink()


def setup(app):
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
