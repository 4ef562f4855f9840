"""Models with parameters in 16 bits."""

from pathlib import Path

import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument
from sampan.inference import Config, PlaceType, PrecisionType, convert_to_mixed_precision, create_predictor
from sampan.jit.record import Outside
from sampan.jit.saving import _content, _names, _write
from sampan.jit.whole import evaluating, recorded


def test_half_the_size_and_nearly_the_same_answers(tmp_path):
    paddle.seed(0)
    layer, outside = (
        nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.LayerNorm(256), nn.Linear(256, 8)),
        Outside(),
    )
    with evaluating(layer):
        functions = {"forward": recorded(layer.forward, [InputSpec([None, 64])], outside)}
    names = _names(layer, outside)
    _write(tmp_path / "m", _content(functions, names, outside), names, outside)
    x = paddle.randn([5, 64])
    right = layer(x)
    files = str(tmp_path / "m.json"), str(tmp_path / "m.safetensors")
    for kind, error in ((PrecisionType.Half, 2e-3), (PrecisionType.Bfloat16, 2e-2)):
        made = str(tmp_path / f"{kind.name}.json"), str(tmp_path / f"{kind.name}.safetensors")
        convert_to_mixed_precision(*files, *made, kind, PlaceType.CPU, black_list={"normalize_layer"})
        assert Path(made[1]).stat().st_size < 0.56 * Path(files[1]).stat().st_size
        (found,) = create_predictor(Config(*made)).run([x])
        assert found.dtype == right.dtype and 0 < (found - right).abs().max().item() < error
        state = paddle.jit.load(str(tmp_path / kind.name)).state_dict()
        assert state["2.weight"].dtype == paddle.float32 and state["0.weight"].dtype != paddle.float32
    before = Path(files[0]).read_bytes(), Path(files[1]).read_bytes()
    dotted = str(tmp_path / "m.half.json"), str(tmp_path / "m.half.safetensors")
    convert_to_mixed_precision(*files, *dotted, PrecisionType.Half, PlaceType.CPU)
    assert (Path(files[0]).read_bytes(), Path(files[1]).read_bytes()) == before  # the name is more than "m"
    assert create_predictor(Config(*dotted)).run([x])[0].shape == right.shape
    assert sorted(paddle.jit.load(str(tmp_path / "m.half")).state_dict()) == sorted(layer.state_dict())
    for wrong, message in (
        ({"mixed_precision": PrecisionType.Int8}, "expected Half or Bfloat16"),
        ({"keep_io_types": False}, "keep_io_types"),
        ({"other": 1}, "unknown settings"),
    ):
        given = {"mixed_precision": PrecisionType.Half, "backend": PlaceType.CPU, **wrong}
        with pytest.raises(InvalidArgument, match=message):
            convert_to_mixed_precision(*files, *made, **given)
