"""What a page looks like to a reader: its head and end, the way there, cards, marks, contrast."""

import re
from urllib.parse import unquote

import pytest
import tiny
from docutils import nodes
from docutils.core import publish_doctree
from edit_links import edit_link, source
from lesson_header import minutes, section_title
from pages import all_pages, page
from reading_order import LESSONS, SECTIONS
from run_bar import colab_link

PATHS = {
    lesson: f"lessons/{section}/{lesson}.html"
    for section in SECTIONS
    for lesson in SECTIONS[section]
}
# Reading a page takes a quarter of a second: the ends of each section stand for the rest.
SOME = {name: list(dict.fromkeys((lessons[0], lessons[-1]))) for name, lessons in SECTIONS.items()}
SOME_LESSONS = [lesson for lessons in SOME.values() for lesson in lessons]
READ_IN_ORDER = {name: lessons for name, lessons in SECTIONS.items() if name != "problems"}
COUNTED = [lesson for lessons in READ_IN_ORDER.values() for lesson in lessons]


def heading(path) -> str:
    return page(path).h1.get_text().rstrip("#¶")


def section_page(site, section):
    return site / "lessons" / section / "index.html"


class TestHead:
    def test_says_where_the_lesson_stands(self, site):
        course = [name for section, names in SECTIONS.items() for name in names][
            : -len(SECTIONS["problems"])
        ]
        for section in SECTIONS:
            for lesson in SOME[section]:
                place = page(site / PATHS[lesson]).select_one(".lesson-facts .lesson-position")
                if section == "problems":
                    assert place is None
                    continue
                number = course.index(lesson) + 1
                title = heading(section_page(site, section))
                assert place.get_text() == f"Lesson {number} of {len(course)}, in {title}."

    def test_says_how_long_it_takes(self, site):
        for lesson in SOME_LESSONS:
            time = page(site / PATHS[lesson]).select_one(".lesson-facts .lesson-time").get_text()
            assert 2 <= int(re.fullmatch(r"(\d+) minutes to read\.", time)[1]) <= 20, lesson

    def test_counts_words_and_lines_of_code(self):
        prose = publish_doctree("Title\n=====\n\n" + "word " * 599)
        assert minutes(prose) == 3
        prose += nodes.literal_block("", "x = 1\n\n" * 25)
        assert minutes(prose) == 4
        assert minutes(publish_doctree("Short.")) == 1

    def test_a_section_is_named_by_its_first_heading(self):
        assert section_title("\nKinks and ties\n--------------\n\nText.\n") == "Kinks and ties"

    def test_leads_to_the_downloads(self, site):
        for lesson in SOME_LESSONS:
            soup = page(site / PATHS[lesson])
            target = soup.select_one(".lesson-facts a")["href"].removeprefix("#")
            assert "run-bar" in soup.find(id=target)["class"]


class TestRunBar:
    def test_offers_script_notebook_and_both_under_names_that_make_sense_alone(self, site):
        for lesson in SOME_LESSONS:
            links = page(site / PATHS[lesson]).select(".run-bar li a")
            assert [link.get_text() for link in links] == [
                f"Download the script {lesson}.py",
                f"Download the notebook {lesson}.ipynb",
                f"Download both in one archive, {lesson}.zip",
            ]
            for link in links:
                name = link.get_text().split()[-1]
                assert (site / PATHS[lesson]).parent.joinpath(link["href"]).resolve().is_file()
                assert unquote(link["href"]).endswith(f"/{name}")

    def test_says_how_to_run_the_script(self, site):
        for lesson in SOME_LESSONS:
            commands = page(site / PATHS[lesson]).select(".run-bar code")
            assert [c.get_text() for c in commands] == [
                f"python {lesson}.py",
                f"uv run {lesson}.py",
            ]

    def test_all_lessons_are_offered_as_archives(self, site):
        links = page(site / "lessons" / "index.html").select(".run-bar li a")
        names = [link.get_text() for link in links]
        assert re.fullmatch(
            r"Download all scripts in one archive, lessons_python\.zip \(\d\.\d MB\)", names[0]
        )
        assert re.fullmatch(
            r"Download all notebooks in one archive, lessons_jupyter\.zip \(\d\.\d MB\)", names[1]
        )

    def test_nothing_is_left_of_the_gallerys_own(self, site):
        for path in all_pages(site):
            text = path.read_text(encoding="utf-8")
            assert not re.search('class="[^"]*sphx-glr-(download|footer|thumb)', text), path

    def test_colab_needs_a_repository_on_github_and_a_branch(self):
        repository = "https://github.com/someone/autograd"
        assert colab_link(repository, "site", "ab/first.ipynb") == (
            "https://colab.research.google.com/github/someone/autograd/blob/site/"
            "_downloads/ab/first.ipynb"
        )
        assert not colab_link(repository, "", "ab/first.ipynb")
        assert not colab_link("https://gitlab.com/someone/autograd", "site", "ab/first.ipynb")
        assert not colab_link("", "site", "ab/first.ipynb")


