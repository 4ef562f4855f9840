"""Builds the learners' copies and proves that the course grades correctly.

    python -m studio.grading.proof [NOTEBOOK ...]        (default: every notebook below notebooks/)

For each notebook: the solution passes, the library ran through it, the untouched copy fails every graded check, wrong
solutions that pass the visible checks are caught by the hidden ones, and no line of a solution is in the copy. The same
holds in Chinese, but for the wrong solutions, which are the same code.
Wrong solutions lie in `tests/notebooks/wrong/NAME/*.py`; the docstring of each says what is wrong with it.
"""

from __future__ import annotations

import argparse
import ast
import copy
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .grader import Report, grade, load_checks
from .release import check_id, grade_id, leaks, read, release, slot_of, write
from .sandbox import Warm
from .translation import faults, in_language

WRONG_NEEDED = 3


@dataclass(frozen=True)
class Proof:
    """One statement about a notebook, whether it holds, and what was found if it does not."""

    notebook: str
    claim: str
    holds: bool
    seen: str = ""

    def __str__(self) -> str:
        line = f"{'passed' if self.holds else 'FAILED'}  {self.notebook}: {self.claim}"
        return line if self.holds else f"{line}\n        {self.seen}"


def prove(instructor_path: Path, wrong_folder: Path, out: Path, warm: Warm) -> Iterator[Proof]:
    """Every proof of one notebook, in order; the learner's copy is written to `out` on the way. The cells that
    grading leaves out are tested by running whole notebooks (`make test`, step notebooks)."""
    name = instructor_path.stem
    instructor = read(instructor_path)
    exercises = load_checks(instructor_path)
    yield _declared(name, instructor, {e.slot: e.points for e in exercises})

    target = out / instructor_path.name
    write(release(instructor), target)
    yield _nothing_leaks(name, instructor, target, "the learner's copy")

    full = grade(instructor_path, instructor_path, warm=warm)
    yield _all_passes(name, "the solution", full)
    for result in full.exercises:
        claim = f"the library ran through the solution of {result.id} ({result.library_calls} calls)"
        yield Proof(name, claim, result.library_calls > 0, result.message)

    with tempfile.TemporaryDirectory(prefix="sampan-course-") as scratch:
        yield _nothing_passes(name, "the untouched copy", grade(target, instructor_path, warm=warm))
        yield from _in_chinese(name, instructor, instructor_path, out / "zh" / instructor_path.name, warm)

        files = sorted(wrong_folder.glob("*.py"))
        claim = f"there are {WRONG_NEEDED} wrong solutions or more"
        yield Proof(name, claim, len(files) >= WRONG_NEEDED, f"{len(files)} in {wrong_folder.name}/")
        for number, group in enumerate(_rounds(files)):
            path = Path(scratch) / f"wrong{number}.ipynb"
            write(_replace(instructor, group), path)
            yield from _caught(name, group, grade(path, instructor_path, warm=warm))


def _nothing_leaks(name: str, instructor: Any, target: Path, copy_name: str) -> Proof:
    found = leaks(instructor, read(target))
    return Proof(name, f"no line of a solution is in {copy_name}", not found, "; ".join(found))


def _nothing_passes(name: str, copy_name: str, report: Report) -> Proof:
    passed = [result.id for result in report.exercises if result.passed] + _passed_checks(report)
    return Proof(name, f"{copy_name} fails every graded check", not passed, f"passed: {passed}")


def _all_passes(name: str, copy_name: str, report: Report) -> Proof:
    broken = [f"cell {c.number} ({c.first_line}): {c.error}" for c in report.cells if c.error]
    failed = [f"{r.id}: {r.message}" for r in report.exercises if not r.passed] + broken
    return Proof(name, f"{copy_name} passes every check", not failed, "; ".join(failed))


def _in_chinese(
    name: str, instructor: Any, instructor_path: Path, target: Path, warm: Warm
) -> Iterator[Proof]:
    """The proofs of the Chinese copy, which is written to `target`, and of the same copy with the solutions."""
    missing = faults(instructor)
    yield Proof(name, "the Chinese is complete and up to date", not missing, "; ".join(missing))
    copied = release(instructor, "zh")
    write(copied, target)
    solved = copy.deepcopy(instructor)
    solved.cells, solved.metadata = in_language(instructor, "zh"), copied.metadata
    yield _nothing_leaks(name, solved, target, "the Chinese copy")
    yield _nothing_passes(name, "the untouched Chinese copy", grade(target, instructor_path, warm=warm))
    with tempfile.TemporaryDirectory(prefix="sampan-course-") as scratch:
        path = Path(scratch) / instructor_path.name
        write(solved, path)
        full = grade(path, instructor_path, warm=warm)
    yield _all_passes(name, "the Chinese copy with the solutions", full)


