"""Code in the sandbox: a learner's notebook, which gets the data files, and a teacher's metric, which gets the labels.

Each runs in a fork of its own, with limits of time and memory and without a network; nothing of one is left for the next.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from studio.compute.limits import Limits
from studio.grading.bubble import available
from studio.grading.cleaning import clean
from studio.grading.isolation import LIMITS
from studio.grading.sandbox import Gone, NoSandbox, Sandbox, Warm
from studio.grading.submission import read_submission

from .competition import Competition
from .problems import refuse
from .scoring import MetricError
from .tables import Reading, Solution

PREDICTIONS = "predictions.csv"
METRIC_SECONDS = 30.0
MOST_SCORE = 4096  # bytes of the file with the scores
MOST_SAID = 4000  # characters for the teacher
HARNESS = """
import json as _json, numpy as _numpy
def _columns(part):
    return {name: _numpy.array(values) for name, values in part.items()}
_told = {}
for _part, _rows in _json.load(open("rows.json")).items():
    _told[_part] = float(metric(_columns(_rows["truth"]), _columns(_rows["submitted"])))
_json.dump(_told, open("score.json", "w"))
"""
_END = {"timed_out": "too_long", "out_of_memory": "memory"}


class Runner:
    """One warm process, started at the first use."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._turn = threading.Lock()
        self._warm: Warm | None = None

    def notebook(self, competition: Competition, content: bytes, files: Mapping[str, bytes]) -> bytes:
        """What the notebook writes as predictions.csv, beside the files. Raises `Refused` for its errors."""
        seconds = competition.notebook_seconds
        if not seconds:
            raise refuse("no_notebooks")
        if available() is not None:  # also if the teacher trusts learners: the labels are on this machine
            raise refuse("no_sandbox")
        cells = _code(content)
        with contextlib.closing(self._fork()) as sandbox:
            end = time.monotonic() + seconds
            try:
                for name, data in files.items():
                    sandbox.put(name, data)
                for number, source in enumerate(cells, 1):
                    _cell(sandbox, number, source, end - time.monotonic())
                found = sandbox.get(PREDICTIONS, competition.most_bytes)
            except Gone as error:
                raise refuse(f"notebook.{_END.get(error.verdict, 'ended')}", seconds=seconds) from error
        if found is None:
            raise refuse("notebook.no_file", file=PREDICTIONS)
        return found

    def own_metric(
        self, code: str, solution: Solution, reading: Reading, parts: Mapping[str, np.ndarray]
    ) -> tuple[float, float]:
        """Both scores by the teacher's own function. Raises `MetricError`."""
        try:
            sandbox = self._fork()
        except NoSandbox as error:
            raise MetricError(str(error)) from error
        with contextlib.closing(sandbox):
            try:
                sandbox.put("rows.json", _rows(solution, reading, parts))
                for number, source in ((1, code), (2, HARNESS)):
                    reply = _ask(sandbox, number, source, METRIC_SECONDS)
                    if reply.get("error"):
                        said = f"{reply['error']}\n{reply.get('traceback', '')}\n{sandbox.output()}"
                        raise MetricError(clean(said[:MOST_SAID]))
                told = sandbox.get("score.json", MOST_SCORE)
            except Gone as error:
                raise MetricError(f"{error.fault[0]}\n{sandbox.output()}"[:MOST_SAID]) from error
        return _numbers(told)

    def _fork(self) -> Sandbox:
        with self._turn:
            if self._warm is None:
                self._warm = Warm(limits=self._limits)
        return self._warm.fork()

    def close(self) -> None:
        if self._warm is not None:
            self._warm.close()


def _ask(sandbox: Sandbox, number: int, source: str, seconds: float) -> dict[str, Any]:
    return sandbox.ask({"kind": "cell", "number": number, "source": source, "seconds": seconds}, seconds)


def _cell(sandbox: Sandbox, number: int, source: str, seconds: float) -> None:
    """Raises `Gone` if it took too much, `Refused` with its error."""
    reply = _ask(sandbox, number, source, max(0.1, seconds))
    if reply.get("too_long"):
        raise Gone(("too long", "超时"), "timed_out")
    if reply.get("memory"):
        raise Gone(("memory", "内存"), "out_of_memory")
    if reply.get("error"):
        error, where = clean(str(reply["error"])[:500]), clean(str(reply.get("traceback", ""))[:2000])
        raise refuse("notebook.error", cell=number, error=error, where=where)


def _code(content: bytes) -> list[str]:
    """The code cells of a notebook, which is read as every submission is."""
    with tempfile.TemporaryDirectory(prefix="sampan-entry-") as folder:
        path = Path(folder) / "notebook.ipynb"
        path.write_bytes(content)
        try:
            return [cell.source for cell in read_submission(path).cells if cell.cell_type == "code"]
        except ValueError as error:
            raise refuse("notebook.unreadable") from error


def _rows(solution: Solution, reading: Reading, parts: Mapping[str, np.ndarray]) -> bytes:
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


def _numbers(told: bytes | None) -> tuple[float, float]:
    try:
        scores = json.loads(told or b"")
        public, private = float(scores["public"]), float(scores["private"])
    except (ValueError, TypeError, KeyError) as error:
        raise MetricError(f"metric(truth, submitted) gave no number: {told!r:.200}") from error
    if not (math.isfinite(public) and math.isfinite(private)):
        raise MetricError(f"metric(truth, submitted) gave {public} and {private}: expected finite numbers")
    return public, private
