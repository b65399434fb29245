"""Make the site's maths font: Latin Modern Math, cut down to what formulas here can need.

Run by hand, only to change the font; the result is kept in conf/static/fonts/.
The source is ``latinmodern-math.otf``, for example from Debian's package fonts-lmodern::

    python -m pip install fonttools brotli
    python conf/make_math_font.py path/to/latinmodern-math.otf

Its licence (GUST Font License) allows changed copies under another name; the licence is shipped
beside the font.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

NAME = "Autograd Examples Math"
TARGET = Path(__file__).parent / "static" / "fonts" / "autograd-examples-math.woff2"
# Whole blocks, not "the characters seen": roots, stretched arrows and italic Greek are
# reached through the MATH table, not through text.
RANGES = (
    "U+0020-007E,U+00A0-00B8,U+00D7,U+00F7,U+0131,U+0237,U+0300-0338,U+0391-03F6,"
    "U+2010-2037,U+2044,U+2057,U+20D0-20EF,U+2102,U+2107-2115,U+211A-211D,U+2124,"
    "U+2190-21D5,U+2200-22FF,U+2308-230B,U+23B0-23E0,U+25A0-25CA,U+27E6-27EF,"
    "U+27F5-27FC,U+2A00-2A06,U+2A7D-2AB0,U+1D400-1D4CF,U+1D538-1D56B,U+1D6A4-1D7D7"
)


def main(source: str) -> None:
    font = TTFont(source, recalcTimestamp=False)
    options = subset.Options(
        layout_features=["ssty"], hinting=False, desubroutinize=True, notdef_outline=True
    )
    options.drop_tables += ["FFTM"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=subset.parse_unicodes(RANGES))
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6, 16):
            text = NAME.replace(" ", "") if record.nameID == 6 else NAME
            font["name"].setName(
                text, record.nameID, record.platformID, record.platEncID, record.langID
            )
    top = font["CFF "].cff
    top.fontNames[0] = NAME.replace(" ", "")
    font.flavor = "woff2"
    font.save(TARGET)
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
