"""The navigation: the table of its entries, and what one visitor sees of it.

A new entry is one line of MENU, and a group with its name is another. A group of one visible entry is shown as a link,
a larger one as a menu that opens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_server.utils import url_path_join

from studio import i18n

if TYPE_CHECKING:
    from .base import StudioPage

Shown = Callable[["StudioPage"], bool]


def _in_a_studio(page: StudioPage) -> bool:
    return not page.settings.get("studio_hub")


def _at_the_service(page: StudioPage) -> bool:
    """Whether this is the grading service of a class, which has no pages for learning."""
    return not _in_a_studio(page)


def _in_a_class(page: StudioPage) -> bool:
    """Whether this is the Studio of a member of a class."""
    return bool(page.settings.get("studio_member"))


def _everywhere(page: StudioPage) -> bool:
    return True


def _for_teachers(page: StudioPage) -> bool:
    return page.user.teaches


def _for_admins(page: StudioPage) -> bool:
    return page.user.admin


@dataclass(frozen=True)
class Entry:
    """A page under /studio: `section` is the `section` of its handler, `name` and `about` are keys of the locale."""

    section: str
    name: str
    path: str
    about: str = ""
    shown: Shown = _in_a_studio


@dataclass(frozen=True)
class Group:
    """Entries under one name. `pages`: the pages that compute come first."""

    name: str
    entries: tuple[Entry, ...]
    pages: bool = False


@dataclass(frozen=True)
class Link:
    """An entry as a visitor sees it."""

    title: str
    address: str
    about: str
    current: bool


@dataclass(frozen=True)
class Menu:
    """A group as a visitor sees it."""

    title: str
    links: list[Link]

    @property
    def current(self) -> bool:
        return any(link.current for link in self.links)


# A path that begins with / is one of the server, not of the Studio.
MENU = (
    Group("navigation.home", (Entry("home", "frame.home", ""),)),
    Group("navigation.play", (), pages=True),
    Group(
        "navigation.learn",
        (
            Entry("courses", "frame.courses", "courses", "navigation.about.courses"),
            Entry("assignments", "frame.assignments", "assignments", "assignments.lead", _in_a_class),
            Entry("docs", "reference.title", "docs", "navigation.about.docs"),
        ),
    ),
    Group(
        "navigation.data",
        (
            Entry("datasets", "datasets.title", "datasets", "navigation.about.datasets"),
            Entry("models", "models.title", "models", "models.about"),
        ),
    ),
    Group(
        "competitions.title",
        (Entry("competitions", "competitions.title", "competitions", shown=_everywhere),),
    ),
    Group("frame.sessions", (Entry("sessions", "frame.sessions", "sessions"),)),
    Group("frame.grading", (Entry("grading", "frame.grading", "grading", shown=_for_teachers),)),
    Group("admin.title", (Entry("admin", "admin.title", "admin", shown=_for_admins),)),
    Group("frame.workbench", (Entry("lab", "frame.workbench", "/lab"),)),
    Group("navigation.my_studio", (Entry("my_studio", "navigation.my_studio", "", shown=_at_the_service),)),
)


def menus(page: StudioPage) -> list[Menu]:
    """The groups with an entry that the visitor of this page may open."""
    found = [Menu(i18n.t(group.name, page.language), list(_links(group, page))) for group in MENU]
    return [menu for menu in found if menu.links]


def _links(group: Group, page: StudioPage) -> Iterator[Link]:
    lang = page.language
    if group.pages:
        for one in page.settings["studio_pages"].listed():
            section = f"page/{one.name}"
            address = page.address("open", "page", one.name)
            yield Link(one.title(lang), address, one.plain(lang), page.section == section)
    for entry in group.entries:
        if entry.shown(page):
            about = i18n.t(entry.about, lang) if entry.about else ""
            yield Link(i18n.t(entry.name, lang), _address(entry, page), about, page.section == entry.section)


def _address(entry: Entry, page: StudioPage) -> str:
    if entry.section == "my_studio":
        return str(page.settings["studio_hub"])
    if entry.path.startswith("/"):
        return str(url_path_join(page.base_url, entry.path))
    return page.address(entry.path) if entry.path else page.address()
