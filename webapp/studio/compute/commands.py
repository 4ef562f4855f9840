"""`sampan session`, `sampan run` and `sampan job`: sessions and background jobs from the command line."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
import unicodedata
from functools import partial
from typing import TYPE_CHECKING

from studio import identity
from studio.i18n import of_terminal, t
from studio.paths import workspace

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from .jobs import Job
    from .lease import Refused
    from .sessions import Sessions

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LOOK_S = 0.3
REFUSED = 1  # exit status: no place, no such thing
RUN = """
Everything that is not an option of ours goes to the script; after -- all of it does.
    sampan run train.py --epochs 3 --gpu 1 --queue
"""


def add_to(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parsers of the three commands."""
    session = commands.add_parser("session", help="sessions: list, stop, extend", description="What runs.")
    what = session.add_subparsers(required=True, metavar="what")
    found = what.add_parser("list", help="sessions, what they use, and how long they may")
    found.add_argument("--everyone", action="store_true", help="of all users")
    found.set_defaults(run=_list)
    stop = what.add_parser("stop", help="interrupt, then end")
    stop.add_argument("id", help="the beginning is enough")
    stop.set_defaults(run=_stop)
    extend = what.add_parser("extend", help="more time")
    extend.add_argument("id", help="the beginning is enough")
    extend.add_argument("time", type=duration, help="such as 30m or 2h")
    extend.set_defaults(run=_extend)

    run = commands.add_parser(
        "run",
        help="run a script in the background",
        epilog=RUN,
        usage="sampan run script.py [arguments] [options]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _job_options(run)
    run.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    run.set_defaults(run=_run)

    job = commands.add_parser(
        "job", help="background jobs: list, log, cancel", description="Background jobs."
    )
    what = job.add_subparsers(required=True, metavar="what")
    found = what.add_parser("list", help="their states, newest first")
    found.add_argument("--everyone", action="store_true", help="of all users")
    found.set_defaults(run=_jobs)
    log = what.add_parser("log", help="the output of a job")
    log.add_argument("id", help="the beginning or the end is enough")
    log.add_argument("--follow", action="store_true", help="until it ends; return its exit status")
    log.set_defaults(run=_log)
    for name, help, run_it in (("cancel", "interrupt, then end", _cancel), ("remove", "delete one", _remove)):
        one = what.add_parser(name, help=help)
        one.add_argument("id", help="the beginning or the end is enough")
        one.set_defaults(run=run_it)


def _job_options(parser: argparse.ArgumentParser) -> None:
    device = parser.add_mutually_exclusive_group()
    device.add_argument("--gpu", type=_gpu, metavar="1", help="a GPU, or a part of one's memory such as 0.5")
    device.add_argument("--cpu", action="store_true", help="a place on the CPU (the default)")
    parser.add_argument(
        "--memory", type=size, default=size("4G"), metavar="4G", help="such as 512M or 4G (4G)"
    )
    parser.add_argument(
        "--time", type=duration, default=duration("4h"), metavar="4h", help="such as 30m (4h)"
    )
    parser.add_argument(
        "--workers",
        type=_workers,
        default=1,
        metavar="2",
        help="processes that train together, each on a place (1)",
    )
    parser.add_argument("--queue", action="store_true", help="wait in the queue if no place is free")
    parser.add_argument("--follow", action="store_true", help="show its output until it ends")


def size(text: str) -> int:
    """Bytes, from 512M or 1.5G. Raises argparse.ArgumentTypeError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg])i?b?", text.strip().lower())
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"expected a size such as 512M or 4G, got {text!r}")
    return int(float(found[1]) * _UNITS[found[2]])


def duration(text: str) -> float:
    """Seconds, from 90s, 30m, 2h or 1d. Raises argparse.ArgumentTypeError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip().lower())
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"expected a time such as 30m or 2h, got {text!r}")
    return float(found[1]) * _SECONDS[found[2]]


