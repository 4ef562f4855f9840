"""`sampan class serve`: prepares the folder of a class, then runs JupyterHub until it is stopped."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from studio import paths
from studio.compute.settings import warm_kernels
from studio.environment import clean_environment
from studio.free_port import free_ports, is_free
from studio.grading import release
from studio.i18n import LANGUAGES

from . import accounts, proxy, roster, warm
from .accounts import GRADER
from .folder import ClassFolder
from .settings import CONFIG, DATABASE, PROXY_PID, Accounts, Settings

DEFAULT_PORT = 8000
TRIAL = """
  This is a trial. Every learner's code runs as the account {account}: learners can read each other's files, the hidden
  checks and the gradebook. For a class, run this command as root: each learner then has an own account.
"""


@dataclass(frozen=True)
class Options:
    """The options of the command. `subdomains` is the public URL below which each learner's server has its own origin."""

    folder: Path
    course: Path = paths.NOTEBOOKS
    ip: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    trial: bool = False
    certificate: str = ""
    key: str = ""
    subdomains: str = ""
    behind_tls: bool = False  # another server on this machine or network encrypts


def serve(options: Options) -> int:
    """Prepare and run; returns the Hub's exit status. Raises `ValueError` with what is missing."""
    made = prepare(options)
    print(_told(made), flush=True)
    command = [sys.executable, "-m", "jupyterhub", "--config", str(made.folder.hub / CONFIG)]
    with warm.kept(made) if made.accounts == "system" and warm_kernels() else nullcontext():
        hub = subprocess.Popen(command, env=clean_environment(os.environ), cwd=made.folder.hub)
        while hub.returncode is None:
            with suppress(KeyboardInterrupt):  # the Hub got it too, and stops its servers
                hub.wait()
    _end_proxy(made.folder.hub / PROXY_PID)
    return hub.returncode


def _end_proxy(pid_file: Path) -> None:
    """A Hub that ends with an error leaves its proxy running."""
    with suppress(FileNotFoundError, ValueError, psutil.NoSuchProcess):
        process = psutil.Process(int(pid_file.read_text()))
        if any(proxy.PROGRAM in word for word in process.cmdline()):
            process.terminate()


def prepare(options: Options) -> Settings:
    """Everything that must be right before the Hub starts: accounts, the folders with their owners, ports."""
    folder = ClassFolder(options.folder.resolve())
    people = roster.load(folder.roster)
    kind = _kind(options, (person.name for person in people))
    program = proxy.find()
    _check_network(options, kind)
    left = (folder.hub / PROXY_PID).exists()  # a proxy whose Hub was killed: the next Hub ends it
    if not left and not is_free(options.ip, options.port):
        raise ValueError(f"port {options.port} of {options.ip} is in use; choose another one with --port")
    _folders(folder, kind)
    from .reconcile import reconcile  # it imports jupyterhub

    for name in reconcile(folder.hub / DATABASE, folder.name, people):
        print(
            f"  {name} is not in the roster any more and was removed from the Hub. The account of this machine stays."
        )
    hand_out(options.course, folder, people)
    if kind == "system":
        for place in (folder.grading, folder.shared):
            _own(place)
    scheme = "https" if options.certificate else "http"
    hub_port, proxy_port, service_port = free_ports(3)
    made = Settings(
        root=str(folder.root),
        accounts=kind,
        address=f"{scheme}://{options.ip}:{options.port}",
        hub_port=hub_port,
        proxy_port=proxy_port,
        service_port=service_port,
        proxy=program,
        certificate=options.certificate,
        key=options.key,
        subdomains=options.subdomains,
        learners_password=secrets.token_urlsafe(9) if kind == "trial" else "",
        teachers_password=secrets.token_urlsafe(24) if kind == "trial" else "",
    )
    made.save()
    return made


def _kind(options: Options, names: Iterable[str]) -> Accounts:
    root = os.geteuid() == 0
    if options.trial:
        if root:
            raise ValueError(
                "a trial runs all learners' code as the account that starts it: start it as another account than root"
            )
        return "trial"
    if not root:
        raise ValueError(
            "a class needs root, to run each learner's server as the learner's own account. To try it without: --trial"
        )
    problem = accounts.missing(names)
    if problem is not None:
        raise ValueError(f"the accounts of this machine do not fit the roster; {problem}")
    for place in {
        options.course,
        paths.NOTEBOOKS,
    }:  # the course that is taught, and the one that Sampan brings
        exposed = readable_by_others(place)
        if exposed is not None:
            raise ValueError(
                f"learners could read the solutions and the hidden checks: {exposed} is readable by every account. "
                f"Close it: chmod -R o-rwx {place}"
            )
    for needed in (
        options.folder.resolve().parent,
        Path(sys.prefix).resolve(),
        Path(sys.base_prefix).resolve(),
    ):
        closed = closed_folder(needed)
        if closed is not None:
            raise ValueError(
                f"learners' accounts must be able to enter {needed}, but {closed} is closed to them"
            )
    accounts.create_grader()
    return "system"


