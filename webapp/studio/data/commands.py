"""`sampan data`: which data sets there are, and the card of one."""

from __future__ import annotations

import argparse
import sys
from argparse import _SubParsersAction

NOT_HERE = 1  # exit status: an unknown name, or a set whose files are not on this machine


def add_to(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parser of the command."""
    data = commands.add_parser(
        "data", help="data sets: list, show", description="What can be loaded by name."
    )
    what = data.add_subparsers(required=True, metavar="what")
    what.add_parser("list", help="all names, and which are on this machine").set_defaults(run=_list)
    show = what.add_parser("show", help="the card of one, and how to get it")
    show.add_argument("name")
    show.set_defaults(run=_show)


def _list(arguments: argparse.Namespace) -> int:
    from .look import cards

    for card in cards():
        here = "here" if card["present"] else "-"
        print(f"{card['name']:26}{here:6}{card['train'] + card['test']:>10,}  {card['title']}")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from sampan import datasets

    from .look import cards

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
