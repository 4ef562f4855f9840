"""`sampan class terms` and `sampan class pack`: when an assignment is due and what being late costs; its copies as a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import get_args

from studio import moments
from studio.model_answers import When

from .terms import DAY_S, Late, Terms


def add_to(what: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parsers of both, below `sampan class`."""
    terms = what.add_parser("terms", help="show or set the terms of an assignment")
    terms.add_argument("folder", type=Path)
    terms.add_argument("assignment")
    terms.add_argument(
        "--opens", metavar="WHEN", help='such as "2026-12-01 08:00", in this machine\'s time zone'
    )
    terms.add_argument("--deadline", metavar="WHEN", help='"" for none')
    terms.add_argument("--late", choices=get_args(Late), help="refused, marked late, or with a penalty")
    terms.add_argument("--percent", type=float, help="of the points for each started day")
    terms.add_argument("--floor", type=float, help="percent of the points that are never lost")
    terms.add_argument("--attempts", type=int, help="hand-ins of each notebook, 0 for no limit")
    terms.add_argument(
        "--answers", choices=get_args(When), help="when the model answer of an exercise may be opened"
    )
    terms.add_argument("--failures", type=int, metavar="N", help="failed checks before that")
    terms.add_argument("--visible", choices=("yes", "no"))
    terms.add_argument(
        "--extend", action="append", default=[], metavar="LEARNER=DAYS", help="more days for one; 0 for none"
    )
    terms.set_defaults(run=_terms)
    pack = what.add_parser("pack", help="the learners' copies of an assignment as a zip file")
    pack.add_argument("folder", type=Path)
    pack.add_argument("assignment")
    pack.add_argument("--to", type=Path, default=Path("release.zip"))
    pack.set_defaults(run=_pack)


def _terms(arguments: argparse.Namespace) -> int:
    from . import lateness, terms
    from .classroom import Classroom

    try:
        classroom = Classroom(arguments.folder)
        if arguments.assignment not in classroom.assignments():
            raise ValueError(f"{classroom.name} has no assignment {arguments.assignment!r}")
        made = _changed(terms.of(classroom, arguments.assignment), arguments)
        if made != terms.of(classroom, arguments.assignment):
            lateness.change(classroom, arguments.assignment, lambda before: _changed(before, arguments))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr, flush=True)
        return 2
    for name in ("opens", "deadline"):
        moment = getattr(made, name)
        print(f"{name}: {moments.shown(moment) if moment else '-'}")
    for name in ("late", "percent", "floor", "attempts", "answers", "failures", "visible"):
        print(f"{name}: {getattr(made, name)}")
    for learner, seconds in sorted(made.extensions.items()):
        print(f"extension: {learner} {seconds / DAY_S:g} days")
    return 0


def _changed(before: Terms, arguments: argparse.Namespace) -> Terms:
    told = dict(vars(before))
    for name in ("late", "percent", "floor", "attempts", "answers", "failures"):
        if (value := getattr(arguments, name)) is not None:
            told[name] = value
    for name in ("opens", "deadline"):
        if (text := getattr(arguments, name)) is not None:
            told[name] = moments.parse(text)
    if arguments.visible:
        told["visible"] = arguments.visible == "yes"
    made = Terms(**told)
    for entry in arguments.extend:
        learner, found, days = entry.rpartition("=")
        if not found or not days.replace(".", "", 1).isdecimal():
            raise ValueError(f"--extend: expected LEARNER=DAYS, got {entry!r}")
        made = made.extended(learner, float(days) * DAY_S)
    return made


def _pack(arguments: argparse.Namespace) -> int:
    from .classroom import Classroom
    from .handout import packed

    try:
        arguments.to.write_bytes(packed(Classroom(arguments.folder), arguments.assignment))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr, flush=True)
        return 2
    print(arguments.to)
    return 0
