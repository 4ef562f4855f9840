"""What each visitor finds in the navigation, and that every entry of its table leads to a page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, get_args

import pytest

from studio import i18n
from studio.identity import Role, User
from studio.paths import PAGES
from studio.server import navigation
from studio.server.pages import PageShelf


class Visit:
    """What the navigation asks of a page's handler."""

    base_url = "/user/ada/"

    def __init__(self, *roles: Role, section: str = "home", lang: str = "en", hub: str = "") -> None:
        self.user = User("ada", frozenset(roles))
        self.section, self.language = section, lang
        pages = SimpleNamespace(listed=list) if hub else PageShelf(PAGES)
        self.settings = {"studio_pages": pages, **({"studio_hub": hub} if hub else {})}

    def address(self, *parts: str) -> str:
        return "/".join([f"{self.base_url}studio", *parts])


def menus(*roles: Role, **options: str) -> list[navigation.Menu]:
    visit: Any = Visit(*roles, **options)
    return navigation.menus(visit)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_each_page_that_computes_says_in_plain_words_what_it_is_for(lang: str) -> None:
    play = menus("learner", lang=lang)[1]
    assert [link.address for link in play.links] == [
        f"/user/ada/studio/open/page/{page.name}" for page in PageShelf(PAGES).listed()
    ]
    assert all(0 < len(link.about) <= 45 for link in play.links)


def test_one_row_holds_all_of_it() -> None:
    """At 1280 pixels there is space for about eighty letters, beside the name and the tools."""
    found = menus(*get_args(Role))
    assert len(found) <= 10 and sum(len(menu.title) for menu in found) <= 80


def test_only_teachers_find_grading() -> None:
    assert "Grading" not in [menu.title for menu in menus("learner")]
    assert "Grading" in [menu.title for menu in menus("learner", "teacher")]


def test_the_current_page_and_its_group_are_marked() -> None:
    found = menus("learner", section="page/tape")
    assert [menu.title for menu in found if menu.current] == ["Play"]
    assert [link.title for menu in found for link in menu.links if link.current] == ["Tape"]


def test_the_grading_service_has_its_own_pages_and_the_way_back() -> None:
    found = menus("teacher", section="grading", hub="/hub/user-redirect/studio")
    assert [menu.title for menu in menus("learner", hub="/hub")] == ["Competitions", "My Studio"]
    assert [(menu.title, menu.links[0].address, menu.current) for menu in found] == [
        ("Competitions", "/user/ada/studio/competitions", False),
        ("Grading", "/user/ada/studio/grading", True),
        ("My Studio", "/hub/user-redirect/studio", False),
    ]


def test_a_path_of_the_server_is_not_under_the_studio() -> None:
    assert menus("learner")[-1].links[0].address == "/user/ada/lab"
