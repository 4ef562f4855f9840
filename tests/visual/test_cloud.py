"""The cloud of points: what is drawn, what is thinned, what is refused."""

import json

import numpy as np
import pytest

from sampan.visual.cloud import MOST_POINTS, cloud, thinned
from sampan.visual.style import COLORS


def drawn(figure):
    """Every point drawn, [n, 3], in the order of the traces."""
    return np.concatenate([np.stack([trace.x, trace.y, trace.z], 1) for trace in figure.data])


def test_labels_become_traces_with_names_and_colours():
    places = np.arange(30.0).reshape(10, 3)
    labels = np.array([2, 0, 2, 0, 0, 2, 2, 0, 2, 2])
    figure = cloud(places, labels, ["leg", "arm", "seat"])
    assert [trace.name for trace in figure.data] == ["leg", "seat"]
    assert [trace.marker.color for trace in figure.data] == [COLORS[0], COLORS[2]]
    assert np.array_equal(drawn(figure), np.concatenate([places[labels == 0], places[labels == 2]]))
    assert figure.layout.scene.aspectmode == "data" and figure.layout.showlegend
    by_number = cloud(places, labels, {0: "zero", 2: "two"})
    assert [trace.name for trace in by_number.data] == ["zero", "two"]
    assert [trace.name for trace in cloud(places, labels).data] == ["0", "2"]


def test_values_share_one_scale():
    values = np.linspace(-1, 1, 5)
    (trace,) = cloud(np.zeros((5, 3)), values).data
    assert np.allclose(trace.marker.color, values) and trace.marker.colorscale is not None


def test_many_points_are_thinned_evenly_and_the_title_says_so():
    count = MOST_POINTS + 10_000
    places = np.stack([np.arange(count), np.arange(count), np.arange(count)], 1)
    labels = (places[:, 0] >= count // 2).astype(int)
    figure = cloud(places, labels, title="a cloud")
    shown = drawn(figure)
    assert len(shown) == MOST_POINTS and len(np.unique(shown[:, 0])) == MOST_POINTS
    assert "20,000 of 30,000" in figure.layout.title.text
    assert abs(len(figure.data[0].x) / MOST_POINTS - 0.5) < 0.02
    assert np.array_equal(thinned(count), thinned(count)) and np.array_equal(thinned(5), np.arange(5))
    assert len(figure.to_json()) / MOST_POINTS < 40  # bytes a point


def test_no_points_are_an_empty_picture():
    assert json.loads(cloud(np.zeros((0, 3))).to_json())["data"][0]["type"] == "scatter3d"
    assert len(cloud(np.zeros((0, 3)), np.zeros(0, int)).data) == 0


@pytest.mark.parametrize(
    ("places", "colours", "names", "words"),
    [
        (np.zeros((3, 2)), None, None, r"places: expected \[points, 3\], got shape \[3, 2\]"),
        (np.full((3, 3), np.nan), None, None, "places: expected finite"),
        (np.zeros((3, 3)), [1, 2], None, r"colours: expected one for each of 3 points, got shape \[2\]"),
        (np.zeros((3, 3)), [1.0, 2.0, np.inf], None, "colours: expected finite"),
        (np.zeros((3, 3)), [0, 1, 5], ["a", "b"], r"names: expected one for label 5, got those of \[0, 1\]"),
    ],
)
def test_what_cannot_be_drawn_is_refused(places, colours, names, words):
    with pytest.raises(ValueError, match=words):
        cloud(places, colours, names)
