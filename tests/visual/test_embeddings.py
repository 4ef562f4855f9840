"""Figures of tables of vectors: the input is drawn, thinning is stated, and invalid input raises."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sampan import visual
from sampan.embedding.ablation import Ablation, Run
from sampan.visual.cloud import MOST_POINTS
from sampan.visual.style import COLORS, MUTED

RNG = np.random.default_rng(3)


def numbers_of(figure):
    return [np.array(trace.customdata).tolist() for trace in figure.data]


def test_pca_keeps_the_distances_of_what_lies_in_three_directions():
    flat = RNG.normal(size=(40, 3)) @ np.linalg.qr(RNG.normal(size=(16, 3)))[0].T + 5.0
    made = visual.projected(flat)
    assert made.shape == (40, 3) and made.dtype == np.float32
    np.testing.assert_allclose(cdist(made, made), cdist(flat, flat), atol=1e-4)
    spread = made.var(0)
    assert spread[0] > spread[1] > spread[2]


@pytest.mark.parametrize("shape", [(0, 8), (1, 8), (2, 8), (5, 2), (4, 1)])
@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_few_vectors_are_projected_too(shape, method):
    vectors = RNG.normal(size=shape)
    made = visual.projected(vectors, method)
    assert made.shape == (shape[0], 3) and np.isfinite(made).all()
    if method == "pca" and shape[0] > 1:
        np.testing.assert_allclose(cdist(made, made), cdist(vectors, vectors), atol=1e-5)


def test_tsne_keeps_neighbours_and_its_picture():
    middles = RNG.normal(size=(3, 12)) * 20
    vectors = np.repeat(middles, 15, 0) + RNG.normal(size=(45, 12))
    made = visual.projected(vectors, "tsne", seed=1)
    apart = cdist(made, made) + np.eye(45) * 1e9
    assert (apart.argmin(1) // 15 == np.arange(45) // 15).mean() > 0.85
    assert np.array_equal(made, visual.projected(vectors, "tsne", seed=1))


def test_projected_refuses():
    with pytest.raises(ValueError, match="method: expected one of pca, tsne, got 'umap'"):
        visual.projected(np.zeros((3, 4)), "umap")
    with pytest.raises(ValueError, match=r"vectors: expected \[n, d\], got shape \[4\]"):
        visual.projected(np.zeros(4))
    with pytest.raises(ValueError, match="vectors: expected finite"):
        visual.projected(np.full((3, 4), np.nan))


def test_a_map_has_each_point_once_under_its_label():
    points, labels = RNG.normal(size=(9, 3)), [f"word {i}" for i in range(9)]
    (trace,) = visual.vector_map(points, labels).data
    assert list(trace.hovertext) == labels and np.array_equal(trace.customdata, np.arange(9))
    np.testing.assert_allclose(np.stack([trace.x, trace.y, trace.z], 1), points, rtol=1e-6)


def test_groups_are_traces_the_most_frequent_first_and_the_rest_are_others():
    groups = [f"g{k}" for k in range(12) for _ in range(12 - k)]
    figure = visual.vector_map(RNG.normal(size=(len(groups), 3)), ["x"] * len(groups), groups)
    assert [trace.name for trace in figure.data] == [*(f"g{k}" for k in range(8)), "others"]
    assert figure.data[0].marker.color == COLORS[0] and figure.data[-1].marker.color == MUTED
    assert len(set(trace.marker.color for trace in figure.data)) == 9
    for trace, name in zip(figure.data[:8], range(8), strict=True):
        assert [groups[i] for i in trace.customdata] == [f"g{name}"] * (12 - name)
    assert sorted(i for numbers in numbers_of(figure) for i in numbers) == list(range(len(groups)))


def test_marked_points_stand_out_with_their_labels():
    labels = [f"word {i}" for i in range(20)]
    figure = visual.vector_map(RNG.normal(size=(20, 3)), labels, marked=[7, 2, 7], title="near")
    others, marked = figure.data
    assert numbers_of(figure) == [[i for i in range(20) if i not in (2, 7)], [2, 7]]
    assert list(marked.text) == ["word 2", "word 7"] and "text" in marked.mode
    assert marked.marker.size > others.marker.size and marked.marker.opacity != others.marker.opacity
    assert figure.layout.title.text == "near"


def test_a_large_map_is_thinned_and_keeps_what_is_marked():
    count = MOST_POINTS + 5_000
    labels = np.arange(count).astype(str)
    figure = visual.vector_map(RNG.normal(size=(count, 3)), labels, marked=[1, count - 1], title="all")
    shown = [i for numbers in numbers_of(figure) for i in numbers]
    assert len(shown) == len(set(shown)) == MOST_POINTS and {1, count - 1} <= set(shown)
    assert "20,000 of 25,000 points" in figure.layout.title.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((3, 2)), "abc"), r"points: expected \[n, 3\], got shape \[3, 2\]"),
        ((np.full((2, 3), np.inf), "ab"), "points: expected finite"),
        ((np.zeros((3, 3)), "ab"), "labels: expected one for each of 3 points, got 2"),
        ((np.zeros((3, 3)), "abc", "ab"), "groups: expected one for each of 3 points, got 2"),
        ((np.zeros((3, 3)), "abc", None, [3]), r"marked: expected numbers from 0 to 2, got \[3\]"),
        ((np.zeros((3, 3)), "abc", None, [-1]), r"marked: expected numbers from 0 to 2, got \[-1\]"),
    ],
)
def test_what_is_no_map_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        visual.vector_map(*arguments)


def test_an_empty_map_is_an_empty_picture():
    assert len(visual.vector_map(np.zeros((0, 3)), [], []).data) == 0
    assert len(visual.vector_map(np.zeros((0, 3)), []).data[0].x) == 0


def test_neighbours_are_bars_the_nearest_first_also_with_one_name():
    figure = visual.neighbours([("b", 0.2), ("a", 0.9), ("a", -0.5)], "near a")
    (bars,) = figure.data
    assert list(bars.x) == [0.9, 0.2, -0.5] and list(bars.y) == [0, 1, 2]
    assert list(figure.layout.yaxis.ticktext) == ["a", "b", "a"]
    top, bottom = figure.layout.yaxis.range[::-1]
    assert top < bottom, "the nearest stands at the top"
    for pairs, words in (([], "got 0"), ([("a", 1.0)] * 31, "got 31"), ([("a", np.nan)], "finite")):
        with pytest.raises(ValueError, match=f"pairs: expected .*{words}"):
            visual.neighbours(pairs)


def ablation(scores):
    """Runs of widths 4, 8, 16 by these scores, a row for each seed."""
    runs = [Run(dim, seed, score, 1.5, {}) for seed, row in enumerate(scores) for dim, score in zip((4, 8, 16), row, strict=True)]  # fmt: skip
    return Ablation(runs)


def test_an_ablation_shows_every_run_the_mean_and_the_width_that_is_enough():
    scores = np.array([[0.50, 0.70, 0.72], [0.52, 0.74, 0.70]])
    figure = visual.ablation_curve(ablation(scores), "width")
    mean, runs = figure.data
    np.testing.assert_allclose(mean.y, scores.mean(0))
    np.testing.assert_allclose(mean.error_y.array, scores.std(0, ddof=1))
    assert list(runs.x) == [4, 8, 16] * 2 and list(runs.y) == scores.ravel().tolist()
    assert figure.layout.shapes[0].x0 == ablation(scores).best() == 8
    assert list(figure.layout.xaxis.ticktext) == ["4", "8", "16"]


def test_an_ablation_with_a_run_that_ended_in_nan():
    figure = visual.ablation_curve(ablation([[0.5, np.nan, 0.7]]))
    assert np.isnan(figure.data[0].y[1]) and list(figure.data[1].x) == [4, 16]
    with pytest.raises(ValueError, match="every one is NaN"):
        visual.ablation_curve(ablation([[np.nan] * 3]))


GROWN = {
    "rows": [10, 100, 1000],
    **{"dense seconds": [0.1, 1.0, 10.0], "sparse seconds": [0.2, 0.2, 0.2]},
    **{"dense bytes": [40, 400, 4000], "sparse bytes": [80, 80, 80]},
}


def test_growth_has_time_on_the_left_and_memory_on_the_right():
    figure = visual.growth(GROWN, "grows")
    found = {(trace.name, trace.yaxis): list(trace.y) for trace in figure.data}
    assert found == {
        ("dense", "y"): GROWN["dense seconds"],
        ("sparse", "y"): GROWN["sparse seconds"],
        ("dense", "y2"): GROWN["dense bytes"],
        ("sparse", "y2"): GROWN["sparse bytes"],
    }
    assert all(list(trace.x) == GROWN["rows"] for trace in figure.data)
    assert {figure.layout[name].type for name in ("xaxis", "yaxis", "xaxis2", "yaxis2")} == {"log"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": [10, 10, 20]}, "rows must ascend"),
        ({"rows": [0, 10, 20]}, "rows must hold positive"),
        ({"dense bytes": [1, 2]}, r"dense bytes must be as long as rows, got shape \[2\]"),
        ({"sparse seconds": [1, 2, -1]}, "sparse seconds must hold positive"),
        ({"sparse seconds": [1, 2, np.inf]}, "sparse seconds must hold finite"),
    ],
)
def test_growth_refuses(change, words):
    with pytest.raises(ValueError, match=f"growth: {words}"):
        visual.growth({**GROWN, **change})
    with pytest.raises(ValueError, match=r"\['rows'\] are missing"):
        visual.growth({name: column for name, column in GROWN.items() if name != "rows"})


def test_hits_are_lines_over_the_skew():
    table = {"skew": [0.0, 0.5, 1.0], "1 %": [0.01, 0.2, 0.6], "20 %": [0.2, 0.5, 0.9]}
    figure = visual.hits(table, at=0.7)
    assert [(trace.name, list(trace.y)) for trace in figure.data] == [(n, table[n]) for n in ("1 %", "20 %")]
    assert figure.layout.shapes[0].x0 == 0.7 and not visual.hits(table).layout.shapes
    many = {"skew": [0.0, 1.0], **{str(k): [0.0, 1.0] for k in range(9)}}
    assert len(visual.hits(many).data) == 9
    for wrong, words in (
        ({"skew": [0.0, 1.0]}, "must have a column of hit rates"),
        ({"1 %": [0.5]}, r"\['skew'\] are missing"),
        ({"skew": [0.0, 1.0], "1 %": [0.5, 1.5]}, "1 % must hold rates"),
        ({"skew": [1.0, 0.0], "1 %": [0.5, 0.5]}, "skew must ascend"),
    ):
        with pytest.raises(ValueError, match=f"hits: .*{words}"):
            visual.hits(wrong)


def test_popularity_is_sorted_and_says_what_the_top_has():
    counts = np.concatenate([[0, 500, 0, 300], np.ones(198, int)])
    figure = visual.popularity(counts, "films")
    (line,) = figure.data
    assert figure.layout.title.text == "films: 200 ids, 2 of them 80% of the time"
    assert list(line.y[:3]) == [500, 300, 1] and line.x[0] == 1 and line.x[-1] == 200
    sizes = np.sort(counts)[::-1]
    assert list(line.y) == sizes[np.array(line.x) - 1].tolist()
    for wrong in (np.zeros(3, int), np.array([-1, 2]), np.ones(3), np.ones((2, 2), int)):
        with pytest.raises(ValueError, match="counts: expected"):
            visual.popularity(wrong)
