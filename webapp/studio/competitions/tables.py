"""Reads CSV files: the teacher's solution, and submissions, with an explanation of everything that is wrong in them.

Rows may come in any order and are brought into the solution's. Nothing that is said about a submission depends on the
labels: only on their ids, columns and kinds, which the sample submission shows too.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from studio.grading.cleaning import clean

from .competition import Competition
from .metrics import METRICS, OWN, Kind
from .problems import Problem, Refused, examples, refuse

MOST_SOLUTION = 60 << 20
PREVIEW_ROWS, PREVIEW_COLUMNS, PREVIEW_LETTERS = 5, 8, 40
_WHOLE = re.compile(r"-?\d+")
_WHOLE_AS_FLOAT = re.compile(r"(-?\d+)\.0+")


@dataclass(frozen=True)
class Solution:
    """`targets` are the labels, `columns` what a submission must have beside the id, each of a kind; `public` tells which rows
    make the public score."""

    ids: list[str]
    targets: dict[str, list[str]]
    columns: dict[str, Kind]
    classes: list[str]
    public: np.ndarray

    def labels(self, name: str, rows: np.ndarray) -> Any:
        """The labels of some rows, as the metric takes them."""
        numbers = name != OWN and METRICS[name].kind == "number" and METRICS[name].several
        if numbers:
            return np.array([_floats(values) for values in self.targets.values()]).T[rows]
        (values,) = self.targets.values()
        return [value for value, use in zip(values, rows, strict=True) if use]


@dataclass(frozen=True)
class Reading:
    """A submission: a list of values for each column, in the solution's order of rows; numbers are floats."""

    values: dict[str, list[Any]]
    preview: dict[str, Any]

    def submitted(self, name: str, rows: np.ndarray) -> Any:
        """The values of some rows, as the metric takes them."""
        kind = METRICS[name].kind
        if kind in ("number", "probability"):
            table = np.array(list(self.values.values()), np.float64).T[rows]
            return table if METRICS[name].several or kind == "probability" else table[:, 0]
        (values,) = self.values.values()
        return [value for value, use in zip(values, rows, strict=True) if use]


def read_solution(content: bytes, competition: Competition) -> Solution:
    """Raises `Refused` with what the teacher has to change."""
    header, rows = _table(content, MOST_SOLUTION)
    for column in filter(None, (competition.id_column, competition.split_column)):
        if column not in header:
            raise refuse("solution.column", column=column, found=examples(header))
    found = {name: [row[n] for row in rows] for n, name in enumerate(header)}
    ids = found.pop(competition.id_column)
    usage = found.pop(competition.split_column, None)
    wrong = [*_id_problems(ids)]
    if any(not value for values in found.values() for value in values):
        wrong.append(("solution.blank", {}))
    metric = METRICS.get(competition.metric)
    if not found or (metric is not None and not metric.several and len(found) != 1):
        wrong.append(("solution.targets", {"count": len(found)}))
    if wrong:
        raise Refused(*wrong)
    classes = sorted({value for values in found.values() for value in values}) if len(found) == 1 else []
    kinds = {name: _kind_of(values, metric.kind if metric else None) for name, values in found.items()}
    if metric is not None and metric.several and any(not _is_numeric(values) for values in found.values()):
        raise refuse("solution.numbers")
    if competition.metric == "auc" and len(classes) != 2:
        raise refuse("solution.two_classes", count=len(classes))
    if competition.metric == "log_loss":
        if not 2 <= len(classes) <= 1000 or competition.id_column in classes:
            raise refuse("solution.classes", count=len(classes))
        kinds = dict.fromkeys(classes, "probability")
    public = _named(usage) if usage is not None else public_rows(ids, competition.seed, competition.share)
    if public.all() or not public.any():
        raise refuse("solution.split")
    return Solution(ids, found, kinds, classes, public)


def public_rows(ids: Sequence[str], seed: str, share: float) -> np.ndarray:
    """The part for the public score: the `share` of the rows whose ids have the smallest hashes under the secret seed. It
    depends neither on the order of the rows nor on the labels. At least one row, and not all."""
    order = sorted(range(len(ids)), key=lambda n: sha256(f"{seed}\0{ids[n]}".encode()).digest())
    chosen = np.zeros(len(ids), bool)
    chosen[order[: min(max(1, round(share * len(ids))), max(1, len(ids) - 1))]] = True
    return chosen


def _named(usage: list[str]) -> np.ndarray:
    words = [word.lower() for word in usage]
    if not set(words) <= {"public", "private"}:
        raise refuse("solution.usage", found=examples(sorted(set(usage))))
    return np.array([word == "public" for word in words])


def sample(solution: Solution, competition: Competition) -> bytes:
    """A submission without any knowledge, which shows the form."""
    blank: dict[Kind, str] = {
        **{
            "class": solution.classes[0] if solution.classes else "?",
            "number": "0",
            "items": "?",
            "text": "?",
        },
        "probability": f"{1 / max(1, len(solution.classes)):.6f}",
    }
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([competition.id_column, *solution.columns])
    writer.writerows([one, *(blank[kind] for kind in solution.columns.values())] for one in solution.ids)
    return out.getvalue().encode()


