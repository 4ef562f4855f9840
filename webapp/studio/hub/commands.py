"""`sampan class serve` and `sampan class roster`."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from studio.paths import NOTEBOOKS

if TYPE_CHECKING:
    from .roster import Person


def add_to(what: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parsers of both, below `sampan class`."""
    serve = what.add_parser(
        "serve",
        help="serve a class with JupyterHub",
        description="Serve a class: each learner has an own server, run by the learner's own account of this machine.",
    )
    serve.add_argument("folder", type=Path, help="the class; its roster must be imported")
    serve.add_argument(
        "--course", type=Path, default=NOTEBOOKS, help="instructor's notebooks with their checks/"
    )
    serve.add_argument("--ip", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="8000")
    serve.add_argument("--certificate", default="", metavar="FILE", help="TLS, with --key")
    serve.add_argument("--key", default="", metavar="FILE")
    serve.add_argument(
        "--behind-tls", action="store_true", help="another server encrypts what comes from the network"
    )
    serve.add_argument(
        "--subdomains",
        default="",
        metavar="URL",
        help="a public URL: learners' servers are below it, each at its own origin",
    )
    serve.add_argument(
        "--trial",
        action="store_true",
        help="without root: everyone's code runs as your account (not for a class)",
    )
    serve.set_defaults(run=_serve)
    people = what.add_parser("roster", help="import who learns and who teaches")
    people.add_argument("folder", type=Path, help="the class; created if missing")
    people.add_argument("csv", type=Path, help="columns: name, first_name, last_name, email, role")
    people.add_argument(
        "--create-accounts",
        action="store_true",
        help="make an account on this machine for each who has none (root)",
    )
    people.set_defaults(run=_roster)


def _serve(arguments: argparse.Namespace) -> int:
    from .serve import Options, serve

    given = {name: value for name, value in vars(arguments).items() if name in Options.__annotations__}
    try:
        return serve(Options(**given))
    except (ValueError, OSError) as error:
        return _fail(error)


def _roster(arguments: argparse.Namespace) -> int:
    from . import accounts, roster
    from .folder import ClassFolder

    try:
        folder = ClassFolder(arguments.folder.resolve())
        people = roster.read_csv(arguments.csv)
        folder.root.mkdir(parents=True, exist_ok=True)
        roster.save(folder.roster, people)
        print(f"{folder.roster}: {_count(people)}")
        if arguments.create_accounts:
            if os.geteuid() != 0:
                raise ValueError("only root can make accounts")
            passwords = folder.root / f"passwords-{datetime.now():%Y-%m-%d-%H%M%S}.csv"
            made = accounts.create(people, passwords)
            print(f"{len(made)} accounts made" + (f"; their first passwords: {passwords}" if made else ""))
    except (ValueError, OSError) as error:
        return _fail(error)
    return 0


def _count(people: list[Person]) -> str:
    from .roster import named

    return ", ".join(
        f"{len(named(people, role))} {role}s"
        for role in ("learner", "teacher", "admin")
        if named(people, role)
    )


def _fail(error: Exception) -> int:
    print(error, file=sys.stderr, flush=True)
    return 2
