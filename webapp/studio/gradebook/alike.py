"""`sampan class similar`: which submissions of an assignment are alike, as a table in the terminal or as a file."""

from __future__ import annotations

import argparse
import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Any

from studio.i18n import HTML_LANGUAGE, of_terminal, t

from . import report
from .classroom import Classroom
from .similar import Pair

MOST_SIDES = 50  # pairs whose sources are in the file, the least likely ones first


def add_to(what: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's parser, next to the others of `sampan class`."""
    similar = what.add_parser(
        "similar", help="submissions that are alike beyond what the exercise makes alike"
    )
    similar.add_argument("folder", type=Path)
    similar.add_argument("assignment")
    similar.add_argument("notebook", nargs="?", help="one of its notebooks; without it, all of them")
    similar.add_argument(
        "--html", type=Path, metavar="FILE", help="also the two sources side by side, as a page"
    )
    similar.set_defaults(run=_similar)


def _similar(arguments: argparse.Namespace) -> int:
    try:
        classroom = Classroom(arguments.folder)
        known = classroom.assignments().get(arguments.assignment, [])
        chosen = [name for name in known if arguments.notebook in (None, name)]
        if not chosen:
            wanted = arguments.assignment + (f"/{arguments.notebook}" if arguments.notebook else "")
            raise ValueError(f"{classroom.name} has no {wanted!r}; there is {', '.join(known) or 'nothing'}")
        asyncio.run(_tell(classroom, arguments.assignment, chosen, arguments.html))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr, flush=True)
        return 2
    return 0


async def _tell(classroom: Classroom, assignment: str, notebooks: list[str], to: Path | None) -> None:
    told = []
    for notebook in notebooks:
        found = await report.ask(classroom, assignment, notebook)
        print(_table(notebook, found), flush=True)
        sides = {}
        for pair in found.pairs[:MOST_SIDES] if to is not None else ():
            sides[pair] = await report.ask(classroom, assignment, notebook, pair.first, pair.second)
        told.append((notebook, found, sides))
    if to is not None:
        to.write_text(as_html(classroom.name, assignment, told), "utf-8")
        print(to)


def _table(notebook: str, found: report.Report) -> str:
    say = partial(t, lang=of_terminal())
    lines = [f"{notebook}: {say('grading.alike_lead', count=len(found.compared))}"]
    if found.left_out:
        lines.append(f"{say('grading.alike_left_out')} {', '.join(found.left_out)}")
    if not found.pairs:
        return "\n".join([*lines, say("grading.no_pairs")])
    width = max(len(pair.first) + len(pair.second) + 3 for pair in found.pairs)
    rows = [
        f"  {f'{pair.first} · {pair.second}':{width}}  {pair.alike:5.0%}  {pair.bits:6.1f}"
        for pair in found.pairs
    ]
    head = f"{say('grading.pair')} · {say('grading.shared')} · {say('grading.rare')}"
    return "\n".join([*lines, f"  {head}", *rows])


def as_html(name: str, assignment: str, notebooks: list[tuple[str, report.Report, dict[Pair, Any]]]) -> str:
    """One page without scripts; the learners' code is in it as text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from studio.paths import TEMPLATES, stylesheet

    lang = of_terminal()
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES / "pages"), autoescape=True, undefined=StrictUndefined
    )
    return templates.get_template("similar.html").render(
        t=partial(t, lang=lang),
        html_lang=HTML_LANGUAGE[lang],
        name=name,
        assignment=assignment,
        notebooks=notebooks,
        styles=Markup(stylesheet()),
    )
