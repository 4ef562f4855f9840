"""`sampan backup`, `sampan restore` and `sampan class backup`."""

from __future__ import annotations

import argparse
import sys
from argparse import _SubParsersAction
from pathlib import Path
from typing import TYPE_CHECKING

from studio.figures import size
from studio.i18n import of_terminal, t
from studio.paths import workspace

if TYPE_CHECKING:
    from .archive import Manifest

REFUSED = 1  # exit status


def add_to(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parsers of the first two."""
    backup = commands.add_parser(
        "backup", help="all state of the workspace in one file", description="While the Studio runs or not."
    )
    backup.add_argument("file", type=Path, help="must not exist; readable only by you")
    backup.set_defaults(run=_workspace)
    restore = commands.add_parser("restore", help="a backup into a new folder, in today's form")
    restore.add_argument("file", type=Path)
    restore.add_argument("folder", type=Path, nargs="?", help="missing or empty")
    restore.add_argument("--check", action="store_true", help="only compare the file with its checksums")
    restore.set_defaults(run=_restore)


def add_to_class(what: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parser of `sampan class backup`."""
    backup = what.add_parser("backup", help="all state of a class in one file")
    backup.add_argument("folder", type=Path, help="the class, of `sampan class serve` or `sampan grade`")
    backup.add_argument("file", type=Path, help="must not exist; readable only by you")
    backup.add_argument(
        "--with-keys", action="store_true", help="also the key that signs receipts; keep the file secret"
    )
    backup.set_defaults(run=_class)


def _workspace(arguments: argparse.Namespace) -> int:
    return _made(workspace(), arguments.file, "workspace")


def _class(arguments: argparse.Namespace) -> int:
    return _made(arguments.folder, arguments.file, "class", arguments.with_keys)


def _made(folder: Path, file: Path, kind: str, with_keys: bool = False) -> int:
    from .archive import BackupError, back_up

    try:
        told = back_up(folder, file, kind, with_keys)  # type: ignore[arg-type]  # one of the two kinds
    except (BackupError, OSError) as error:
        return _fail(error)
    _say("made", told, file=file)
    for name in told.left_out:
        print(f"  {t('backup.left_out', of_terminal(), name=name)}")
    return 0


def _restore(arguments: argparse.Namespace) -> int:
    from .archive import BackupError, check, restore

    if arguments.check == (arguments.folder is not None):
        return _fail(ValueError("expected either a folder or --check"))
    try:
        if arguments.check:
            _say("good", check(arguments.file), file=arguments.file)
            return 0
        told, migrated = restore(arguments.file, arguments.folder)
    except (BackupError, OSError) as error:
        return _fail(error)
    _say("restored", told, file=arguments.folder)
    for name in migrated:
        print(f"  {t('backup.migrated', of_terminal(), name=name)}")
    return 0


def _say(key: str, told: Manifest, file: Path) -> None:
    facts = {"file": file, "count": f"{len(told.files):,}", "size": size(told.bytes)}
    print(t(f"backup.{key}", of_terminal(), **facts))


def _fail(error: Exception) -> int:
    print(error, file=sys.stderr)
    return REFUSED
