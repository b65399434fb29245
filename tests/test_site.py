"""The built site, as a reader meets it."""

import json
import re
from urllib.parse import unquote, urlsplit

import pytest
from pages import all_pages, ids, outputs, page
from reading_order import LESSONS, SECTIONS

PATHS = {
    lesson: f"lessons/{section}/{lesson}.html"
    for section in SECTIONS
    for lesson in SECTIONS[section]
}
# A problem page has no graph that must be there, and no exercises: a stuck reader wants the fix.
TAUGHT = [lesson for lesson in LESSONS if lesson not in SECTIONS["problems"]]

# What the two seed questions print: the page that must show it as live output.
SEED_FIGURES = [
    ("first_gradient", "28."),
    ("first_gradient", "grad_fn=<MulBackward0>"),
    ("first_gradient", "None"),
    ("first_gradient", "tensor([ 0.,  4.,  8., 12.])"),
    ("backward_adds", "tensor([ 1.,  5.,  9., 13.])"),
    ("backward_adds", "tensor([1., 1., 1., 1.])"),
    ("backward_with_weights", "tensor([0., 2., 4., 6.])"),
    ("detach_is_a_constant", "tensor([0., 1., 4., 9.])"),
    ("detach_is_a_constant", "tensor([0., 2., 4., 6.])"),
    ("a_new_graph_each_time", "102400.0"),
    ("three_gradients_of_one_x", "14.0"),
    ("three_gradients_of_one_x", "tensor([0., 2., 4., 6.])"),
    ("three_gradients_of_one_x", "tensor([[0., 1., 2., 3.]])"),
    ("three_gradients_of_one_x", "[2.],"),
    ("three_gradients_of_one_x", "Backward0"),
    ("leaf_or_not", "The .grad attribute of a Tensor that is not a leaf"),
    ("clamp_against_relu", "-19.0"),
    ("clamp_against_relu", "38.0"),
    ("clamp_against_relu", "-38."),
    ("same_function_other_gradient", "nan"),
]


class TestLessons:
    @pytest.mark.parametrize("lesson", TAUGHT)
    def test_has_outputs_a_graph_and_predictions(self, site, lesson):
        soup = page(site / PATHS[lesson])
        assert len(outputs(site / PATHS[lesson])) >= 5
        assert soup.select(".graph-figure svg .node")
        assert len(soup.select(".prediction")) >= 3

    @pytest.mark.parametrize("lesson", LESSONS)
    def test_asks_for_answers_that_are_short_to_type(self, site, lesson):
        for prediction in page(site / PATHS[lesson]).select(".prediction"):
            answer = " ".join(prediction.select_one(".sphx-glr-script-out").get_text().split())
            assert 0 < len(answer) <= 45, (prediction["data-question"], answer)
            assert 10 <= len(prediction["data-question"]) <= 80

    @pytest.mark.parametrize("lesson", TAUGHT)
    def test_ends_with_a_summary_and_two_or_three_exercises(self, site, lesson):
        headings = [h.get_text().rstrip("#¶") for h in page(site / PATHS[lesson]).select("h2")]
        own = [h for h in headings if h not in ("In other releases", "Run it yourself")]
        assert own[-2:] == ["What you can do now", "Exercises"]
        exercises = page(site / PATHS[lesson]).select("#exercises .prediction")
        assert 2 <= len(exercises) <= 3

    @pytest.mark.parametrize("lesson", LESSONS)
    def test_names_the_release_that_ran_it(self, site, lesson):
        import torch

        release = torch.__version__.partition("+")[0]
        assert page(site / PATHS[lesson]).select_one(".lesson-release").get_text() == (
            f"Run with PyTorch {release}."
        )

    @pytest.mark.parametrize("lesson", LESSONS)
    def test_knows_only_lessons_that_come_before(self, site, lesson):
        paragraphs = page(site / PATHS[lesson]).select("article p")
        know_first = next(p for p in paragraphs if p.get_text().startswith("Know first:"))
        named = [
            unquote(a["href"]).split("/")[-1].removesuffix(".html") for a in know_first.select("a")
        ]
        assert all(LESSONS.index(name) < LESSONS.index(lesson) for name in named)
        assert named or lesson == LESSONS[0]

    @pytest.mark.parametrize(("lesson", "figure"), SEED_FIGURES)
    def test_shows_the_figures_of_the_seeds(self, site, lesson, figure):
        assert any(figure in output for output in outputs(site / PATHS[lesson]))

    def test_stand_in_reading_order(self, site):
        """Following "next" from the first lesson leads through all of them, in order."""
        visited, path = [], site / "lessons" / "index.html"
        for _ in range(len(LESSONS) + len(SECTIONS) + 1):
            link = page(path).select_one("a.next-page")
            path = (path.parent / link["href"]).resolve()
            if path.stem in LESSONS:
                visited.append(path.stem)
        assert visited == LESSONS

    def test_sections_open_with_a_paragraph(self, site):
        for section in SECTIONS:
            soup = page(site / "lessons" / section / "index.html")
            assert len(soup.select_one("article h1 ~ p").get_text()) > 80

    def test_each_card_names_its_lesson(self, site):
        for section, lessons in SECTIONS.items():
            if section == "problems":
                continue
            cards = page(site / "lessons" / section / "index.html").select(".lesson-card")
            assert len(cards) == len(lessons)
            for card, lesson in zip(cards, lessons, strict=True):
                title = page(site / PATHS[lesson]).select_one("h1").get_text().rstrip("#¶")
                assert card.select_one("a").get_text(strip=True) == title