def _declared(name: str, instructor: Any, points: dict[str, int]) -> Proof:
    """Notebook and checks name the same exercises, with the same points, and the metadata is complete."""
    faults = []
    slots = {slot_of(cell.source) for cell in _marked(instructor, "solution")} - {None}
    if slots != set(points):
        faults.append(f"the notebook has {sorted(map(str, slots))}, the checks have {sorted(points)}")
    graded = {grade_id(cell): cell.metadata.nbgrader.get("points") for cell in _marked(instructor, "grade")}
    if graded != {check_id(slot): value for slot, value in points.items()}:
        faults.append(f"graded cells and points are {graded}")
    about = instructor.metadata.get("sampan", {})
    faults += [f"metadata.sampan.{key} is missing" for key in ABOUT if not about.get(key)]
    return Proof(name, "notebook, metadata and hidden checks agree", not faults, "; ".join(faults))


ABOUT = ("title", "title_zh", "summary", "summary_zh", "minutes")


def _marked(notebook: Any, key: str) -> list[Any]:
    return [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get(key)]


def _wrong_slot(path: Path) -> str:
    slot = slot_of(path.read_text(encoding="utf-8"))
    if slot is None:
        raise ValueError(f"{path.name}: expected a function under @learn.exercise(...)")
    return slot


def _rounds(files: Iterable[Path]) -> list[list[Path]]:
    """Groups with at most one wrong solution per exercise: exercises are graded alone, so a group shares one run."""
    groups: list[list[Path]] = []
    for file in files:
        slot = _wrong_slot(file)
        free = next((group for group in groups if all(_wrong_slot(other) != slot for other in group)), None)
        if free is None:
            groups.append([file])
        else:
            free.append(file)
    return groups


def _replace(instructor: Any, files: list[Path]) -> Any:
    made = copy.deepcopy(instructor)
    for file in files:
        source, slot = file.read_text(encoding="utf-8"), _wrong_slot(file)
        cells = [cell for cell in _marked(made, "solution") if slot_of(cell.source) == slot]
        if len(cells) != 1:
            raise ValueError(
                f"{file.name}: expected one cell of the notebook that fills {slot}, got {len(cells)}"
            )
        cells[0].source = source
    return made


def _caught(name: str, files: list[Path], report: Report) -> Iterator[Proof]:
    slots = {_wrong_slot(file): file for file in files}
    visible, results = set(_passed_checks(report)), {result.id: result for result in report.exercises}
    for slot, file in slots.items():
        what = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or file.stem).splitlines()[0]
        errors = [cell.error for cell in report.cells if cell.grade_id == check_id(slot)]
        yield Proof(
            name, f"wrong {slot} ({what}) passes the visible check", check_id(slot) in visible, str(errors)
        )
        yield Proof(
            name,
            f"wrong {slot} ({what}) is caught by the hidden ones: {results[slot].message[:120]}",
            not results[slot].passed,
            results[slot].message,
        )
    spoiled = [result.id for result in report.exercises if result.id not in slots and not result.passed]
    yield Proof(name, "other exercises keep their points beside a wrong one", not spoiled, ", ".join(spoiled))


def _passed_checks(report: Report) -> list[str]:
    return [
        c.grade_id
        for c in report.cells
        if c.grade_id and c.grade_id.startswith("check-") and c.ran and c.error is None
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studio.grading.proof", description="Builds and proves the course."
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="instructor notebooks (all below notebooks/)")
    parser.add_argument(
        "--wrong", type=Path, default=Path("tests/notebooks/wrong"), help="folder of wrong solutions"
    )
    parser.add_argument("--out", type=Path, default=Path("build/course"), help="where the copies go")
    options = parser.parse_args(arguments)
    notebooks = options.notebooks or sorted(Path("notebooks").glob("[0-9]*.ipynb"))
    if not notebooks:
        print("no notebooks found; run this from the repository's root", file=sys.stderr)
        return 2
    counts = [0, 0]
    with Warm(trust=True) as warm:  # the course is the reader's own
        for path in notebooks:
            for proof in prove(path, options.wrong / path.stem, options.out, warm):
                print(proof, flush=True)
                counts[not proof.holds] += 1
    print(f"{counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
