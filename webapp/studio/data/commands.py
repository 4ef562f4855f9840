"""`sampan data`: which data sets there are, the card of one, and adding and removing own ones."""

from __future__ import annotations

import argparse
import asyncio
import sys
from argparse import _SubParsersAction
from pathlib import Path
from typing import TYPE_CHECKING

from studio.i18n import of_terminal
from studio.paths import workspace

if TYPE_CHECKING:
    from studio.uploads.store import Store

NOT_HERE = 1  # exit status: an unknown name, or a set whose files are not on this machine


def add_to(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parser of the command."""
    data = commands.add_parser(
        "data", help="data sets: list, show, add, remove", description="What can be loaded by name."
    )
    what = data.add_subparsers(required=True, metavar="what")
    what.add_parser("list", help="all names, and which are on this machine").set_defaults(run=_list)
    show = what.add_parser("show", help="the card of one, and how to get it")
    show.add_argument("name")
    show.set_defaults(run=_show)
    add = what.add_parser("add", help="add an own one, or a new version of it")
    add.add_argument(
        "file", type=Path, help="CSV, Parquet, NPY, NPZ, WAV, or a zip file of images, sounds, tables"
    )
    add.add_argument("--name", required=True, help="for loading it: lower-case letters, digits, underscores")
    for word in ("title", "source", "licence", "about"):
        add.add_argument(f"--{word}", default="", help="a part of its card")
    _of_class(add)
    add.set_defaults(run=_add)
    remove = what.add_parser("remove", help="remove a version of an own one")
    remove.add_argument("name")
    remove.add_argument("version", help="twelve digits; sampan data list names them")
    _of_class(remove)
    remove.set_defaults(run=_remove)


def _of_class(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--class", dest="folder", type=Path, help="the folder of a class: all its members can load the set"
    )


def _store(folder: Path | None) -> Store:
    from studio.uploads.places import FOLDER
    from studio.uploads.store import Store, of_class

    if folder is None:
        return Store(workspace() / FOLDER)
    from studio.hub.folder import ClassFolder

    return of_class(ClassFolder(folder.resolve()).shared)


def _add(arguments: argparse.Namespace) -> int:
    from studio.uploads.adding import add
    from studio.uploads.refusal import Refusal

    words = {word: getattr(arguments, word) for word in ("title", "source", "licence", "about")}
    try:
        card = asyncio.run(add(_store(arguments.folder), arguments.file, arguments.name, words))
    except Refusal as refusal:
        print(refusal.words(of_terminal()), file=sys.stderr)
        return NOT_HERE
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return NOT_HERE
    print(f'sampan.datasets.load("{card["name"]}", version="{card["version"]}")')
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    store = _store(arguments.folder)
    card = store.card(arguments.name, arguments.version)
    if card is None:
        print(f"There is no uploaded data set {arguments.name!r} {arguments.version!r}.", file=sys.stderr)
        return NOT_HERE
    store.remove(card)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from .look import cards

    for card in cards():
        here = "here" if card["present"] else "-"
        print(f"{card['name']:26}{here:6}{card['train'] + card['test']:>10,}  {card['title']}")
    for name, versions in _store(None).sets().items():
        for card in versions:
            print(f"{name:26}{'here':6}{card['items']:>10,}  {card['title']} ({card['version']})")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from sampan import datasets

    from .look import cards

    own = _store(None).card(arguments.name)
    if own is not None:
        for key in (
            "name",
            "version",
            "sha256",
            "title",
            "about",
            "source",
            "licence",
            "kind",
            "items",
            "bytes",
        ):
            print(f"{key:10}{own[key]}")
        return 0
    card = next((card for card in cards() if card["name"] == arguments.name), None)
    if card is None:
        print(f"There is no data set {arguments.name!r}; sampan data list names all.", file=sys.stderr)
        return NOT_HERE
    for key in ("name", "version", "title", "about", "source", "licence", "citation", "line"):
        print(f"{key:10}{card[key]}")
    print(f"{'items':10}{card['train']:,} to train on, {card['test']:,} to test on; {card['bytes']:,} bytes")
    if not card["present"]:
        print(datasets.how_to_get(datasets.card(arguments.name)), file=sys.stderr)
        return NOT_HERE
    return 0
