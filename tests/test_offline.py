"""The archive of the whole site, unpacked and read without a server."""

import os
import re
import zipfile

import pytest
from offline_zip import ARCHIVE, FOLDER, OLDEST_DATE, pack, unchanged


def test_the_archive_is_the_site(site):
    with zipfile.ZipFile(site / ARCHIVE) as archive:
        members = archive.infolist()
    names = [member.filename for member in members]
    assert f"{FOLDER}/index.html" in names
    assert f"{FOLDER}/{ARCHIVE}" not in names
    assert {member.date_time for member in members} == {OLDEST_DATE}
    pages = {f"{FOLDER}/{path.relative_to(site).as_posix()}" for path in site.rglob("*.html")}
    assert pages - set(names) == {f"{FOLDER}/404.html"}


def test_its_page_says_how_large_it_is(site):
    page = (site / "offline.html").read_text()
    said = float(re.search(r'offline-zip-size">([\d.]+) MB<', page)[1])
    assert said == pytest.approx((site / ARCHIVE).stat().st_size / 1e6, abs=0.06)


def test_it_works_where_it_was_unpacked(browser, site, tmp_path):
    with zipfile.ZipFile(site / ARCHIVE) as archive:
        archive.extractall(tmp_path)
    folder, problems = tmp_path / FOLDER, []
    context = browser.new_context()
    tab = context.new_page()
    tab.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    tab.on("request", lambda r: r.url.startswith(folder.as_uri()) or problems.append(r.url))
    tab.goto((folder / "lessons" / "first_gradients" / "first_gradient.html").as_uri())
    tab.get_by_role("button", name="Next step", exact=True).first.click()
    assert tab.locator(".player-count").first.inner_text().startswith("Step 2")
    tab.goto((folder / "search.html").as_uri() + "?q=retain_grad")
    tab.wait_for_selector("#search-results li a")
    context.close()
    assert problems == []


class TestUnchanged:
    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "page.html").write_text('<span class="offline-zip-size">?</span>')
        (tmp_path / "style.css").write_text("a{}")
        return tmp_path

    @pytest.fixture
    def file(self, folder):
        file = folder / ARCHIVE
        file.write_bytes(pack(folder, ["page.html"]))
        return file

    def later(self, path, file):
        made = file.stat().st_mtime + 5
        os.utime(path, (made, made))

    def test_a_new_archive_is_up_to_date(self, folder, file):
        assert unchanged(folder, file)
        assert file.read_bytes() == pack(folder, ["page.html"])

    def test_a_file_that_was_written_again_with_its_content_is_no_change(self, folder, file):
        self.later(folder / "style.css", file)
        assert unchanged(folder, file)

    def test_a_change_of_the_same_length_is_seen(self, folder, file):
        (folder / "style.css").write_text("b{}")
        self.later(folder / "style.css", file)
        assert not unchanged(folder, file)

    def test_a_file_that_came_or_went_is_seen(self, folder, file):
        (folder / "new.html").write_text("")
        assert not unchanged(folder, file)
        (folder / "new.html").unlink()
        (folder / "style.css").unlink()
        assert not unchanged(folder, file)
