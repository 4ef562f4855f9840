"""Progress and measured values of a job, from its progress file or from the bars and lines in its log."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

Curves = dict[str, list[tuple[float, float]]]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# tqdm: ` 45%|████▌     | 45/100 [00:10<00:12,  4.53it/s, loss=0.31]`
_TQDM = re.compile(rf"\|\s*({_NUMBER})([kMG]?)/({_NUMBER})([kMG]?)\s*\[[^\]]*\]")
# Sampan's and Keras': `step 45/100 [=====....] - loss: 0.31 - 12 ms/step`
_STEP = re.compile(r"\bstep (\d+)/(\d+)\b")
_EPOCH = re.compile(r"\bEpoch (\d+)/(\d+)")
_VALUE = re.compile(rf"\b([A-Za-z_][\w./]*)\s?[:=]\s?({_NUMBER})(?![\w:])")
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_READ = 4 << 20  # bytes of a job's progress file that are read, from its end


@dataclass(frozen=True)
class Progress:
    """`done` of `total` (0: unknown), with the values that go with it."""

    done: float
    total: float
    values: dict[str, float] = field(default_factory=dict)

    @property
    def part(self) -> float | None:
        """0 to 1, None when there is no total."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total > 0 else None


def last(path: Path) -> Progress | None:
    """The last line of a file of `sampan.session.progress`."""
    lines = _lines(path)
    return lines[-1] if lines else None


def told(path: Path) -> Curves:
    """Every value in a file of `sampan.session.progress`, by step."""
    found: Curves = defaultdict(list)
    for line in _lines(path):
        for name, value in line.values.items():
            found[name].append((line.done, value))
    return dict(found)


def bar(log: str) -> Progress | None:
    """The last bar in a log: tqdm's, Sampan's (an epoch's step counts within its epoch), or a line like them."""
    epochs = list(_EPOCH.finditer(log))
    for line in reversed(readable(log).splitlines()):
        if found := _TQDM.search(line):
            done, unit, total, of = found.groups()
            return Progress(float(done) * _UNITS[unit], float(total) * _UNITS[of], _values(line))
        if found := _STEP.search(line):
            done_steps, steps = float(found[1]), float(found[2])
            if epochs:
                before = (float(epochs[-1][1]) - 1) * steps
                return Progress(before + done_steps, float(epochs[-1][2]) * steps, _values(line))
            return Progress(done_steps, steps, _values(line))
    return None


def logged(log: str) -> Curves:
    """Values in lines like `step 45/100 - loss: 0.31`, over the line's place among them."""
    found: Curves = defaultdict(list)
    place = 0
    for line in readable(log).splitlines():
        if not (_STEP.search(line) or _TQDM.search(line) or _EPOCH.search(line)):
            continue
        values = _values(line)
        place += bool(values)
        for name, value in values.items():
            found[name].append((place, value))
    return dict(found)


def readable(log: str) -> str:
    """The log as a terminal would show it: after carriage returns only the last version of a line."""
    return "\n".join(
        next((part for part in reversed(line.split("\r")) if part.strip()), "") for line in log.split("\n")
    )


def _values(line: str) -> dict[str, float]:
    return {name: float(value) for name, value in _VALUE.findall(line)}


def _lines(path: Path) -> list[Progress]:
    """Complete, valid lines: the job writes this file, so anything may be in it."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _READ))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    found = []
    for line in text.split("\n")[:-1]:
        try:
            entry = json.loads(line)
            values = {str(name): float(value) for name, value in entry["values"].items()}
            finite = {name: value for name, value in values.items() if math.isfinite(value)}
            found.append(Progress(float(entry["done"]), float(entry["total"]), finite))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return found
