"""Each metric beside another computation of it: torch, a count of pairs, figures by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from studio.competitions import metrics

CLASSES = ["x", "y", "z"]


def score(name: str, truth: object, submitted: object, k: int = 5, classes: list[str] | None = None) -> float:
    return metrics.score(name, truth, submitted, k, classes or [])


def test_accuracy_and_f1_by_hand() -> None:
    truth, submitted = list("xxxyyz"), list("xxyyzz")
    assert score("accuracy", truth, submitted) == pytest.approx(4 / 6)
    # x: precision 1, recall 2/3; y: 1/2 and 1/2; z: 1/2 and 1.
    assert score("macro_f1", truth, submitted) == pytest.approx((0.8 + 0.5 + 2 / 3) / 3)


def test_a_class_that_only_was_submitted_counts_in_macro_f1() -> None:
    assert score("macro_f1", list("xx"), list("xw")) == pytest.approx((2 / 3 + 0) / 2)


def test_log_loss_is_torchs_after_the_rows_are_scaled() -> None:
    rng = np.random.default_rng(3)
    given = rng.random((40, 3)) * 3
    truth = rng.integers(0, 3, 40)
    scaled = torch.from_numpy(given / given.sum(1, keepdims=True))
    expected = torch.nn.functional.nll_loss(scaled.log(), torch.from_numpy(truth))
    assert score("log_loss", [CLASSES[n] for n in truth], given, classes=CLASSES) == pytest.approx(
        float(expected), rel=1e-12
    )
    blank = score("log_loss", ["x", "z"], np.zeros((2, 3)), classes=CLASSES)
    assert blank == pytest.approx(np.log(3))
    assert np.isfinite(score("log_loss", ["x"], np.array([[0.0, 1.0, 0.0]]), classes=CLASSES))


def test_auc_counts_pairs_in_order() -> None:
    rng = np.random.default_rng(4)
    truth, given = rng.integers(0, 2, 50), np.round(rng.random(50), 1)  # with ties
    pairs = [(a > b) + (a == b) / 2 for a in given[truth == 1] for b in given[truth == 0]]
    assert score("auc", [str(n) for n in truth], given) == pytest.approx(np.mean(pairs))
    with pytest.raises(ValueError, match="both classes"):
        score("auc", ["1", "1"], np.array([0.1, 0.2]))


def test_errors_of_numbers_are_torchs_and_columns_are_averaged() -> None:
    rng = np.random.default_rng(5)
    truth, given = rng.standard_normal((2, 30, 2))
    t, g = torch.from_numpy(truth), torch.from_numpy(given)
    columns = [float(torch.nn.functional.mse_loss(g[:, c], t[:, c]) ** 0.5) for c in range(2)]
    assert score("rmse", truth, given) == pytest.approx(np.mean(columns))
    assert score("mae", truth, given) == pytest.approx(float(torch.nn.functional.l1_loss(g, t)))


@pytest.mark.parametrize(
    ("relevant", "ranked", "k", "expected"),
    [
        # The published examples of Hamner's `apk`, which Kaggle's competitions used.
        ("1 2 3 4 5", "6 4 7 1 2", 2, 0.25),
        ("1 2 3 4 5", "1 1 1 1 1", 5, 0.2),
        ("1 3", "1 2 3 4", 3, (1 + 2 / 3) / 2),
        ("1", "2 3", 2, 0.0),
        ("1 2", "", 2, 0.0),
    ],
)
def test_average_precision(relevant: str, ranked: str, k: int, expected: float) -> None:
    assert score("map_at_k", [relevant], [ranked], k) == pytest.approx(expected)
    assert score("map_at_k", [relevant, "a"], [ranked, "a"], k) == pytest.approx((expected + 1) / 2)


def test_error_rates_of_texts_by_hand() -> None:
    assert score("wer", ["the cat sat", "a b"], ["the bat sat down", "a b"]) == pytest.approx(2 / 5)
    assert score("cer", ["abc", "你好"], ["adc", "你"]) == pytest.approx(2 / 5)


def test_lower_and_higher() -> None:
    assert {name for name, one in metrics.METRICS.items() if one.lower} == {
        "log_loss",
        "rmse",
        "mae",
        "cer",
        "wer",
    }
