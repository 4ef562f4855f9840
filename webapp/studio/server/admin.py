"""The page "Admin": the state of the machine and of the Studio, errors of the last day, and backups. Only for admins."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from tornado import web

from studio import processes
from studio.backup import states
from studio.compute.lease import Store
from studio.paths import state_folder

from . import journal
from .base import StudioPage

BACKUPS = "backups"  # in the state folder
NOTES_SHOWN = 50
MAKING_S = 3600.0
BACKUP_NAME = r"(?P<file>[a-z]+-[0-9]{8}-[0-9]{6}\.sampan)"


@dataclass(frozen=True)
class Area:
    """A part of the disk: `name` is a folder or a database, relative to the workspace."""

    name: str
    bytes: int


@dataclass
class Studio:
    """What an admin administers: the folder of a workspace, or of a class, and how a backup of it is made.

    `kind`: "workspace" or "class". `made`: the backup that is under way, or the last one that was tried."""

    home: Path
    kind: str
    store: Store
    state: Path
    making: asyncio.Task[str] | None = None

    @property
    def backups(self) -> Path:
        return self.state / BACKUPS

    def command(self, out: Path) -> list[str]:
        """The program that makes a backup, without the rights that this process does not have."""
        program = [sys.executable, "-m", "studio.cli"]
        return [
            *program,
            *(["class", "backup", str(self.home)] if self.kind == "class" else ["backup"]),
            str(out),
        ]

    def begin(self) -> None:
        """Make a backup, unless one is being made."""
        if self.making is None or self.making.done():
            self.making = asyncio.create_task(self._make())

    @property
    def busy(self) -> bool:
        return self.making is not None and not self.making.done()

    @property
    def failed(self) -> str:
        """Why the last backup failed; "" if it did not."""
        if self.making is None or not self.making.done() or self.making.cancelled():
            return ""
        return self.making.result()

    async def _make(self) -> str:
        """What the program said if it failed."""
        self.backups.mkdir(exist_ok=True, mode=0o700)
        moment = datetime.now()
        out = self.backups / f"{self.kind}-{moment:%Y%m%d-%H%M%S}.sampan"
        process = await processes.start(self.command(out))
        words = b""
        try:
            async with asyncio.timeout(MAKING_S):
                _, words = await process.communicate()
        except TimeoutError:
            words = b"it took too long"
        finally:
            await processes.stop(process)
        return "" if process.returncode == 0 else words.decode(errors="replace").strip()[-500:] or "?"

    def made(self) -> list[tuple[str, int, float]]:
        """Name, bytes and time of each backup, the newest first."""
        found = [(path.name, path.stat()) for path in self.backups.glob("*.sampan")]
        return sorted(((name, s.st_size, s.st_mtime) for name, s in found), key=lambda one: -one[2])

    def areas(self) -> list[Area]:
        """The folders of the workspace and of its state by what they take."""
        folders = [path for path in self.home.iterdir() if path.is_dir() and path != self.state]
        folders += [path for path in self.state.iterdir() if path.is_dir()] if self.state.is_dir() else []
        found = [Area(path.relative_to(self.home).as_posix(), _bytes(path)) for path in folders]
        return sorted(found, key=lambda area: -area.bytes)

    def databases(self) -> list[Area]:
        """The databases among the states."""
        found = []
        for path in sorted(self.home.rglob("*")):
            name = path.relative_to(self.home).as_posix()
            state = states.of(name)
            if state is not None and state.copied == "database" and path.is_file():
                journals = (Path(f"{path}-wal"), path)
                found.append(Area(name, sum(one.stat().st_size for one in journals if one.exists())))
        return found

    def look(self, warm: Callable[[], tuple[int, int] | None]) -> dict[str, Any]:
        """All that the page shows. Blocks."""
        disk, memory = psutil.disk_usage(str(self.home)), psutil.virtual_memory()
        leases = self.store.leases()
        return {
            "facts": {
                "version": f"{version('sampan')} (Python {platform.python_version()})",
                "host": f"{platform.system()} {platform.release()}, {os.cpu_count()} x {platform.machine()}",
                "up": time.time() - psutil.Process().create_time(),
                "load": " ".join(f"{load:.1f}" for load in os.getloadavg()),
                "memory": (memory.available, memory.total),
                "disk": (disk.free, disk.total),
                "own": psutil.Process().memory_info().rss,
            },
            "areas": self.areas(),
            "databases": self.databases(),
            "leases": leases,
            "queued": len(self.store.queue()),
            "warm": warm(),
            "backups": self.made(),
            "notes": journal.read(self.state)[:NOTES_SHOWN],
        }


def _bytes(folder: Path) -> int:
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except FileNotFoundError:  # removed meanwhile
                continue
    return total


def warm_process(state: Path) -> tuple[int, int] | None:
    """Number and memory of the warm process that kernels are forked from, a child of this process; None without one."""
    for child in psutil.Process().children():
        try:
            if "studio.compute.zygote.server" in child.cmdline() and str(state) in " ".join(child.cmdline()):
                return child.pid, child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return None


class AdminPage(StudioPage):
    section = "admin"

    def initialize(self, studio: Studio) -> None:
        self.studio = studio

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await super().prepare(*args, **kwargs)
        if not self._finished and not self.user.admin:
            raise web.HTTPError(403)


class Overview(AdminPage):
    """/studio/admin, and /studio/admin/live: the part that is refreshed while a backup is made."""

    @web.authenticated
    async def get(self, live: str = "") -> None:
        told = await asyncio.to_thread(self.studio.look, lambda: warm_process(self.studio.state))
        self.show(
            "admin_live.html" if live else "admin.html",
            busy=self.studio.busy,
            failed=self.studio.failed,
            moment=lambda seconds: datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S"),
            kind=self.studio.kind,
            home=str(self.studio.home),
            **told,
        )


class MakeBackup(AdminPage):
    """Begins a backup; the page shows when it is made."""

    @web.authenticated
    async def post(self) -> None:
        self.studio.begin()
        self.redirect(self.address("admin"), status=303)


class Download(AdminPage):
    """A backup as a file."""

    @web.authenticated
    async def get(self, file: str) -> None:
        path = self.studio.backups / file
        if not path.is_file():
            raise web.HTTPError(404, f"no backup {file}")
        self.set_header("Content-Type", "application/octet-stream")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Disposition", f'attachment; filename="{file}"')
        self.set_header("Content-Length", str(path.stat().st_size))
        with path.open("rb") as stream:
            while part := await asyncio.to_thread(stream.read, 1 << 20):
                self.write(part)
                await self.flush()


class RemoveBackup(AdminPage):
    @web.authenticated
    async def post(self, file: str) -> None:
        await asyncio.to_thread((self.studio.backups / file).unlink, True)
        self.redirect(self.address("admin"), status=303)


def routes(home: Path, kind: str, store: Store) -> list[tuple[Any, ...]]:
    """`home`: what is backed up; the state folder is inside it."""
    given = {"studio": Studio(home, kind, store, state_folder(home))}
    return [
        ("/admin", Overview, given),
        ("/admin/(?P<live>live)", Overview, given),
        ("/admin/backup", MakeBackup, given),
        (f"/admin/backups/{BACKUP_NAME}", Download, given),
        (f"/admin/backups/{BACKUP_NAME}/remove", RemoveBackup, given),
    ]