class TestWay:
    def test_breadcrumbs_lead_from_home_to_the_section(self, site):
        for section, lessons in SOME.items():
            way = [
                site / "index.html",
                site / "lessons" / "index.html",
                section_page(site, section),
            ]
            for lesson in lessons:
                path = site / PATHS[lesson]
                links = page(path).select('nav[aria-label="Breadcrumbs"] ol a')
                assert [link.get_text() for link in links] == ["Home", *map(heading, way[1:])]
                assert [(path.parent / link["href"]).resolve() for link in links] == [
                    target.resolve() for target in way
                ]

    def test_home_has_none(self, site):
        assert not page(site / "index.html").select(".breadcrumbs")

    def test_neighbours_are_a_landmark_with_the_title_of_the_next_page(self, site):
        """tests/test_site.py follows them through the whole reading order."""
        for lesson in SOME_LESSONS:
            path = site / PATHS[lesson]
            link = page(path).select_one(
                '[role=navigation][aria-label="Previous and next page"] .next-page'
            )
            title = heading((path.parent / link["href"]).resolve())
            assert link.select_one(".title").get_text() == title


class TestEditLinks:
    LESSON = "lessons/kinks/ties"

    @pytest.mark.parametrize(
        ("docname", "file"),
        [
            ("contribute/index", "docs/contribute/index.md"),
            ("lessons/index", "examples/GALLERY_HEADER.rst"),
            ("lessons/kinks/index", "examples/kinks/GALLERY_HEADER.rst"),
            (LESSON, "examples/kinks/ties.py"),
        ],
    )
    def test_lead_to_what_an_author_edits(self, docname, file):
        suffix = ".rst" if docname.startswith("lessons") else ".md"
        assert source(docname, suffix, "lessons", {self.LESSON}) == file

    def test_know_two_hosts(self):
        assert edit_link("https://github.com/a/b/", "main", "x.md") == (
            "https://github.com/a/b/edit/main/x.md"
        )
        assert edit_link("https://gitlab.com/a/b", "main", "x.md") == (
            "https://gitlab.com/a/b/-/edit/main/x.md"
        )

    def test_stand_nowhere_unless_configured(self, site):
        for path in all_pages(site):
            text = path.read_text(encoding="utf-8")
            assert 'class="edit-this-page"' not in text
            assert "colab.research" not in text


class TestHome:
    def test_has_three_doors_and_the_live_figure(self, site):
        soup = page(site / "index.html")
        doors = soup.select(".doors > ul > li")
        assert [door.a["href"] for door in doors] == [
            "lessons/index.html",
            "fix.html",
            "kinks.html",
        ]
        names = [link.get_text() for link in soup.select(".doors a")]
        assert len(set(names)) == len(names)
        assert soup.select(".graph-figure svg .node")


