"""The runs of an ablation, beside the numbers that pandas-less arithmetic gives for them."""

import numpy as np
import pytest

import sampan
from sampan import embedding, nn, optimizer


def test_runs_curve_and_table():
    scores = {(2, 0): 0.5, (2, 1): 0.7, (8, 0): 0.9, (8, 1): 0.8, (4, 0): 0.6, (4, 1): 0.6}
    told = []
    found = embedding.ablate_dimension(
        lambda dim, seed: {"score": scores[dim, seed], "parameters": 10 * dim},
        [2, 8, 4],
        [0, 1],
        progress=lambda run, done, total: told.append((run.dim, run.seed, done, total)),
    )
    assert told == [(2, 0, 1, 6), (8, 0, 2, 6), (4, 0, 3, 6), (2, 1, 4, 6), (8, 1, 5, 6), (4, 1, 6, 6)]
    curve = found.curve()
    assert curve["dim"].tolist() == [2, 4, 8] and curve["runs"].tolist() == [2, 2, 2]
    np.testing.assert_allclose(curve["mean"], [0.6, 0.6, 0.85])
    np.testing.assert_allclose(curve["std"], [np.sqrt(0.02), 0, np.sqrt(0.005)], atol=1e-12)
    np.testing.assert_allclose([curve["least"], curve["most"]], [[0.5, 0.6, 0.8], [0.7, 0.6, 0.9]])
    assert [row["parameters"] for row in found.table()] == [20, 40, 80]
    assert "dim     8  0.8500" in repr(found)


def test_the_best_is_the_narrowest_within_one_standard_error():
    scores = {4: [0.80, 0.80], 8: [0.89, 0.87], 16: [0.85, 0.95], 32: [0.9, 0.86]}
    found = embedding.ablate_dimension(lambda dim, seed: scores[dim][seed], list(scores), [0, 1])
    assert found.best() == 8  # 0.90 at 16, with a standard error of 0.05
    diverged = embedding.ablate_dimension(lambda dim, seed: float("nan") if dim == 16 else dim, [4, 16], [0])
    assert diverged.best() == 4 and np.isnan(diverged.table()[1]["mean"])
    with pytest.raises(ValueError, match="every one has a NaN"):
        embedding.ablate_dimension(lambda dim, seed: float("nan"), [4], [0]).best()


def test_a_table_that_is_too_narrow_shows():
    """Ten items that a dot product with themselves must distinguish: impossible at width 1."""

    def build_and_score(dim, seed):
        table = nn.Embedding(10, dim)
        rule = optimizer.Adam(0.05, parameters=table.parameters(), lazy_mode=True)
        ids = sampan.arange(10)
        for _ in range(60):
            rows = table(ids)
            nn.functional.cross_entropy(rows @ rows.t(), ids).backward()
            rule.step()
            rule.clear_grad()
        rows = table(ids).numpy()
        return float(((rows @ rows.T).argmax(1) == np.arange(10)).mean())

    found = embedding.ablate_dimension(build_and_score, [1, 8], [0, 1])
    narrow, wide = found.curve()["mean"]
    assert narrow < 0.5 and wide == 1.0 and found.best() == 8
    again = embedding.ablate_dimension(build_and_score, [8], [0])
    assert again.runs[0].score == found.runs[1].score


@pytest.mark.parametrize(
    ("dims", "seeds", "error", "said"),
    [
        ([], [0], ValueError, "dims: expected different integers"),
        ([4, 4], [0], ValueError, "dims: expected different integers"),
        ([0], [0], ValueError, "dims: expected 1 or more"),
        ([2.5], [0], TypeError, "dims: expected integers"),
        ([2], [1, 1], ValueError, "seeds: expected different integers"),
    ],
)
def test_bad_widths_and_seeds(dims, seeds, error, said):
    with pytest.raises(error, match=said):
        embedding.ablate_dimension(lambda dim, seed: 0.0, dims, seeds)


def test_a_score_that_is_no_number():
    with pytest.raises(TypeError, match="expected a number, or a dictionary with 'score', got str"):
        embedding.ablate_dimension(lambda dim, seed: "good", [2])