def closed_folder(place: Path) -> Path | None:
    """The first folder on the way to `place`, or `place` itself, that other accounts may not enter."""
    way = (*reversed(place.parents), place)
    return next((folder for folder in way if not folder.stat().st_mode & 0o001), None)


def readable_by_others(course: Path) -> Path | None:
    """A notebook or a file of checks that any account of this machine can read; None if there is none."""
    place = course.resolve()
    if closed_folder(place) is not None:
        return None
    files = [*place.glob("*.ipynb"), *(place / "checks").glob("*.py")]
    return next((file for file in sorted(files) if file.stat().st_mode & 0o004), None)


def _check_network(options: Options, kind: Accounts) -> None:
    if bool(options.certificate) != bool(options.key):
        raise ValueError("a certificate and its key belong together: --certificate FILE --key FILE")
    local = options.ip in ("127.0.0.1", "::1", "localhost")
    if not local and kind == "trial":
        raise ValueError(f"a trial listens on this machine only, got --ip {options.ip}")
    if not local and not options.certificate and not options.behind_tls:
        raise ValueError(
            f"passwords would cross the network in plain text on {options.ip}: give --certificate and --key, or "
            "--behind-tls if another server encrypts"
        )


def _folders(folder: ClassFolder, kind: Accounts) -> None:
    folder.root.chmod(0o711 if kind == "system" else 0o700)
    public = (folder.released, folder.shared)
    for place, mode in ((folder.hub, 0o700), (folder.grading, 0o700), *((one, 0o755) for one in public)):
        place.mkdir(exist_ok=True)
        place.chmod(mode)
    folder.warm.mkdir(exist_ok=True)
    folder.warm.chmod(0o711)
    if kind == "trial":
        (folder.root / "homes").mkdir(mode=0o700, exist_ok=True)


def hand_out(course: Path, folder: ClassFolder, people: Iterable[roster.Person]) -> None:
    """The course for the grading account, and the learners' copies in each language for everyone."""
    notebooks = sorted(
        path for path in course.glob("*.ipynb") if (course / "checks" / f"{path.stem}.py").is_file()
    )
    if not notebooks:
        raise ValueError(f"no notebook with hidden checks in {course}")
    private = folder.course
    shutil.rmtree(private, ignore_errors=True)
    (private / "checks").mkdir(parents=True)
    for path in [*notebooks, *(course / "checks").glob("*.py")]:
        shutil.copyfile(path, private / path.relative_to(course))
    for lang in LANGUAGES:
        place = folder.released / lang
        place.mkdir(exist_ok=True)
        place.chmod(0o755)
        for path in notebooks:
            target = place / path.name
            if not target.exists() or target.stat().st_mtime <= path.stat().st_mtime:
                release.write(release.release(release.read(path), lang), target)
                target.chmod(0o644)
        for gone in {path.name for path in place.glob("*.ipynb")} - {path.name for path in notebooks}:
            (place / gone).unlink()
    roster.save(folder.grading / "roster.json", people)


def _own(place: Path) -> None:
    """Give a folder with all that is in it to the grading account. Links are not followed."""
    grader = pwd.getpwnam(GRADER)
    for path in (place, *place.rglob("*")):
        os.chown(path, grader.pw_uid, grader.pw_gid, follow_symlinks=False)


def _told(made: Settings) -> str:
    text = f"\n  The class {made.folder.name} is served at {made.subdomains or made.address}. Stop with Ctrl-C.\n"
    if made.accounts == "system":
        return text + "  Everyone logs in with the name and the password of the account on this machine.\n"
    account = pwd.getpwuid(os.getuid()).pw_name
    return (
        text
        + TRIAL.format(account=account)
        + f"\n  Learners log in with their name and the password {made.learners_password}\n"
        + f"  Teachers log in with their name and the password {made.teachers_password}\n"
    )
