"""The picture of workers in a ring, made of a run of the library's function."""

from itertools import pairwise

import numpy as np
import pytest

from sampan import visual
from sampan.distributed import ring as workers
from sampan.visual.workers import ring_states


@pytest.mark.parametrize("world", [2, 3, 5])
def test_states_are_those_of_the_two_rounds(world):
    states = ring_states(world)
    assert states.shape == (2 * (world - 1) + 1, world, world)
    assert (states[0] == (1 << np.arange(world))[:, None]).all()
    assert (states[-1] == 2**world - 1).all()
    complete = (states[world - 1] == 2**world - 1).nonzero()  # after the first round each worker has one sum
    assert sorted(complete[0]) == list(range(world)) and list(complete[1]) == [
        (r + 1) % world for r in complete[0]
    ]
    for before, after in pairwise(states):
        assert ((before != after).sum(1) == 1).all()  # one chunk a step and worker


def test_the_slider_shows_one_state():
    made = visual.ring(3, "three", ("w", "c", "s"))
    (slider,) = made.layout.sliders
    assert len(slider.steps) == 5 and len(made.data) == 10
    for number, step in enumerate(slider.steps):
        assert np.flatnonzero(step.args[0]["visible"]).tolist() == [2 * number, 2 * number + 1]
    assert [trace.visible for trace in made.data] == [True, True] + 8 * [False]
    assert [list(row) for row in made.data[0].text] == [["0"] * 3, ["1"] * 3, ["2"] * 3]
    assert [list(row) for row in made.data[8].text] == [["0+1+2"] * 3] * 3 and not len(made.data[1].x)
    cells = [
        (round(y - 0.08), round(x)) for x, y in zip(made.data[3].x[1::6], made.data[3].y[1::6], strict=True)
    ]
    assert len(cells) == 3
    for row, column in cells:
        assert made.data[2].text[row][column].count("+") == 1
    assert made.layout.yaxis.ticktext == ("w 0", "w 1", "w 2") and made.layout.xaxis.ticktext[2] == "c 2"


def test_a_function_in_the_librarys_place_is_drawn(monkeypatch):
    def to_one_neighbour(values, links):
        links.send(values)
        values += links.receive(len(values), values.dtype)

    monkeypatch.setattr(workers, "all_reduce", to_one_neighbour)
    assert ring_states(2).tolist() == [[[1, 1], [2, 2]], [[3, 3], [3, 3]]]


def test_what_cannot_be_drawn():
    for world in (1, 9):
        with pytest.raises(ValueError, match=f"ring: world: expected 2 to 8 workers, got {world}"):
            visual.ring(world)
