"""Pictures of what a machine makes of a loop: what is drawn is what was given."""

import numpy as np
import pytest

from sampan import visual


def test_reads_keep_their_order():
    made = visual.reads({"down": [0, 256, 512], "along": [0, 4, 8]})
    assert [(line.name, list(line.y)) for line in made.data] == [
        ("down", [0, 256, 512]),
        ("along", [0, 4, 8]),
    ]
    with pytest.raises(ValueError, match="at least one address"):
        visual.reads({"none": []})


def test_no_point_of_the_roof_is_above_memory_or_arithmetic():
    peak, bandwidth = 1e11, 2e10
    made = visual.roofline({"add": (0.125, 2e9), "product": (64.0, 9e10)}, peak, bandwidth)
    roof, points = made.data
    assert np.allclose(roof.y, np.minimum(peak, bandwidth * np.array(roof.x)))
    assert list(points.text) == ["add", "product"] and list(points.y) == [2e9, 9e10]
    assert min(roof.x) < 0.125 and max(roof.x) > 64  # every point stands under the roof's line


@pytest.mark.parametrize(
    "given", [({}, 1, 1), ({"a": (0, 1)}, 1, 1), ({"a": (1, 1)}, 0, 1), ({"a": (1, float("nan"))}, 1, 1)]
)
def test_a_roof_of_nothing(given):
    with pytest.raises(ValueError, match="positive numbers"):
        visual.roofline(*given)
