"""The score of one submission: read its file, or run its notebook in the sandbox, and compare it with the labels.

Learners' code never runs in a process that has the labels. What a teacher's metric or the labels make of a submission
is for the teacher alone (`Outcome.detail`); the learner is told a fixed sentence.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from studio.grading.bubble import available
from studio.grading.sandbox import Gone, NoSandbox, Sandbox, Warm
from studio.grading.submission import clean
from studio.grading.submission import read_submission as read_notebook

from . import metrics
from .competition import Competition
from .metrics import OWN
from .problems import Refused, refuse
from .records import Outcome, Submission
from .store import Store
from .tables import Reading, Solution, read_solution, read_submission

PREDICTIONS = "predictions.csv"
METRIC_SECONDS = 30.0

MOST_SCORE = 4096  # bytes of the file with the scores
HARNESS = """
import json as _json, numpy as _numpy
def _columns(part):
    return {name: _numpy.array(values) for name, values in part.items()}
_told = {}
for _part, _rows in _json.load(open("rows.json")).items():
    _told[_part] = float(metric(_columns(_rows["truth"]), _columns(_rows["submitted"])))
_json.dump(_told, open("score.json", "w"))
"""


class MetricError(Exception):
    """The teacher's metric did not give a score; the message is for the teacher."""


class Scorer:
    """Scores submissions of one store. Safe for several threads; `close` ends its warm process."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._turn = threading.Lock()
        self._warm: Warm | None = None
        self._solutions: dict[str, tuple[Any, Solution]] = {}

    def score(self, submission: Submission) -> Outcome:
        competition = self.store.competition(submission.competition)
        assert competition is not None
        try:
            content = self.store.content(submission)
            if submission.kind == "notebook":
                content = self._run(competition, content)
            solution = self.solution(competition)
            reading = read_submission(content, competition, solution)
        except Refused as error:
            return Outcome(
                "refused" if submission.kind == "predictions" else "failed", problems=error.problems
            )
        except NoSandbox as error:
            return Outcome("failed", problems=[("no_sandbox", {})], detail=str(error))
        try:
            public, private = self._scores(competition, solution, reading)
        except (MetricError, NoSandbox, ValueError, ArithmeticError) as error:
            return Outcome(
                "failed", problems=[("metric_failed", {})], detail=str(error), preview=reading.preview
            )
        return Outcome("scored", public, private, preview=reading.preview)

    def solution(self, competition: Competition) -> Solution:
        """The labels, read again when their file or the competition has changed."""
        path = self.store.place(competition.name, "private", "solution.csv")
        stamp = (path.stat().st_mtime_ns, competition)
        known = self._solutions.get(competition.name)
        if known is None or known[0] != stamp:
            known = self._solutions[competition.name] = (stamp, read_solution(path.read_bytes(), competition))
        return known[1]

    def _scores(self, competition: Competition, solution: Solution, reading: Reading) -> tuple[float, float]:
        parts = {"public": solution.public, "private": ~solution.public}
        if competition.metric == OWN:
            return self._own(competition, solution, reading, parts)
        public, private = (
            metrics.score(
                competition.metric,
                solution.labels(competition.metric, rows),
                reading.submitted(competition.metric, rows),
                competition.k,
                solution.classes,
            )
            for rows in parts.values()
        )
        return public, private

    # In the sandbox

    def _fork(self) -> Sandbox:
        with self._turn:
            if self._warm is None:
                self._warm = Warm()
        return self._warm.fork()

    def _run(self, competition: Competition, content: bytes) -> bytes:
        """What the notebook writes as predictions.csv. Raises `Refused` for its errors."""
        if not competition.notebook_seconds:
            raise refuse("no_notebooks")
        reason = available()
        if reason is not None:  # also if the teacher trusts learners: the labels are on this machine
            raise NoSandbox(reason)
        cells = _code(content)
        with contextlib.closing(self._fork()) as sandbox:
            end = time.monotonic() + competition.notebook_seconds
            try:
                for path in self.store.data_files(competition.name):
                    sandbox.put(path.name, path.read_bytes())
                for number, source in enumerate(cells, 1):
                    _cell(sandbox, number, source, max(0.1, end - time.monotonic()))
                found = sandbox.get(PREDICTIONS, competition.most_bytes)
            except Gone as error:
                raise refuse(
                    f"notebook.{_END.get(error.verdict, 'ended')}", seconds=competition.notebook_seconds
                ) from error
        if found is None:
            raise refuse("notebook.no_file", file=PREDICTIONS)
        return found

    def _own(
        self, competition: Competition, solution: Solution, reading: Reading, parts: dict[str, np.ndarray]
    ) -> tuple[float, float]:
        """Both scores by the teacher's own function. Raises `MetricError`."""
        source = self.store.place(competition.name, "private", "metric.py").read_text("utf-8")
        with contextlib.closing(self._fork()) as sandbox:
            try:
                sandbox.put("rows.json", _rows(solution, reading, parts))
                for number, cell in ((1, source), (2, HARNESS)):
                    reply = sandbox.ask(
                        {"kind": "cell", "number": number, "source": cell, "seconds": METRIC_SECONDS},
                        METRIC_SECONDS,
                    )
                    if reply.get("error"):
                        raise MetricError(
                            f"{reply['error']}\n{reply.get('traceback', '')}\n{sandbox.output()}"[:4000]
                        )
                told = sandbox.get("score.json", MOST_SCORE)
            except Gone as error:
                raise MetricError(f"{error.fault[0]}\n{sandbox.output()}"[:4000]) from error
        try:
            scores = json.loads(told or b"")
            public, private = float(scores["public"]), float(scores["private"])
        except (ValueError, TypeError, KeyError) as error:
            raise MetricError(f"metric(truth, submitted) gave no number: {told!r:.200}") from error
        if not (math.isfinite(public) and math.isfinite(private)):
            raise MetricError(
                f"metric(truth, submitted) gave {public} and {private}: expected finite numbers"
            )
        return public, private

    def close(self) -> None:
        if self._warm is not None:
            self._warm.close()