def _workers(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _gpu(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"expected one GPU (1) or a part of one (0.5), got {text!r}")
    return share


def _mine() -> str | None:
    """The owner whose sessions and jobs this user may end; None: everyone's."""
    me = identity.local()
    return None if me.admin else me.name


# ---- sessions -----------------------------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    sessions = _sessions().running(None if arguments.everyone else identity.local().name)
    if not sessions:
        _say("none")
        return 0
    rows = [_heads("id", "device", "who", "what", "memory", "cores", "left", "title")]
    for session in sessions:
        lease, reading = session.lease, session.reading
        rows.append(
            [
                session.id[:8],
                lease.device,
                lease.ask.owner,
                t(f"command.purpose.{lease.ask.purpose}", of_terminal()),
                f"{_gib(reading.memory)}/{_gib(lease.ask.memory)}",
                f"{reading.cores:.1f}",
                _clock(session.time_left()),
                lease.ask.title.removeprefix(f"{workspace()}/"),
            ]
        )
    _table(rows)
    if any(session.lease.simulated for session in sessions):
        _say("simulated")
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    sessions = _sessions()
    try:
        session = sessions.find(arguments.id, _mine())
    except LookupError:
        return _refuse("no_session", id=arguments.id)
    asyncio.run(sessions.stop(session))
    _say("stopped", id=session.id[:8])
    return 0


def _extend(arguments: argparse.Namespace) -> int:
    from .lease import Refused

    sessions = _sessions()
    try:
        session = sessions.find(arguments.id, _mine())
        lease = sessions.extend(session.id, arguments.time)
    except LookupError:
        return _refuse("no_session", id=arguments.id)
    except Refused as refusal:
        return _refused(refusal)
    _say("extended", id=session.id[:8], left=_clock(lease.ends - time.time()))
    return 0


# ---- jobs ---------------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    from . import jobs
    from .lease import Ask, Refused

    parser = argparse.ArgumentParser(prog="sampan run", allow_abbrev=False, add_help=False)
    _job_options(parser)
    # Options before the script are the defaults of options among its arguments.
    parser.set_defaults(**{name: getattr(arguments, name) for name in vars(parser.parse_args([]))})
    words = arguments.rest
    place = words.index("--") if "--" in words else len(words)
    ours, rest = parser.parse_known_args(words[:place])
    command = [*rest, *words[place + 1 :]]
    if not command or command[0].startswith("-"):
        print("sampan run: which script? sampan run script.py [arguments] [options]", file=sys.stderr)
        return 2
    try:
        ask = Ask(
            owner=identity.local().name,
            purpose="job",
            title=command[0],
            kind="gpu" if ours.gpu else "cpu",
            share=ours.gpu or 1.0,
            memory=ours.memory,
            seconds=ours.time,
            places=ours.workers,
        )
        job = jobs.start(command[0], command[1:], ask=ask, queue=ours.queue)
    except FileNotFoundError:
        return _refuse("no_script", script=command[0])
    except Refused as refusal:
        return _refused(refusal)
    if job.lease:
        _say("started", id=job.id, device=job.device)
    else:
        _say("waiting", id=job.id)
    if ours.follow:
        return _follow(job)
    _say("follow", id=job.id)
    return 0


def _jobs(arguments: argparse.Namespace) -> int:
    from . import jobs

    found = jobs.all(None if arguments.everyone else identity.local().name)
    if not found:
        _say("no_jobs")
        return 0
    rows = [_heads("id", "state", "device", "progress", "ran", "title")]
    for job in found:
        progress = job.progress()
        part = "" if progress is None or progress.part is None else f"{progress.part:.0%}"
        rows.append([job.id, _state(job), job.device, part, _clock(job.seconds), job.ask.title])
    _table(rows)
    return 0


def _log(arguments: argparse.Namespace) -> int:
    job = _find(arguments.id)
    if job is None:
        return _refuse("no_job", id=arguments.id)
    if arguments.follow:
        return _follow(job)
    print(job.log(), end="")
    return 0


def _cancel(arguments: argparse.Namespace) -> int:
    from . import jobs

    job = _find(arguments.id)
    if job is None:
        return _refuse("no_job", id=arguments.id)
    jobs.cancel(job.id)
    _say("cancelled", id=job.id)
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    from . import jobs

    job = _find(arguments.id)
    if job is None:
        return _refuse("no_job", id=arguments.id)
    if not job.over:
        return _refuse("running", id=job.id)
    jobs.remove(job.id)
    _say("removed", id=job.id)
    return 0


def _find(beginning: str) -> Job | None:
    from . import jobs

    try:
        return jobs.find(beginning, _mine())
    except LookupError:
        return None


def _follow(job: Job) -> int:
    """Print its log as it grows, until it is over; returns its exit status."""
    from . import jobs

    place = 0
    try:
        while True:
            job = jobs.find(job.id)  # read before the log, so that its last output is printed too
            if job.log_file.exists():
                with open(job.log_file, "rb") as log:
                    if log.seek(0, 2) < place:  # the log was truncated
                        place = 0
                    log.seek(place)
                    for part in iter(partial(log.read, 1 << 16), b""):
                        sys.stdout.buffer.write(part)
                    place = log.tell()
                sys.stdout.flush()
            if job.over:
                break
            time.sleep(_LOOK_S)
    except KeyboardInterrupt:
        _say("goes_on", id=job.id)
        return 130
    _say("over", id=job.id, state=_state(job))
    if made := len(job.files()):
        _say("made", count=made, folder=job.artefacts)
    return 0 if job.state == "done" else max(1, job.status or 1)


def _state(job: Job) -> str:
    lang = of_terminal()
    word = t(f"command.state.{job.state}", lang)
    return f"{word} ({t(f'compute.why.{job.why}', lang)})" if job.why else word


# ---- what is printed ------------------------------------------------------------------------------------


def _sessions() -> Sessions:
    from . import here
    from .sessions import Sessions

    return Sessions(here.store(), here.state())


def _say(key: str, **values: object) -> None:
    print(t(f"command.{key}", of_terminal(), **values), flush=True)


def _refuse(key: str, **values: object) -> int:
    print(t(f"command.{key}", of_terminal(), **values), file=sys.stderr, flush=True)
    return REFUSED


def _refused(refusal: Refused) -> int:
    sentence = refusal.sentence_zh if of_terminal() == "zh" else refusal.sentence
    print(sentence, file=sys.stderr, flush=True)
    return REFUSED


def _heads(*names: str) -> list[str]:
    return [t(f"command.column.{name}", of_terminal()) for name in names]


def _table(rows: list[list[str]]) -> None:
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _width(text: str) -> int:
    """Columns of a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _clock(seconds: float) -> str:
    """1:02:03."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _gib(memory: int) -> str:
    return f"{memory / 2**30:.1f}G"
