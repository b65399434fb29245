"""Questions put to PyTorch, release by release, and the records of its answers.

A *probe* asks one question and returns plain data. The probes are in ``areas/``, one module
for each area. ``python conf/probes/record.py 2.14.1`` puts all of them to a release, in an
environment of its own, and writes ``docs/records/2.14.1.json``.

What runs inside the release's interpreter needs torch and the standard library only, Python
3.8 or newer. Importing this package does not import torch.
"""
