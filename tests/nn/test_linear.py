"""The layer Linear beside torch's, and what is refused."""

import pytest
import torch

import sampan as paddle
from sampan import nn
from tests.nn.beside_torch import same_as_torch

CASES = {
    "linear": (lambda: nn.Linear(5, 3), lambda: torch.nn.Linear(5, 3), (2, 4, 5)),
    "linear without bias": (
        lambda: nn.Linear(5, 3, bias_attr=False),
        lambda: torch.nn.Linear(5, 3, bias=False),
        (2, 5),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradients(name):
    same_as_torch(CASES[name])


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.Linear(-1, 2), "in_features"),
        (lambda: nn.Linear(2, 2.0), "out_features"),
        (lambda: nn.Linear(3, 2)(paddle.ones([2, 4])), "linear"),
    ],
)
def test_bad_settings_and_shapes_are_named(make, what):
    with pytest.raises(ValueError, match=what):
        make()
