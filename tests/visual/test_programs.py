"""Pictures of Programs: rectangles of an arena and bars of a race."""

import numpy as np
import pytest

from sampan import visual
from sampan.visual.programs import WRONG

LIVES = [("v0", 64, 0, 1), ("v1", 128, 1, 2), ("v2", 64, 2, 3)]


def test_a_value_is_as_wide_as_its_life_and_as_high_as_its_bytes():
    made = visual.arena(LIVES, [128, 0, 128], "three", ("calls", "kilobytes"))
    boxes = [(min(t.x), max(t.x), min(t.y), max(t.y)) for t in made.data]
    np.testing.assert_allclose(boxes, [(0, 2, 0.128, 0.192), (1, 3, 0, 0.128), (2, 4, 0.128, 0.192)])
    assert WRONG not in [t.fillcolor for t in made.data] and made.layout.title.text == "three"
    assert (made.layout.xaxis.title.text, made.layout.yaxis.title.text) == ("calls", "kilobytes")
    assert [note.text for note in made.layout.annotations] == ["v0", "v1", "v2"]
    small = visual.arena([*LIVES, ("v3", 64, 4, 5)], [6400, 0, 128, 0])
    assert not small.layout.annotations  # too low for a name


def test_values_that_overlap_are_red():
    assert [t.fillcolor == WRONG for t in visual.arena(LIVES, [64, 0, 64]).data] == [True, True, True]
    # v0 is read by call 1 for the last time, and v2 is made by call 2: they may share.
    assert [t.fillcolor == WRONG for t in visual.arena(LIVES, [0, 64, 0]).data] == [False, False, False]


def test_bars_have_numbers_and_shares_of_the_first():
    made = visual.bars({"eager": 2.0, "replay": 0.5}, "who", "ms")
    (bars,) = made.data
    assert list(bars.y) == ["eager", "replay"] and list(bars.x) == [2.0, 0.5]
    assert list(bars.text) == ["2 ms (1.00)", "0.5 ms (0.25)"]


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="arena: places: expected 3 offsets, got 1"):
        visual.arena(LIVES, [0])
    with pytest.raises(ValueError, match="bars: values: expected positive"):
        visual.bars({"a": 0.0})
