"""Every page in a narrow, dark window, from a host that sends our headers; all other hosts blocked."""

import pytest
from sweep import NARROW, Chromium, sweep


@pytest.fixture(scope="module")
def swept(browser, site):
    """What was found: the page, the look, the check and the finding; and the cookies."""
    window = Chromium(browser)
    found = sweep(site, window, NARROW)
    cookies = window.context.cookies()
    window.close()
    return [(name, *problem) for name, problems in found.items() for problem in problems], cookies


def test_asks_no_other_host_sets_no_cookie_and_logs_no_error(swept):
    found, cookies = swept
    assert not [problem for problem in found if problem[1] == "any"]
    assert cookies == []


def test_is_readable(swept):
    """Headings, names of links and pictures, contrast, sizes of targets, nothing sideways."""
    found, _ = swept
    assert not [problem for problem in found if problem[1] != "any"]
