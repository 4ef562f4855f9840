"""A pair of files in a predictor, and recorded again."""

from pathlib import Path
from typing import Any

import numpy as np

import sampan as paddle
from sampan import inference
from sampan.jit import load

from ..unsaved import layer_of
from .files import answers, unpacked


def test_a_predictor_runs_the_pair_and_it_is_recorded_again(tmp_path: Path) -> None:
    unpacked(tmp_path)
    (image,), (wanted, *_) = answers(tmp_path, "picture")
    files = [str(tmp_path / f"picture{suffix}") for suffix in (".json", ".pdiparams")]
    predictor: Any = inference.create_predictor(inference.Config(*files))
    assert predictor.get_input_names() == ["image"]
    (found, *_) = predictor.run([paddle.to_tensor(image)])
    assert np.allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    layer: Any = load(tmp_path / "picture")
    again: Any = layer_of(layer.forward, *layer._input_spec)
    with paddle.no_grad():
        assert np.allclose(again(image=paddle.to_tensor(image))[0].numpy(), wanted, atol=1e-6)
