"""Take words that no page has any more out of the search index.

When a page changes or goes, Sphinx takes its name away from each word of the index, and keeps the
words, with an empty list. The index then is not what a clean build makes, and grows with every
edit. Sphinx has no setting for it, and these are the two tables that its own ``prune`` goes over.
"""


def _remove_empty(app) -> list:
    indexer = getattr(app.builder, "indexer", None)
    if indexer is not None:
        for words in (indexer._mapping, indexer._title_mapping):
            for word in [word for word, pages in words.items() if not pages]:
                del words[word]
    return []


def setup(app):
    # All pages are written and indexed; the index is not yet.
    app.connect("html-collect-pages", _remove_empty)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