class TestCards:
    def test_stand_in_reading_order_with_a_title_a_sentence_and_a_picture(self, site):
        overview = page(site / "lessons" / "index.html").select("ol.lesson-cards")
        numbers = []
        for (section, lessons), cards in zip(SECTIONS.items(), overview, strict=True):
            own = page(section_page(site, section)).select("ol.lesson-cards > li")
            for shown in (cards.select("li"), own):
                named = [card.a["href"].split("/")[-1] for card in shown]
                assert named == [f"{lesson}.html" for lesson in lessons]
                for card in shown:
                    assert len(card.select_one(".lesson-card-goal").get_text()) > 40
                    # A problem page draws seldom.
                    assert bool(card.img) == (section != "problems")
                    # Counted through all sections.
                    number = card.select_one(".lesson-card-number")
                    numbers.append(number and int(number.get_text()))
        course = [n for n in numbers if n]
        assert sorted(set(course)) == list(range(1, len(course) // 2 + 1))

    def test_say_what_the_lesson_itself_says(self, site):
        for section, lessons in SOME.items():
            cards = page(section_page(site, section)).select(".lesson-card")
            said = {card.a["href"]: card.select_one(".lesson-card-goal") for card in cards}
            for lesson in lessons:
                goal = page(site / PATHS[lesson]).select_one(".lesson-facts + p").get_text()
                assert said[f"{lesson}.html"].get_text() == " ".join(goal.split())


class TestMark:
    def test_pages_have_the_icon(self, site):
        icon = page(site / PATHS[LESSONS[0]]).select_one('link[rel="shortcut icon"]')["href"]
        text = ((site / PATHS[LESSONS[0]]).parent / icon.partition("?")[0]).read_text()
        assert text.startswith("<svg")
        assert "prefers-color-scheme: dark" in text

    def test_the_sidebar_has_the_mark_and_the_name(self, site):
        for path in (site / "index.html", site / PATHS[LESSONS[0]], site / "404.html"):
            brand = page(path).select_one("a.sidebar-brand")
            assert brand.get_text(strip=True) == "Autograd by Example"
            assert brand.svg["aria-hidden"] == "true"


@pytest.fixture(scope="module")
def tab(browser, site):
    context = browser.new_context()
    yield context.new_page()
    context.close()


class TestProgress:
    def test_marks_are_kept_shown_and_forgotten(self, site, tab):
        tab.goto((site / PATHS["first_gradient"]).as_uri())
        button = tab.get_by_role("button", name="Mark as done")
        assert button.get_attribute("aria-pressed") == "false"
        button.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        assert (
            tab.locator(".lesson-progress [role=status]").inner_text() == "Kept in this browser."
        )

        # A second press takes the mark back.
        button.press("Enter")
        tab.reload()
        assert button.get_attribute("aria-pressed") == "false"
        button.press("Enter")

        overview = (site / "lessons" / "index.html").as_uri()
        tab.goto(overview)
        count = tab.locator(".lesson-progress [role=status]")
        assert count.inner_text() == f"1 of {len(COUNTED)} lessons done."
        done = tab.locator(".lesson-card:has(.lesson-done)")
        assert done.locator("a").all_inner_texts() == ["Get a first gradient"]

        tab.get_by_role("button", name="Forget my progress").click()
        assert count.inner_text() == f"0 of {len(COUNTED)} lessons done."
        assert done.count() == 0
        assert tab.evaluate("localStorage.length") == 0
        # With nothing to forget there is no such button.
        tab.goto(overview)
        assert not tab.get_by_role("button", name="Forget my progress").is_visible()

    def test_without_a_store_there_is_no_button_and_no_error(self, browser, site):
        context = browser.new_context()
        # Only what our script asks for: the theme's own asks for the store without care.
        context.add_init_script(
            "const get = Storage.prototype.getItem;"
            "Storage.prototype.getItem = function (key) {"
            " if (key === 'autograd-by-example/done')"
            " throw new DOMException('denied', 'SecurityError');"
            " return get.call(this, key) }"
        )
        tab = context.new_page()
        errors = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto((site / PATHS["ties"]).as_uri())
        assert tab.get_by_role("button", name="Mark as done").count() == 0
        tab.goto((site / "lessons" / "index.html").as_uri())
        assert tab.get_by_role("button", name="Forget my progress").count() == 0
        assert tab.locator(".lesson-card").first.is_visible()
        context.close()
        assert errors == []


class TestContrast:
    def test_body_text_is_seven_to_one(self, site, tab):
        for name in ("index.html", PATHS["ties"], "misconceptions.html"):
            tab.goto((site / name).as_uri())
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                low = tab.evaluate(CONTRAST, "article p, article li, article h1, article h2")
                assert low == [], (name, scheme)


# The texts of elements whose colour and ground are less than 7 : 1 apart. A ground may be
# transparent: then it is that of the element around it.
CONTRAST = """selector => {
  const light = color => {
    const parts = color.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ground = element => {
    const color = getComputedStyle(element).backgroundColor;
    return color.endsWith(", 0)") ? ground(element.parentElement) : color;
  };
  return [...document.querySelectorAll(selector)].flatMap(box => [box, ...box.querySelectorAll("a")])
    .filter(box => box.checkVisibility() && !box.matches(".lesson-facts, .lesson-card-goal"))
    .filter(box => {
      const [a, b] = [light(getComputedStyle(box).color), light(ground(box))].sort((a, b) => a - b);
      return (b + 0.05) / (a + 0.05) < 7;
    }).map(box => box.outerHTML.slice(0, 200));
}"""


def test_a_tiny_gallery_gets_links_to_its_repository(tmp_path):
    """Where a repository is configured, a page of Markdown or reST leads to its own file."""
    (tmp_path / "templates").mkdir()
    conf = (
        'extensions = ["edit_links"]\nrepository_url = "https://github.com/a/b"\n'
        'sphinx_gallery_conf = {"gallery_dirs": "lessons", "examples_dirs": "examples"}\n'
        'templates_path = ["templates"]\n'
    )
    (tmp_path / "templates" / "layout.html").write_text('<a href="{{ edit_link }}">Edit</a>')
    status, output = tiny.build(tmp_path, conf, index="Home\n====\n\nText.\n")
    assert status == 0, output
    expected = "https://github.com/a/b/edit/main/docs/index.rst"
    assert tiny.soup(tmp_path).a["href"] == expected
