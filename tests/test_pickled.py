"""Pickles: Paddle's own checkpoints are read, and code is refused and not run."""

import collections
import os
import pickle

import numpy as np
import pytest

import sampan as paddle
from sampan import nn


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_paddles_own_checkpoints_are_read(protocol, tmp_path):
    weight = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)
    content = collections.OrderedDict(weight=weight, bias=("linear_0.b_0", weight[0]), steps=7)
    content["half"] = np.array([0x3F80, 0xC000], np.uint16)  # 1 and -2 in bfloat16, as Paddle writes it
    content["StructuredToParameterName@@"] = {"weight": "linear_0.w_0", "half": "linear_0.h_0"}
    (tmp_path / "net.pdparams").write_bytes(pickle.dumps(content, protocol))
    found = paddle.load(tmp_path / "net.pdparams")
    np.testing.assert_array_equal(found["weight"].numpy(), weight)
    assert found["weight"].name == "linear_0.w_0" and found["steps"] == 7
    assert found["bias"][0] == "linear_0.b_0"  # what the table does not name stays as it is, as in Paddle
    half = found.pop("half")
    assert half.dtype is paddle.bfloat16 and half.data.tolist() == [1.0, -2.0]
    net = nn.Linear(3, 2)
    net.set_state_dict({"weight": found["weight"], "bias": found["bias"][1]})
    np.testing.assert_array_equal(net.weight.numpy(), weight)


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/should-not-exist",)


@pytest.mark.parametrize("value", [Evil(), {"a": [Evil()]}, np.array([Evil()], dtype=object), len, Evil])
def test_a_pickle_with_code_is_refused_and_not_run(value, tmp_path):
    (tmp_path / "f").write_bytes(pickle.dumps(value, 4))
    with pytest.raises(ValueError, match="neither an array nor a plain value"):
        paddle.load(tmp_path / "f")
    (tmp_path / "f").write_bytes(pickle.dumps({"a": np.zeros(9)}, 4)[:-20])
    with pytest.raises(ValueError, match="cannot be read as a Paddle checkpoint"):
        paddle.load(tmp_path / "f")


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_paddles_table_of_names_is_dropped(protocol, tmp_path):
    """Paddle's `save` writes it at the top of a state_dict alone, and its `load` drops it unless told to keep it."""
    key = "StructuredToParameterName@@"
    content = {"weight": np.ones(2, "float32"), key: {"weight": "linear_0.w_0"}}
    path = tmp_path / "net.pdparams"
    path.write_bytes(pickle.dumps(content, protocol))
    assert list(paddle.load(str(path))) == ["weight"]
    assert list(paddle.load(str(path), return_numpy=True)) == ["weight"]
    assert paddle.load(str(path), keep_name_table=True)[key] == {"weight": "linear_0.w_0"}
    with path.open("rb") as file:
        assert list(paddle.load(file)) == ["weight"]
