"""Let the search find the parts of a name, such as the words in ``set_detect_anomaly``.

Sphinx takes a name in code for one word, so "detect anomaly" or "relu backward" finds no page that
only has ``set_detect_anomaly`` or ``ReluBackward0``. The index gets the parts as well. What a
reader types is not taken apart: the whole name finds less, and that is what was asked for.
"""

import re

from sphinx.search.en import SearchEnglish

# "set", "Relu" and "Backward" of the names above; "NLL" and "Loss" of NLLLoss. A digit ends a part.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def parts(word: str) -> list[str]:
    """The parts of a name that has several; without single letters, which say nothing."""
    found = _PART.findall(word)
    return [part for part in found if len(part) > 1 and part != word]


class SearchCode(SearchEnglish):
    """English, with names taken apart."""

    def split(self, input: str) -> list[str]:
        words = super().split(input)
        return words + [part for word in words for part in parts(word)]


def setup(app):
    # In place of Sphinx's own class for the same language.
    app.add_search_language(SearchCode)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
