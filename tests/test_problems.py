"""What people ask: the page that answers each question, and the finder that leads to it."""

import ast
import json
import random
import re
import textwrap
import tomllib
from pathlib import Path

import pytest
from pages import page
from reading_order import SECTIONS

ROOT = Path(__file__).parent.parent
QUESTIONS = tomllib.loads((ROOT / "tests" / "questions.toml").read_text(encoding="utf-8"))
PHRASINGS = ("recent", "other", "plain")
# Those whose page is there; the first test wants all of them to be.
ANSWERED = {id: entry for id, entry in QUESTIONS.items() if entry["page"] in SECTIONS["problems"]}


def test_every_question_has_a_page():
    assert len(QUESTIONS) == 76
    assert [id for id in QUESTIONS if id not in ANSWERED] == []
    assert set(SECTIONS["problems"]) == {entry["page"] for entry in QUESTIONS.values()}


def proofs(script: str) -> list[str]:
    """The statements of a script that stop it where something is not so."""
    found = []
    for node in ast.walk(ast.parse(script)):
        called = getattr(getattr(node, "func", None), "attr", "")
        if (
            isinstance(node, ast.Assert)
            or called.startswith("assert_")
            or (isinstance(node, ast.Raise) and "AssertionError" in ast.unparse(node))
        ):
            found.append(ast.get_source_segment(script, node))
    return found


@pytest.mark.parametrize("id", ANSWERED)
def test_the_page_proves_its_answer(id):
    entry = ANSWERED[id]
    script = (ROOT / "examples" / "problems" / f"{entry['page']}.py").read_text(encoding="utf-8")
    assert len(entry["proof"]) > 12, f"{id}: name the line of {entry['page']}.py that proves it"
    assert any(entry["proof"] in statement for statement in proofs(script)), entry["proof"]


@pytest.mark.parametrize("name", SECTIONS["problems"])
def test_a_page_says_how_it_shows(site, name):
    (known,) = (p for p in index(site)["pages"] if p["url"] == f"lessons/problems/{name}.html")
    assert 2 <= len(known["symptoms"]) <= 6
    assert len(known["title"]) <= 60
    headings = {h.get_text().rstrip("#¶") for h in page(site / known["url"]).select("h2")}
    assert {"Why", "The fix", "Find the line in your own code"} <= headings
    assert not {"Why", "The fix"} & set(known["headings"])
    assert known["outputs"]


def test_the_symptoms_are_links(site):
    names = {entry["page"] for entry in ANSWERED.values()}
    shown = {tag.get_text() for tag in page(site / "fix.html").select("article code")}
    assert not shown & names
    assert page(site / "fix.html").select("#go-by-the-symptom a[href*=problems]")


def index(site) -> dict:
    text = (site / "_static" / "problem-index.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("const PROBLEM_INDEX = ").rstrip().removesuffix(";"))


@pytest.fixture(scope="module")
def found(browser, site) -> dict[tuple[str, str], list[str]]:
    """The pages that the finder names for each phrasing, best first."""
    asked = [(id, phrasing) for id in ANSWERED for phrasing in PHRASINGS]
    tab = browser.new_page()
    tab.goto((site / "fix.html").as_uri())
    results = tab.evaluate(
        "texts => texts.map(text =>"
        " ProblemFinder.rank(PROBLEM_INDEX, text).map(({page}) => page.url))",
        [ANSWERED[id][phrasing] for id, phrasing in asked],
    )
    tab.close()
    names = [[Path(url).stem for url in urls] for urls in results]
    return dict(zip(asked, names, strict=True))


def test_the_finder_names_the_page_first(found):
    wrong = [key for key, pages in found.items() if pages[:1] != [ANSWERED[key[0]]["page"]]]
    assert len(wrong) <= 0.05 * len(found), wrong


def test_the_finder_names_the_page_among_the_first_three(found):
    missed = {
        key: pages[:3] for key, pages in found.items() if ANSWERED[key[0]]["page"] not in pages[:3]
    }
    assert not missed


def mangled(message: str, noise: random.Random) -> str:
    """A message as it may arrive: other numbers and names, line breaks, a log, a traceback."""
    text = re.sub(r"\d+", lambda _: str(noise.randrange(2, 5000)), message)
    text = re.sub(r"\b[A-Z]\w+Backward\d?\b", "FancyOpBackward0", text)
    text = re.sub(r"torch\.Float|\bfloat32\b", "torch.cuda.Half", text)
    words = text.split()
    if len(words) > 14:
        words = words[: max(14, int(len(words) * noise.uniform(0.6, 1)))]
    lines = textwrap.wrap(" ".join(words), noise.randrange(50, 120))
    style = noise.choice(["plain", "log", "colour", "traceback", "translated"])
    if style == "log":
        lines = [
            f"[rank{noise.randrange(9)}] 2026-02-03 04:05:06,789 ERROR {line}" for line in lines
        ]
    elif style == "colour":
        lines[0] = f"\x1b[1;31m{lines[0]}\x1b[0m"
    elif style == "traceback":
        lines[:0] = [
            "Traceback (most recent call last):",
            '  File "/data/vmap/hooks/gradcheck.py", line 88, in optimizer_step_nan',
            "    loss = model(batch).mask.sum(); loss.backward(); memory.grow()",
            "           ~~~~~^^^^^^^",
        ]
    elif style == "translated":
        lines = ["训练时出现错误:", *lines, "请问怎么解决? Wie behebe ich das?"]
    return "\n".join(lines)


def test_a_recorded_message_is_found_however_it_arrives(browser, site):
    noise = random.Random(0)
    owners: dict[str, set[str]] = {}
    for described in index(site)["pages"]:
        for message in described["messages"]:
            owners.setdefault(message["text"], set()).add(described["url"])
    texts = {message: mangled(message, noise) for message in owners}
    tab = browser.new_page()
    tab.goto((site / "fix.html").as_uri())
    results = tab.evaluate(
        "texts => texts.map(text =>"
        " ProblemFinder.rank(PROBLEM_INDEX, text).map(({page}) => page.url))",
        list(texts.values()),
    )
    tab.close()
    found = dict(zip(texts, results, strict=True))
    late = [text for text, urls in found.items() if not owners[text] & set(urls[:1])]
    lost = [texts[text] for text in late if not owners[text] & set(found[text][:3])]
    assert len(late) <= 0.05 * len(found), [(texts[text], found[text]) for text in late]
    assert not lost


def test_no_phrasing_was_copied_into_the_index(site):
    def plain(text):
        return " ".join(re.findall(r"\w+", text.lower()))

    known = [
        plain(text)
        for described in index(site)["pages"]
        for field in ("symptoms", "headings", "prose")
        for text in described[field]
    ]
    for id, entry in ANSWERED.items():
        assert not any(plain(entry["plain"]) in text for text in known), id
