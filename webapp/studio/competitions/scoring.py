"""The score of one submission: read its file, or run its notebook in the sandbox, and compare it with the labels.

Learners' code never runs in a process that has the labels. What a teacher's metric or the labels make of a submission
is for the teacher alone (`Outcome.detail`); the learner is told a fixed sentence.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import metrics
from .competition import Competition
from .metrics import OWN
from .problems import Refused
from .records import Outcome, Submission
from .store import Store
from .tables import Reading, Solution, read_solution, read_submission

if TYPE_CHECKING:
    from .running import Runner


class MetricError(Exception):
    """There is no score; the message is for the teacher."""


class Scorer:
    """Scores submissions of one store. Safe for several threads; `close` ends its warm process."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._turn = threading.Lock()
        self._runner: Runner | None = None
        self._solutions: dict[str, tuple[Any, Solution]] = {}

    def score(self, submission: Submission) -> Outcome:
        competition = self.store.competition(submission.competition)
        assert competition is not None
        try:
            content = self.store.content(submission)
            if submission.kind == "notebook":
                files = {path.name: path.read_bytes() for path in self.store.data_files(competition.name)}
                content = self.runner().notebook(competition, content, files)
            solution = self.solution(competition)
            reading = read_submission(content, competition, solution)
        except Refused as error:
            return Outcome(
                "refused" if submission.kind == "predictions" else "failed", problems=error.problems
            )
        try:
            public, private = self._scores(competition, solution, reading)
        except (MetricError, ValueError, ArithmeticError) as error:
            problem = "metric_failed"
            return Outcome("failed", problems=[(problem, {})], detail=str(error), preview=reading.preview)
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
            code = self.store.place(competition.name, "private", "metric.py").read_text("utf-8")
            return self.runner().own_metric(code, solution, reading, parts)
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

    def runner(self) -> Runner:
        """The sandbox, made when it is first needed: it imports the library, which a file of predictions need not wait
        for."""
        with self._turn:
            if self._runner is None:
                from .running import Runner

                self._runner = Runner()
        return self._runner

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
