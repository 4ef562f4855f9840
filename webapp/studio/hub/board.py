"""What a class offers a learner now: the assignments with their terms, and the announcements."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from studio.gradebook import announcements, data_files, openings, received, terms
from studio.gradebook.classroom import COURSE, Classroom, Submission
from studio.gradebook.submissions import mark
from studio.grading.checker import Assignment


class Board:
    """Of one class; every method reads files, and so belongs in a thread."""

    def __init__(self, classroom: Classroom) -> None:
        self.classroom = classroom
        self._about: dict[Path, tuple[int, dict[str, Any]]] = {}

    def told(self, learner: str, now: float) -> dict[str, Any]:
        """For JSON. Of an assignment that has not opened there is nothing but its name and times; of a hidden one, nothing."""
        known = terms.load(self.classroom)
        return {
            "now": now,
            "assignments": [
                self._assignment(name, learner, known.get(name, terms.FREE), now)
                for name in self._released(known)
                if known.get(name, terms.FREE).visible
            ],
            "answers": asdict(openings.rule(terms.of(self.classroom, COURSE))),  # of the course
            "announcements": [asdict(one) for one in announcements.load(self.classroom)],
        }

    def state(self, learner: str, place: Assignment, now: float) -> terms.State:
        """What a hand-in would meet."""
        used = received.used(self.classroom, Submission(learner, *place))
        return terms.of(self.classroom, place.name).state(learner, now, used)

    def released(self, learner: str, place: Assignment, now: float) -> bytes | None:
        """The learners' copy; None if the learner may not have it."""
        path = self.classroom.folder("release", place.name) / f"{place.notebook}.ipynb"
        closed = self.state(learner, place, now) in ("hidden", "early")
        return None if closed or not path.is_file() else path.read_bytes()

    def data(self, learner: str, name: str, file: str, now: float) -> bytes | None:
        """A file of data of an assignment; None if the learner may not have it."""
        its = terms.of(self.classroom, name)
        closed = its.state(learner, now, 0) in ("hidden", "early")
        return None if closed else data_files.read(self.classroom, name, file)

    def _released(self, known: dict[str, terms.Terms]) -> list[str]:
        """The course is one as soon as it has terms: without any it is on the page Courses, and that is enough."""
        folder = self.classroom.folder("release", "x").parent
        found = (
            {path.name for path in folder.iterdir() if any(path.glob("*.ipynb"))}
            if folder.is_dir()
            else set()
        )
        return sorted(found | ({COURSE} & known.keys()))

    def _assignment(self, name: str, learner: str, its: terms.Terms, now: float) -> dict[str, Any]:
        early = its.opens is not None and now < its.opens
        folder = self.classroom.course if name == COURSE else self.classroom.folder("release", name)
        paths = [] if early else sorted(folder.glob("*.ipynb"))
        return {
            "name": name,
            **{"opens": its.opens, "due": its.due(learner), "extended": learner in its.extensions},
            **{"late": its.late, "percent": its.percent, "floor": its.floor, "attempts": its.attempts},
            "early": early,
            "answers": asdict(openings.rule(its)),
            "data": [] if early else [asdict(file) for file in data_files.released(self.classroom, name)],
            "notebooks": [self._notebook(name, path, learner, its, now) for path in paths],
        }

    def _notebook(self, name: str, path: Path, learner: str, its: terms.Terms, now: float) -> dict[str, Any]:
        place = Submission(learner, name, path.stem)
        history = received.history(self.classroom, place)
        used = history[-1].number if history else 0
        when = received.received(self.classroom, place, history[-1].mark) if history else None
        return {
            **{"name": path.stem, "used": used, "state": its.state(learner, now, used)},
            "last": history[-1].received if history else None,
            "penalty": its.penalty(learner, when or 0.0, self._read(path)["points"]),
            "checked": self.classroom.instructor(name, path.stem) is not None,
            **self._read(path),
        }

    def _read(self, path: Path) -> dict[str, Any]:
        """Points, titles and checksum of a notebook; read again only if it has changed."""
        changed = path.stat().st_mtime_ns
        if path not in self._about or self._about[path][0] != changed:
            content = path.read_bytes()
            told = json.loads(content)
            cells = [cell.get("metadata", {}).get("nbgrader", {}) for cell in told["cells"]]
            about = told["metadata"].get("sampan", {})
            title = str(about.get("title") or path.stem)
            self._about[path] = (
                changed,
                {
                    "points": sum(float(cell.get("points") or 0) for cell in cells if cell.get("grade")),
                    "titles": {"en": title, "zh": str(about.get("title_zh") or title)},
                    "mark": mark(content),
                },
            )
        return self._about[path][1]
