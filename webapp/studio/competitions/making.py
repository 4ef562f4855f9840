"""Making and changing a competition: everything that a teacher gives is checked before any of it is shown."""

from __future__ import annotations

import ast
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from studio.runtime import write_atomically

from .competition import FILE_NAME, MOST_INPUT, Competition
from .metrics import METRICS, OWN
from .problems import refuse
from .store import Store
from .tables import read_solution, sample

SAMPLE = "sample_submission.csv"
MOST_FILES = 20
MOST_CODE = 50_000  # characters of a metric


def create(
    store: Store, wanted: Competition, solution: bytes, data: Mapping[str, bytes], metric_code: str = ""
) -> Competition:
    """A new competition with its files and a sample submission, which is scored first: so a teacher sees whether the metric
    works. Raises `Refused`; nothing is left then."""
    made = replace(wanted, seed=secrets.token_hex(16), lower=lower(wanted))
    sample_content = sample(read_solution(solution, made), made)
    files = {SAMPLE: sample_content, **data}
    _check_files(files)
    if made.metric == OWN:
        check_code(metric_code)
    if store.competition(made.name) is not None:
        raise refuse("name_taken", name=made.name)
    folder = store.folder / made.name
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError as error:
        raise refuse("name_taken", name=made.name) from error
    try:
        for name, content in files.items():
            write_atomically(store.place(made.name, "public", name), content)
        write_atomically(store.place(made.name, "private", "solution.csv"), solution)
        if made.metric == OWN:
            write_atomically(store.place(made.name, "private", "metric.py"), metric_code.encode())
        store.create(made)
    except BaseException:
        shutil.rmtree(folder)
        raise
    store.baseline(made.name, SAMPLE, "predictions", SAMPLE, sample_content)
    return made


def lower(competition: Competition) -> bool:
    """Whether a lower score is better: the metric knows, unless it is the teacher's own."""
    return competition.lower if competition.metric == OWN else METRICS[competition.metric].lower


def add_data(store: Store, name: str, data: Mapping[str, bytes]) -> None:
    """More files for learners; one of the same name is replaced."""
    _check_files({**dict.fromkeys((path.name for path in store.data_files(name)), b""), **data})
    for file, content in data.items():
        write_atomically(store.place(name, "public", file), content)


def remove_data(store: Store, name: str, file: str) -> None:
    """Raises `Refused` for a file that is not there."""
    data_file(store, name, file).unlink()


def data_file(store: Store, name: str, file: str) -> Path:
    """The path of one of the data files. Raises `Refused` for any other name."""
    found = next((path for path in store.data_files(name) if path.name == file), None)
    if found is None or found.is_symlink():
        raise refuse("no_such_file", file=file[:80])
    return found


def correct(store: Store, competition: Competition, solution: bytes = b"", metric_code: str = "") -> int:
    """Other labels or another metric of the teacher's; all submissions are scored again. Returns how many."""
    if solution:
        path = store.place(competition.name, "private", "solution.csv")
        before, after = read_solution(path.read_bytes(), competition), read_solution(solution, competition)
        if set(before.ids) != set(after.ids) or before.columns != after.columns:
            raise refuse("solution.other_rows")
        write_atomically(path, solution)
    if metric_code.strip() and competition.metric == OWN:
        check_code(metric_code)
        write_atomically(store.place(competition.name, "private", "metric.py"), metric_code.encode())
    return store.rescore(competition.name)


def check_code(code: str) -> None:
    """Raises `Refused` if it is no Python with a function `metric` of two arguments. It is not run."""
    if len(code) > MOST_CODE:
        raise refuse("metric_long", most=MOST_CODE)
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError) as error:
        raise refuse("metric_syntax", why=str(error)[:200]) from error
    if not any(
        isinstance(one, ast.FunctionDef) and one.name == "metric" and len(one.args.args) == 2 for one in body
    ):
        raise refuse("metric_missing")


def _check_files(files: Mapping[str, bytes]) -> None:
    wrong = [name for name in files if not FILE_NAME.fullmatch(name)]
    if wrong:
        raise refuse("file_name", file=wrong[0][:80])
    large = [name for name, content in files.items() if len(content) > MOST_INPUT]
    if large:
        raise refuse("file_big", file=large[0], most=f"{MOST_INPUT >> 20} MB")
    if len(files) > MOST_FILES:
        raise refuse("files", most=MOST_FILES)
