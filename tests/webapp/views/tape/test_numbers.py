"""The numbers on the Tape page: samples, values, gradients, and other numbers for a parameter. Oracles: NumPy, central
differences."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import sampan
from studio import i18n
from studio.views.tape.expression import evaluate
from studio.views.tape.numbers import COLUMNS, ROWS, drawn_again, table
from studio.views.tape.page import TapePage
from studio.views.tape.walk import Walk

X = np.array([[1.0, -2.0], [3.0, 0.5]])
PROGRAM = "x = to_tensor([[1.0, -2.0], [3.0, 0.5]])\ny = x * x\n(y + exp(x)).sum()"


def box(data: Any, title: str) -> dict[str, Any]:
    (found,) = (one for one in data["boxes"] if one["title"] == title)
    return dict(found)


def test_a_sample_holds_the_numbers_at_the_places_that_it_names() -> None:
    numbers = np.arange(3 * 40 * 50, dtype=np.float64).reshape(3, 40, 50) / 7
    found = table(torch.from_numpy(numbers))
    assert found is not None
    assert (found["shape"], found["height"]) == ([3, 40, 50], 120)
    assert len(found["rows"]) == ROWS and len(found["columns"]) == COLUMNS
    assert (found["rows"][0], found["rows"][-1], found["columns"][-1]) == (0, 119, 49)
    expected = numbers.reshape(120, 50)[np.ix_(found["rows"], found["columns"])]
    assert np.allclose(found["values"], expected, rtol=1e-3)
    assert np.isclose(found["greatest"], numbers.max(), rtol=1e-3) and found["least"] == 0


@pytest.mark.parametrize(("shape", "cells"), [((), 1), ((3,), 3), ((0,), 0), ((2, 0), 0), ((0, 2), 0)])
def test_every_shape_has_a_table(shape: tuple[int, ...], cells: int) -> None:
    found = table(torch.ones(shape))
    assert found is not None and sum(map(len, found["values"])) == cells
    assert found["shape"] == list(shape)


def test_a_number_that_is_not_finite_is_a_word() -> None:
    found = table(torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]))
    assert found is not None
    assert found["values"] == [[1.0, "nan", "inf", "-inf"]] and found["least"] == found["greatest"] == 1.0
    assert json.dumps(found, allow_nan=False)
    assert table(torch.ones(2, dtype=torch.complex64)) is None


def test_values_and_gradients_are_those_of_the_program() -> None:
    made = Walk(lambda: evaluate(PROGRAM), "en")
    boxes = {one["title"]: one for one in made.boxes}
    y = boxes["multiply"]
    assert np.allclose(y["value"]["values"], X * X, rtol=1e-3)
    assert np.allclose(boxes["exp"]["value"]["values"], np.exp(X), rtol=1e-3)
    assert np.allclose(boxes["add"]["value"]["values"], X * X + np.exp(X), rtol=1e-3)
    assert np.isclose(boxes["sum"]["value"]["values"][0][0], (X * X + np.exp(X)).sum(), rtol=1e-3)
    assert np.allclose(y["gradient"]["values"], 1) and boxes["sum"]["gradient"]["values"] == [[1.0]]
    f = lambda x: (x * x + np.exp(x)).sum()
    steps = 1e-5 * np.eye(4).reshape(4, 2, 2)
    expected = np.array([(f(X + step) - f(X - step)) / 2e-5 for step in steps]).reshape(2, 2)
    assert np.allclose(boxes["x"]["gradient"]["values"], expected, rtol=1e-3)
    assert np.allclose(boxes["x"]["value"]["values"], X) and boxes["x"]["name"] == "x"


def test_outputs_of_one_operator_have_their_own_numbers() -> None:
    text = "x = to_tensor([[3.0, 1.0], [2.0, 5.0]])\na = split(x, 2)\n(a[0] * 2).sum() + (a[1] * 3).sum()"
    made = Walk(lambda: evaluate(text), "en")
    parts = [
        one
        for one in made.boxes
        if one["value"] and one["value"]["shape"] == [1, 2] and "split" in one["title"]
    ]
    found = sorted((one["value"]["values"][0], one["gradient"]["values"][0]) for one in parts)
    assert ([2.0, 5.0], [3.0, 3.0]) in found and ([3.0, 1.0], [2.0, 2.0]) in found


def test_other_numbers_for_a_parameter_and_back() -> None:
    page = TapePage()
    page.load_library()
    page.text.value = PROGRAM
    page.start()
    own = box(page.walk.data, "x")["value"]["values"]
    page.change({"name": "x", "numbers": [10, None, None, 0]})
    changed = box(page.walk.data, "x")
    assert np.allclose(changed["value"]["values"], [[10, -2], [3, 0]])
    assert np.allclose(changed["gradient"]["values"][0][0], 20 + np.exp(10), rtol=1e-3)
    assert page.walk.data["changed"] == ["x"] and page.walk.data["keep"]
    page.text.value = "y = ones([3])\ny.sum()"  # not run: the walk's program is the one that is changed
    page.change({"name": "x", "random": True})
    drawn = box(page.walk.data, "x")["value"]["values"]
    page.change({"name": "x", "random": True})
    assert box(page.walk.data, "x")["value"]["values"] != drawn
    page.change({"name": "x", "own": True})
    assert box(page.walk.data, "x")["value"]["values"] == own and page.walk.data["changed"] == []
    page.change({"name": "x", "numbers": [1, 2, 3, 4]})
    page.start()  # as written: nothing is changed
    assert page.walk.data["changed"] == [] and not page.walk.data["keep"]


@pytest.mark.parametrize("numbers", [[1, 2, 3], [1, 2, 3, "none"], [1, 2, 3, 1e300], None, [1, 2, 3, [4]]])
def test_numbers_that_do_not_fit_are_refused(numbers: Any) -> None:
    page = TapePage("zh")
    page.load_library()
    page.text.value = PROGRAM
    page.start()
    before = page.walk.data
    page.change({"name": "x", "numbers": numbers})
    assert i18n.t("tape.error.numbers", "zh", name="x") in page.status.value and page.walk.data is before
    page.change({"name": "nobody", "random": True})
    assert page.walk.data is before


def test_a_networks_parameter_is_drawn_again_with_its_spread_and_the_others_stay() -> None:
    page = TapePage()
    page.load_library()
    page.program.value = "mlp"
    assert page.made is not None
    before = {name: tensor.numpy() for name, tensor in page.made.leaves.items()}
    name = next(name for name in before if before[name].ndim == 2)
    page.change({"name": name, "random": True})
    after = {name: tensor.numpy() for name, tensor in page.made.leaves.items()}
    assert [one for one in before if not np.array_equal(before[one], after[one])] == [name]
    assert np.isclose(after[name].std(), before[name].std(), rtol=0.2)
    assert np.all(drawn_again(np.zeros(4, np.float32), 1) != 0)  # equal numbers have no spread


def test_the_later_of_two_values_with_one_name_is_changed() -> None:
    text = "x = ones([2])\ny = x * 3\nx = ones([2])\n(x * y).sum()"
    value, parameters = evaluate(text, {"x": np.array([5.0, 7.0], np.float32)})
    assert float(value) == 3 * 12 and list(parameters) == ["x"]
    assert isinstance(value, sampan.Tensor)
