"""The competition that comes with the Studio: its data, its baseline, both languages."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from studio.competitions import example, scorer
from studio.competitions.running import Runner
from studio.competitions.scoring import Scorer
from studio.competitions.store import Store
from studio.grading import release, translation


def table(content: bytes) -> tuple[list[str], list[list[str]]]:
    header, *rows = csv.reader(io.StringIO(content.decode()))
    return header, rows


def test_the_sums_are_those_of_the_pictures_and_no_row_is_in_the_public_data() -> None:
    """Each half is looked up in scikit-learn's digits by its nearest neighbour, which the noise is too small to change."""
    train, test, solution = map(table, example._made(np.random.default_rng(0)))
    assert (len(train[1]), len(test[1]), len(solution[1])) == (3000, 1000, 1000)
    digits = load_digits()
    for (_, rows), sums in ((train, [row[-1] for row in train[1]]), (test, [row[1] for row in solution[1]])):
        some = slice(0, 1000, 20)
        pictures = np.array([row[1:129] for row in rows[some]], np.int64).reshape(-1, 8, 16)
        assert pictures.min() >= 0 and pictures.max() <= 16
        halves = np.stack([pictures[:, :, :8], pictures[:, :, 8:]], 1).reshape(-1, 64)
        distances = ((halves[:, None] - digits.data[None]) ** 2).sum(2)
        assert distances.min() > 0
        found = digits.target[distances.argmin(1)].reshape(-1, 2).sum(1)
        assert found.tolist() == [int(one) for one in sums[some]]
    again = table(example._made(np.random.default_rng(1))[2])
    assert again != solution


def test_the_notebook_is_whole_in_both_languages() -> None:
    notebook = release.read(example.HERE / example.BASELINE)
    assert translation.faults(notebook) == []
    english, chinese = (example.baseline(lang).decode() for lang in ("en", "zh"))
    assert "a baseline" in english and "基线" in chinese and "Header, ids" not in chinese


def test_the_baseline_runs_in_the_sandbox_and_is_on_the_board(tmp_path: Path, runner: Runner) -> None:
    store = Store(tmp_path)
    competition = example.set_up(store, time.time())
    marking = Scorer(store)
    marking._runner = runner
    scorer.drain(marking)
    sample, baseline = store.submissions(competition.name)
    assert sample.state == baseline.state == "scored", baseline
    assert baseline.public is not None and baseline.private is not None
    assert (
        0.4 < baseline.public < 0.75 and 0.4 < baseline.private < 0.75
    )  # 0.05 by chance; the page says how to do better
