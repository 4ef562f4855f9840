"""The competition that comes with the Studio: the sum of two handwritten digits, with a baseline notebook."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from ..competition import Competition
from ..making import create
from ..store import DAY_S, Store

NAME = "two-digits"
BASELINE = "baseline.ipynb"
HERE = Path(__file__).parent
TRAIN, TEST = 3000, 1000
FIRST_TEST = (
    1197  # of the 1,797 digits; those before it are in the training pictures, the others in the test pictures
)
DAYS = 60


def set_up(store: Store, now: float) -> Competition:
    """Makes the competition and submits the baseline, which the scorer then runs. Raises `Refused` if it is there already,
    ImportError without scikit-learn."""
    texts: dict[str, str] = json.loads((HERE / "texts.json").read_text("utf-8"))
    train, test, solution = _made(
        np.random.default_rng()
    )  # from the system's entropy: no two copies have the same pairs
    notebook = (HERE / BASELINE).read_bytes()
    wanted = Competition(
        name=NAME,
        metric="accuracy",
        start=now,
        deadline=now + DAYS * DAY_S,
        team_size=3,
        title=texts["title"],
        title_zh=texts["title_zh"],
        description=texts["description"],
        description_zh=texts["description_zh"],
    )
    made = create(store, wanted, solution, {"train.csv": train, "test.csv": test})
    store.baseline(NAME, "baseline", "notebook", BASELINE, notebook)
    return made


def baseline(lang: str) -> bytes:
    """The baseline notebook in English or Chinese."""
    import nbformat

    from studio.grading import release

    return nbformat.writes(release.release(release.read(HERE / BASELINE), lang)).encode()


def _made(rng: np.random.Generator) -> tuple[bytes, bytes, bytes]:
    """train.csv, test.csv and the solution. Each pixel is changed by at most 2, so that no row equals one of the public
    data set."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = digits.images.astype(np.int64), digits.target

    def pictures(first: int, end: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        left, right = rng.integers(first, end, (2, count))
        pixels = np.concatenate([images[left], images[right]], 2) + rng.integers(-2, 3, (count, 8, 16))
        return pixels.clip(0, 16).reshape(count, -1), labels[left] + labels[right]

    columns = [f"p{n}" for n in range(8 * 16)]
    train, train_sums = pictures(0, FIRST_TEST, TRAIN)
    test, test_sums = pictures(FIRST_TEST, len(labels), TEST)
    return (
        _csv(
            ["id", *columns, "sum"],
            [[f"a{n}", *row, s] for n, (row, s) in enumerate(zip(train.tolist(), train_sums, strict=True))],
        ),
        _csv(["id", *columns], [[f"t{n}", *row] for n, row in enumerate(test.tolist())]),
        _csv(["id", "sum"], [[f"t{n}", s] for n, s in enumerate(test_sums)]),
    )


def _csv(header: list[str], rows: list[list[Any]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue().encode()