def read_submission(content: bytes, competition: Competition, solution: Solution) -> Reading:
    """Raises `Refused` with everything that is wrong, as far as it could be read."""
    header, rows = _table(content, competition.most_bytes, 2 * len(solution.ids) + 1000)
    expected = [competition.id_column, *solution.columns]
    if sorted(header) != sorted(expected):
        missing, extra = ([c for c in a if c not in b] for a, b in ((expected, header), (header, expected)))
        twice = [name for name, count in Counter(header).items() if count > 1]
        kinds = (("missing_columns", missing), ("extra_columns", extra), ("twice_columns", twice))
        raise Refused(
            *(
                (kind, {"columns": examples(names), "expected": examples(expected)})
                for kind, names in kinds
                if names
            )
        )
    places = {name: header.index(name) for name in expected}
    ids = [row[places[competition.id_column]] for row in rows]
    wrong = [*_id_problems(ids)]
    known, given = set(solution.ids), set(ids)
    missing, extra = (
        [one for one in solution.ids if one not in given],
        [one for one in ids if one not in known],
    )
    wrong += [("missing_ids", {"count": len(missing), "first": examples(missing)})] if missing else []
    wrong += [("extra_ids", {"count": len(extra), "first": examples(extra)})] if extra else []
    values: dict[str, list[Any]] = {}
    for name, kind in solution.columns.items():
        column, found = _column(name, [row[places[name]] for row in rows], kind, solution.classes)
        values[name] = column
        wrong += found
    if wrong:
        raise Refused(*wrong)
    at = {one: n for n, one in enumerate(ids)}
    order = [at[one] for one in solution.ids]
    return Reading(
        {name: [column[n] for n in order] for name, column in values.items()}, preview(header, rows)
    )


def preview(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """What was read, for people."""

    def short(cells: Sequence[str]) -> list[str]:
        return [clean(cell[:PREVIEW_LETTERS]) for cell in cells[:PREVIEW_COLUMNS]]

    return {
        "header": short(header),
        "rows": [short(row) for row in rows[:PREVIEW_ROWS]],
        "count": len(rows),
        "columns": len(header),
    }


def _table(content: bytes, most_bytes: int, most_rows: int = 2_000_000) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV file, without spaces around cells."""
    if len(content) > most_bytes:
        raise refuse("too_big", most=f"{most_bytes / (1 << 20):.3g} MB")
    if content.startswith(b"PK"):
        raise refuse("spreadsheet")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse("not_utf8") from error
    if "\0" in text:
        raise refuse("not_utf8")
    rows: list[list[str]] = []
    header: list[str] = []
    try:
        for line in csv.reader(io.StringIO(text, newline=""), strict=True):
            row = [cell.strip() for cell in line]
            if not any(row):
                continue
            if not header:
                header = row
            elif len(row) != len(header):
                raise refuse("width", line=len(rows) + 2, expected=len(header), given=len(row))
            elif len(rows) == most_rows:
                raise refuse("too_many_rows", most=most_rows)
            else:
                rows.append(row)
    except csv.Error as error:
        raise refuse("not_csv", line=len(rows) + 2, why=clean(str(error))) from error
    if len(header) == 1 and re.search(r"[;\t]", header[0]):
        raise refuse("separator")
    if not rows:
        raise refuse("empty")
    return header, rows


def _id_problems(ids: list[str]) -> list[Problem]:
    twice = [one for one, count in Counter(ids).items() if count > 1]
    found: list[Problem] = [("twice_ids", {"count": len(twice), "first": examples(twice)})] if twice else []
    return found + ([("blank_ids", {"count": ids.count("")})] if "" in ids else [])


def _column(name: str, texts: list[str], kind: Kind, classes: list[str]) -> tuple[list[Any], list[Problem]]:
    """The values, and what is wrong with them."""
    if kind in ("text", "items"):
        return texts, []
    if kind == "class":
        whole, blank = all(map(_WHOLE.fullmatch, classes)), {"", "nan"} - set(classes)
        wrong = _wrong(name, texts, "blank", lambda text: text.lower() in blank)
        return [_as_class(text, whole) for text in texts], wrong
    numbers = _floats(texts)
    wrong = _wrong(name, texts, "not_number", _is_no_number)
    if not wrong:
        wrong = _wrong(name, texts, "not_finite", lambda text: not math.isfinite(float(text)))
    if not wrong and kind == "probability":
        wrong = _wrong(name, texts, "not_probability", lambda text: not 0 <= float(text) <= 1)
    return numbers, wrong


def _as_class(text: str, whole: bool) -> str:
    """3.0 is the class 3: a column of numbers often leaves pandas so."""
    found = _WHOLE_AS_FLOAT.fullmatch(text) if whole else None
    return found[1] if found else text


def _wrong(name: str, texts: list[str], kind: str, test: Callable[[str], bool]) -> list[Problem]:
    lines = [n for n, text in enumerate(texts) if test(text)]
    if not lines:
        return []
    first = clean(texts[lines[0]][:PREVIEW_LETTERS])
    return [(kind, {"column": name, "count": len(lines), "line": lines[0] + 2, "value": first})]


def _kind_of(values: list[str], metrics_own: Kind | None) -> Kind:
    """For the teacher's own metric, a column of numbers must be submitted as numbers."""
    return metrics_own or ("number" if _is_numeric(values) else "text")


def _is_no_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return True
    return False


def _is_numeric(values: list[str]) -> bool:
    return not any(map(_is_no_number, values)) and all(math.isfinite(float(value)) for value in values)


def _floats(texts: list[str]) -> list[float]:
    return [math.nan if _is_no_number(text) else float(text) for text in texts]
