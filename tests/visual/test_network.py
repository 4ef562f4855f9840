"""Figures of graphs: what is drawn, and what is refused."""

import numpy as np
import pytest

from sampan import visual

EDGES = [[0, 1], [1, 2], [2, 0], [2, 3]]
PLACES = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]


def test_every_edge_is_one_line_and_every_node_one_dot():
    made = visual.network(EDGES, PLACES, ["a", "b", "a", "b"], ["p", "q", "r", "s"], marked=[3], title="four")
    thin, thick, *dots = made.data
    assert list(thin.x[:2]) == [0.0, 1.0] and np.isnan(thin.x[2]) and len(thin.x) == 3 * 4
    assert list(thick.x[:2]) == [0.0, 2.0] and thick.line.width > thin.line.width
    assert [trace.name for trace in dots] == ["a", "b"]
    assert list(dots[0].text) == ["p", "r"] and list(dots[1].y) == [0.0, 2.0]
    assert made.layout.title.text == "four"


def test_a_long_label_is_only_under_the_pointer():
    made = visual.network([], PLACES[:2], labels=["short", "a label of many words"])
    assert list(made.data[1].text) == ["short", ""] and made.data[1].hovertext[1] == "a label of many words"


def test_a_large_graph_is_thinned_and_its_labels_are_under_the_pointer():
    rng = np.random.default_rng(0)
    made = visual.network(rng.integers(0, 3000, (30_000, 2)), rng.normal(size=(3000, 2)), title="large")
    assert len(made.data[0].x) == 3 * 20_000 and "20,000 of 30,000 edges" in made.layout.title.text
    assert made.data[1].mode == "markers" and made.data[1].hovertext[5] == "5"


def test_a_graph_without_edges():
    made = visual.network([], PLACES[:1])
    assert len(made.data[0].x) == 0 and list(made.data[1].x) == [0.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"edges": [[0, 4]]}, "ids from 0 to 3, got 0 to 4"),
        ({"edges": [[0.5, 1.0]]}, r"node ids \[edges, 2\], got float64"),
        ({"edges": [0, 1]}, r"node ids \[edges, 2\]"),
        ({"places": [[0.0, np.nan]] * 4}, "finite numbers"),
        ({"places": [0.0] * 4}, r"finite numbers \[nodes, 2\]"),
        ({"groups": ["a"]}, "groups: expected one for each of 4 nodes, got 1"),
        ({"labels": ["a"]}, "labels: expected one for each of 4 nodes, got 1"),
        ({"marked": [4]}, "numbers from 0 to 3"),
    ],
)
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        visual.network(**{"edges": EDGES, "places": PLACES, **given})


def test_the_layout_is_the_same_each_time_and_joined_nodes_are_closer():
    edges = [[a, b] for first in (0, 5) for a in range(first, first + 5) for b in range(first, a)] + [[0, 5]]
    one, again = visual.laid_out(edges, 10), visual.laid_out(edges, 10)
    assert one.shape == (10, 2) and (one == again).all()
    between = np.linalg.norm(one[:, None] - one, axis=-1)
    assert between[:5, :5].mean() < between[:5, 5:].mean()
    with pytest.raises(ValueError, match="laid_out: edges: expected ids from 0 to 1"):
        visual.laid_out([[0, 2]], 2)


def test_curves_have_one_line_for_each_column_after_the_setting():
    made = visual.curves({"k": [1, 10], "a": [0.1, 0.2], "b": [3, 4]}, "two", log=True)
    assert [trace.name for trace in made.data] == ["a", "b"] and list(made.data[1].y) == [3, 4]
    assert made.layout.xaxis.title.text == "k" and made.layout.yaxis.type == "log"
    for table in ({"k": [1]}, {"k": [1], "a": [1, 2]}):
        with pytest.raises(ValueError, match="a setting and lines of one length"):
            visual.curves(table)
