"""The similarity report of one notebook of a class, in a separate process, because it parses untrusted code.

    python -m studio.gradebook.report CLASS ASSIGNMENT NOTEBOOK [--pair STUDENT STUDENT]

Prints JSON: {"pairs": [...], "compared": [...], "left_out": [...]}, or with --pair the two sources, line by line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from studio import processes
from studio.compute.limits import Limits
from studio.i18n import LANGUAGES

from .classroom import Classroom, Submission
from .similar import Fingerprints, Pair, SideBySide, compare, fingerprints, side_by_side
from .submissions import Unreadable, read

MOST_CODE = 200_000  # characters of one notebook's code: no real submission has more
LIMIT_S = 120.0
LIMITS = Limits(memory=2 << 30, processes=16)


@dataclass(frozen=True)
class Report:
    """`compared` and `left_out` are learners; left out are those without readable code, or with far too much."""

    pairs: tuple[Pair, ...]
    compared: tuple[str, ...]
    left_out: tuple[str, ...]


def report(classroom: Classroom, assignment: str, notebook: str) -> Report:
    stub, learners, left_out = _all(classroom, assignment, notebook)
    return Report(tuple(compare(learners, stub)), tuple(learners), tuple(left_out))


def pair(
    classroom: Classroom, assignment: str, notebook: str, names: tuple[str, str]
) -> tuple[SideBySide, SideBySide]:
    """The two sources. Raises `ValueError` if one of them has nothing to compare."""
    stub, learners, _ = _all(classroom, assignment, notebook)
    missing = [name for name in names if name not in learners]
    if missing:
        raise ValueError(f"there is no code of {', '.join(missing)} to compare")
    return side_by_side(names, (learners[names[0]], learners[names[1]]), stub)


def _all(
    classroom: Classroom, assignment: str, notebook: str
) -> tuple[Fingerprints, dict[str, Fingerprints], list[str]]:
    handed_out = _handed_out(classroom, assignment, notebook)
    learners, left_out = {}, []
    for student in classroom.students():
        submission = Submission(student, assignment, notebook)
        try:
            own = [
                cell
                for cell in _code(read(classroom.root, classroom.path(submission)))
                if cell not in handed_out
            ]
        except FileNotFoundError:
            continue
        except (OSError, Unreadable, ValueError, RecursionError):
            left_out.append(student)
            continue
        if sum(map(len, own)) > MOST_CODE:
            left_out.append(student)
        else:
            learners[student] = fingerprints(own)
    return fingerprints(handed_out), learners, left_out


def _handed_out(classroom: Classroom, assignment: str, notebook: str) -> list[str]:
    """The code cells of the released copy, and of the copies in both languages, as a learner can change the language."""
    from studio.grading import release

    copy = classroom.folder("release", assignment) / f"{notebook}.ipynb"
    cells = _code(copy.read_bytes()) if copy.is_file() else []
    instructor = classroom.instructor(assignment, notebook)
    if instructor is not None:
        made = release.read(instructor)
        for lang in LANGUAGES:
            cells += _code(json.dumps(release.release(made, lang)).encode())
    if not cells:
        raise ValueError(f"{classroom.name} has no notebook {notebook!r} in {assignment!r}")
    return list(dict.fromkeys(cells))


def _code(notebook: bytes) -> list[str]:
    """The sources of its code cells. Raises `ValueError` if it is not a notebook."""
    try:
        cells = json.loads(notebook)["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        return [text if isinstance(text, str) else "".join(text) for text in sources]
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a notebook: {error!r}") from error


async def ask(classroom: Classroom, assignment: str, notebook: str, *names: str) -> Any:
    """The report, or with two names the two sources, made by a separate process.

    Raises `ValueError` if there is none, TimeoutError after `LIMIT_S` seconds.
    """
    command = [sys.executable, "-m", "studio.gradebook.report", str(classroom.root), assignment, notebook]
    command += ["--course", str(classroom.course), *(["--pair", *names] if names else [])]
    process = await processes.start(command)
    try:
        async with asyncio.timeout(LIMIT_S):
            out, errors = await process.communicate()
    finally:
        await processes.stop(process)
    if process.returncode:
        raise ValueError(errors.decode(errors="replace").strip()[-500:])
    told = json.loads(out)
    if names:
        return [SideBySide(side["name"], tuple(map(tuple, side["lines"]))) for side in told]
    pairs = tuple(Pair(**found) for found in told["pairs"])
    return Report(pairs, tuple(told["compared"]), tuple(told["left_out"]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m studio.gradebook.report")
    parser.add_argument("folder", type=Path)
    parser.add_argument("assignment")
    parser.add_argument("notebook")
    parser.add_argument("--course", type=Path, required=True)
    parser.add_argument("--pair", nargs=2)
    options = parser.parse_args()
    LIMITS.apply()
    try:
        classroom = Classroom(options.folder, options.course)
        what = (classroom, options.assignment, options.notebook)
        told: Any = (
            [asdict(side) for side in pair(*what, tuple(options.pair))]
            if options.pair
            else asdict(report(*what))
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