_END = {"timed_out": "too_long", "out_of_memory": "memory"}


def _cell(sandbox: Sandbox, number: int, source: str, seconds: float) -> None:
    reply = sandbox.ask({"kind": "cell", "number": number, "source": source, "seconds": seconds}, seconds)
    if reply.get("too_long"):
        raise Gone(("too long", "超时"), "timed_out")
    if reply.get("memory"):
        raise Gone(("memory", "内存"), "out_of_memory")
    if reply.get("error"):
        raise refuse(
            "notebook.error",
            cell=number,
            error=clean(str(reply["error"])[:500]),
            where=clean(str(reply.get("traceback", ""))[:2000]),
        )


def _code(content: bytes) -> list[str]:
    """The code cells of a notebook, which is read as every submission is."""
    with tempfile.TemporaryDirectory(prefix="sampan-entry-") as folder:
        path = Path(folder) / "notebook.ipynb"
        path.write_bytes(content)
        try:
            return [cell.source for cell in read_notebook(path).cells if cell.cell_type == "code"]
        except ValueError as error:
            raise refuse("notebook.unreadable") from error


def _rows(solution: Solution, reading: Reading, parts: dict[str, np.ndarray]) -> bytes:
    """For the teacher's metric: of each part the columns of labels and of submitted values; numbers are floats."""
    truth = {
        name: [float(v) for v in values] if solution.columns.get(name) == "number" else values
        for name, values in solution.targets.items()
    }
    columns = {"truth": truth, "submitted": reading.values}
    rows = {
        part: {
            kind: {
                name: [v for v, use in zip(values, mask, strict=True) if use] for name, values in of.items()
            }
            for kind, of in columns.items()
        }
        for part, mask in parts.items()
    }
    return json.dumps(rows).encode()
