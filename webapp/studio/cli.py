"""The `sampan` command. Light on purpose: a subcommand imports what it needs when it runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from studio.paths import WorkspaceError


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, got {text!r}")
    return int(text)


def _studio(arguments: argparse.Namespace) -> int:
    from studio.grading import bubble
    from studio.launch import launch

    if arguments.trust_learners:
        os.environ[bubble.TRUST] = "1"
    return launch(port=arguments.port, browser=not arguments.no_browser)


def parser() -> argparse.ArgumentParser:
    from studio.backup import commands as backup
    from studio.competitions import commands as competitions
    from studio.compute import commands as compute
    from studio.data import commands as data
    from studio.gradebook import commands as gradebook

    top = argparse.ArgumentParser(prog="sampan", description="A deep-learning framework to read and to use.")
    top.add_argument("--version", action="version", version=f"sampan {version('sampan')}")
    commands = top.add_subparsers(required=True, metavar="command")
    studio = commands.add_parser(
        "studio", help="start the Studio on this machine", description="Start the Studio on 127.0.0.1."
    )
    studio.add_argument(
        "--port", type=_port, help="exactly this port (without it: 8866, or the next one that is free)"
    )
    studio.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    studio.add_argument(
        "--trust-learners",
        action="store_true",
        help="check notebooks even where there is no sandbox for their code",
    )
    studio.set_defaults(run=_studio)
    compute.add_to(commands)
    gradebook.add_to(commands)
    data.add_to(commands)
    competitions.add_to(commands)
    backup.add_to(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    try:
        arguments = parser().parse_args(argv)
        status: int = arguments.run(arguments)
    except WorkspaceError as error:
        print(f"The workspace cannot be used: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("", "sampan", "studio"):
            raise
        print(
            f"The Studio needs the package {error.name}. To install all that it needs: pip install 'sampan[studio]'",
            file=sys.stderr,
        )
        return 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
