"""Files of pruned int8 parameters: what returns, how large they are, and files that are damaged."""

import json
import lzma

import numpy as np
import pytest
import torch

from sampan.engine.errors import InvalidArgument
from sampan.engine.tensor import Tensor
from sampan.speech import AudioClassifier
from sampan.speech.architectures import build, read_weights
from sampan.speech.int8 import to_channels
from sampan.speech.packed import pack, unpack
from tests.speech.test_architectures import CONFORMER, RECURRENT


def state():
    torch.manual_seed(0)
    sparse = torch.randn(40, 60)
    sparse[torch.rand(40, 60) < 0.7] = 0
    return {
        "linear.weight": sparse,
        "linear.bias": torch.randn(60),
        "conv.weight": torch.randn(3, 2, 5),
        "none": torch.zeros(0, 4),
        "number": torch.tensor(2.5),
    }


def test_what_returns(tmp_path):
    given, path = state(), tmp_path / "model.int8"
    size = pack(given, {"linear.weight": 1}, path)
    assert size == path.stat().st_size
    found = unpack(path)
    assert list(found) == list(given)
    for name, axis in (("linear.weight", 1), ("conv.weight", 0)):
        q, scale = to_channels(given[name], axis)
        assert torch.equal(found[name], q * scale.view([-1 if n == axis else 1 for n in range(q.ndim)]))
    for name in ("linear.bias", "number"):
        assert torch.equal(found[name], given[name].half().float())
    assert found["none"].shape == (0, 4)
    again = pack(found, {"linear.weight": 1}, tmp_path / "again")
    assert again == size
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_seven_tenths_of_zeros_make_a_tenth_of_the_size(tmp_path):
    weight = torch.randn(400, 500, generator=torch.Generator().manual_seed(0))
    weight[weight.abs() < weight.abs().quantile(0.7)] = 0
    assert pack({"w": weight}, {}, tmp_path / "m") < 400 * 500 * 4 / 10


def test_damaged_files(tmp_path):
    path = tmp_path / "model.int8"
    pack(state(), {}, path)
    good, whole = path.read_bytes(), unpack(path)
    line = good.index(b"\n")
    header = json.loads(good[:line])

    def refused(data: bytes, why: str) -> None:
        path.write_bytes(data)
        with pytest.raises(InvalidArgument, match=rf"model.int8: damaged.*{why}"):
            unpack(path)

    def with_header(**changes: object) -> bytes:
        return json.dumps(header | changes).encode() + good[line:]

    refused(b"", "not a packed model")
    refused(b"\xff\xfe\n", "not a packed model")
    refused(b"[]\n", "expected the format")
    refused(good[:-1], "expected .* bytes after the first line, found")
    refused(with_header(format="other"), "expected the format sampan.int8.1")
    refused(with_header(bytes=[1, 2]), "expected the sizes of three parts")
    refused(with_header(arrays=header["arrays"][:-1]), "a part has")
    huge = [{"name": "x", "shape": [1 << 20, 1 << 20], "axis": 0}]
    refused(with_header(arrays=huge), "entries are more than")
    refused(with_header(arrays=[{"name": "x", "shape": [2], "axis": 3}]), "impossible shape")
    refused(with_header(arrays=[{"name": "x"}]), "shape")
    rng = np.random.default_rng(0)
    for at in rng.integers(
        line + 1, len(good), 40
    ):  # a byte that was changed: the checksum or the lengths tell
        changed = bytearray(good)
        changed[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            found = unpack(path)
        except InvalidArgument:
            continue
        assert all(torch.equal(a, b) for a, b in zip(found.values(), whole.values(), strict=True))
    parts = np.cumsum([line + 1, *header["bytes"]])
    vectors = np.frombuffer(lzma.decompress(good[parts[2] :]), "<f2").copy()
    vectors[0] = np.nan
    new = lzma.compress(vectors.tobytes(), lzma.FORMAT_XZ)
    first = with_header(bytes=[*header["bytes"][:2], len(new)])[: -len(good[parts[2] :])]
    refused(first + new, "a scale, bias or norm is NaN")


def test_numbers_that_do_not_fit(tmp_path):
    for value in (np.nan, np.inf, 1e5):
        with pytest.raises(InvalidArgument, match=r"state: w has an entry that is NaN or beyond float16"):
            pack({"w": torch.tensor([1.0, value])}, {}, tmp_path / "m")


@pytest.mark.parametrize("config", [CONFORMER, RECURRENT])
def test_a_model_is_saved_compressed_and_loads(tmp_path, config):
    model = AudioClassifier.from_config(config)
    size = model.save_compressed(tmp_path, "# A card")
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.int8", "README.md"}
    assert size == (tmp_path / "model.int8").stat().st_size
    found = AudioClassifier.from_pretrained(tmp_path)
    assert found.config == config | {"compute": "int8"}
    x = torch.randn(1, 30, 8, generator=torch.Generator().manual_seed(0))
    model.eval()
    ours, theirs = (m(input_features=Tensor(x)).logits.numpy() for m in (found, model))
    assert 0 < np.abs(ours - theirs).max() < 0.1
    floats = build(config)
    read_weights(floats, tmp_path)
    for name, value in floats.state_dict().items():
        close = 0.01 * np.abs(model.model.state_dict()[name].numpy()).max() + 1e-3
        assert np.abs(value.numpy() - model.model.state_dict()[name].numpy()).max() <= close, name