class TestQuestions:
    def test_each_has_an_answer_a_proof_and_a_lesson(self, site):
        sections = page(site / "questions.html").select("article section > section")
        assert len(sections) >= 8
        for section in sections:
            assert section.select_one("p")
            assert section.select_one(".cell_output pre"), section.select_one("h2")
            assert section.select('a[href^="lessons/"]'), section.select_one("h2")


class TestEveryPage:
    def test_links_lead_somewhere(self, site):
        broken = []
        for path in all_pages(site):
            if path.name == "404.html":
                continue  # its links are absolute, for a server
            for link in page(path).select("a[href], link[href], script[src], img[src]"):
                url = urlsplit(link.get("href") or link.get("src"))
                if url.scheme or url.netloc or link.get("href") in ("#",):
                    continue
                target = (path.parent / unquote(url.path)).resolve() if url.path else path
                found = target.is_file()
                if found and url.fragment and target.suffix == ".html":
                    found = unquote(url.fragment) in ids(target)
                if not found:
                    broken.append(f"{path.name}: {url.geturl()}")
        assert not broken

    def test_loads_nothing_from_another_host(self, site):
        foreign = []
        for path in all_pages(site):
            for tag in page(path).select("[src], link[href]"):
                url = tag.get("src") or tag["href"]
                if urlsplit(url).netloc and tag.get("rel") != ["canonical"]:
                    foreign.append(f"{path.name}: {url}")
        for path in [*site.rglob("*.css"), *site.rglob("*.svg")]:
            text = path.read_text(encoding="utf-8")
            foreign += re.findall(r"(?:url\(|@import )['\"]?https?:[^)]*", text)
        assert not foreign

    def test_pictures_have_names(self, site):
        for path in all_pages(site):
            for image in page(path).select("img"):
                # On a card the link beside the picture has the name.
                on_card = image.find_parent(class_="lesson-card")
                assert image.get("alt") or (on_card and image["alt"] == ""), (path.name, image)
            for picture in page(path).select("svg[role=img]"):
                assert re.match(r"(Autograd g|G)raph with \d+ |Plot of ", picture["aria-label"])

    def test_ids_are_unique(self, site):
        for path in all_pages(site):
            found = [tag["id"] for tag in page(path).select("[id]")]
            assert len(found) == len(ids(path)), (path, {i for i in found if found.count(i) > 1})

    def test_has_a_description_of_its_own(self, site):
        descriptions = {}
        for path in all_pages(site):
            if path.name in ("404.html", "search.html", "genindex.html"):
                continue
            tag = page(path).select_one('meta[name="description"]')
            assert tag, path
            assert 40 <= len(tag["content"]) <= 320, (path, tag["content"])
            assert tag["content"] not in descriptions, (path, descriptions[tag["content"]])
            descriptions[tag["content"]] = path

    def test_prints_no_address_path_or_timing(self, site):
        forbidden = re.compile(
            r"0x[0-9a-f]{6,}|(?<!\.)\b\d{12,}\b(?!,)|/(?:home|root|tmp|Users|usr|__w)/|site-packages|[A-Z]:\\"
            r"|\b\d+(?:\.\d+)? ?(?:ms|µs|us|seconds?|minutes?)\b"
        )
        for path in all_pages(site):
            for output in outputs(path):
                assert not forbidden.search(output), (path.name, output)
            for picture in page(path).select(".graph-figure"):
                assert not re.search(r"\d{10,}", str(picture)), path.name

    def test_formulas_are_mathml(self, site):
        text = (site / PATHS["why_a_scalar"]).read_text(encoding="utf-8")
        assert "<math" in text
        for path in all_pages(site):
            assert not re.search(
                r"\\\(|\\\[|\\frac|mathjax(?!_ignore)", path.read_text(encoding="utf-8")
            )

    def test_names_link_to_their_reference(self, site):
        for lesson in LESSONS:
            links = [a["href"] for a in page(site / PATHS[lesson]).select("a[href^=http]")]
            assert any("docs.pytorch.org/docs/stable" in link for link in links), lesson
        code = page(site / PATHS["first_gradient"]).select(".highlight a")
        assert any(a["href"].endswith("torch.dot.html#torch.dot") for a in code)


