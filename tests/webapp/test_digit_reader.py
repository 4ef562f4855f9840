"""The small network on Home: its card is true, and its arithmetic is that of torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan
from studio import digit_reader
from studio.paths import PAGES, STATIC
from studio.server.pages import PageShelf


def test_the_card_is_true_and_the_file_is_small() -> None:
    network, bundle = digit_reader.load(), sampan.datasets.load("digits")
    pictures, labels = digit_reader.arrays(bundle.test)
    card = network["card"]
    assert (card["train"], card["test"]) == (len(bundle.train), len(bundle.test))
    assert card["accuracy"] == round(digit_reader.accuracy(network, pictures, labels), 4) > 0.97
    numbers = sum(np.prod(layer["weight"]["shape"]) + len(layer["bias"]) for layer in network["layers"])
    assert card["parameters"] == numbers
    assert digit_reader.FILE.stat().st_size < 4096


def test_packing_loses_half_a_step_at_most() -> None:
    weight = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    told = {"layers": [{"weight": digit_reader.packed(weight), "bias": [0.0] * 3}]}
    unpacked = digit_reader.logits(told, np.eye(5, dtype=np.float32))
    assert np.abs(unpacked - weight).max() <= np.abs(weight).max() / 127 / 2 * 1.001


def test_logits_against_torch() -> None:
    random = np.random.default_rng(1)
    weights = [random.normal(size=shape).astype(np.float32) for shape in ((64, 7), (7, 10))]
    layers = [{"weight": digit_reader.packed(w), "bias": [0.5] * w.shape[1]} for w in weights]
    x = random.normal(size=(3, 64)).astype(np.float32)
    rounded = [
        torch.tensor(digit_reader.logits({"layers": [layer]}, np.eye(len(w), dtype=np.float32))) - 0.5
        for layer, w in zip(layers, weights, strict=True)
    ]
    expected = (torch.relu(torch.tensor(x) @ rounded[0] + 0.5) @ rounded[1] + 0.5).numpy()
    assert digit_reader.logits({"layers": layers}, x) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_every_page_has_a_picture_on_home() -> None:
    for page in PageShelf(PAGES).listed():
        source = (STATIC / "thumbnails" / f"{page.name}.js").read_text("utf-8")
        assert "export const still" in source and "export default function draw" in source