class TestNavigation:
    @pytest.mark.parametrize("lesson", LESSONS)
    def test_lists_the_lessons_of_its_own_section_and_names_the_others(self, site, lesson):
        links = [a["href"] for a in page(site / PATHS[lesson]).select(".sidebar-tree a")]
        (section,) = (name for name in SECTIONS if lesson in SECTIONS[name])
        others = [name for name in SECTIONS if name != section]
        own = [f"{name}.html" if name != lesson else "#" for name in SECTIONS[section]]
        assert [link for link in links if link in own] == own
        sections = [link for link in links if re.fullmatch(r"\.\./\w+/.*", link)]
        assert sections == [f"../{name}/index.html" for name in others]


class TestGraphs:
    def test_legend_lists_the_roles_of_the_picture(self, site):
        for lesson in LESSONS:
            for figure in page(site / PATHS[lesson]).select(".graph-figure:has(svg)"):
                drawn = {g["class"][1] for g in figure.select("g.node")}
                legend = {li["class"][1] for li in figure.select(".graph-legend li")}
                assert legend == {f"graph-role-{role}" for role in drawn}

    def test_every_role_occurs_on_the_page_that_explains_them(self, site):
        soup = page(site / PATHS["read_the_picture"])
        roles = {group["class"][1] for group in soup.select("g.node")}
        assert roles == {"leaf", "operation", "output", "base", "saved"}

    def test_words_name_every_node(self, site):
        for lesson in LESSONS:
            for figure in page(site / PATHS[lesson]).select(".graph-figure:has(svg)"):
                assert len(figure.select(".graph-words li")) == len(figure.select("g.node"))

    def test_thumbnail_is_the_first_picture(self, site):
        for section, lessons in SECTIONS.items():
            cards = page(site / "lessons" / section / "index.html").select(".lesson-card")
            for card, lesson in zip(cards, lessons, strict=True):
                if lesson not in TAUGHT:
                    continue
                image = site / "lessons" / section / card.select_one("img")["src"]
                picture = page(site / PATHS[lesson]).select_one(".graph-figure svg, article img")
                if image.suffix == ".svg" and picture.name == "svg":
                    assert picture["aria-label"] in image.read_text(encoding="utf-8")
                else:
                    assert picture.name == "img"


class TestNotebooks:
    def test_hold_no_raw_markup(self, site):
        notebooks = sorted((site / "_downloads").glob("*/*.ipynb"))
        assert len(notebooks) == len(LESSONS)
        raw = re.compile(r"(?<!`):[a-z]+:`|^\s*\.\. \w+::", re.MULTILINE)
        for notebook in notebooks:
            for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "markdown":
                    assert not raw.search("".join(cell["source"])), (notebook.name, cell["source"])
