"""Networks from configurations, and files of weights that do not fit."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.architectures import build, read_weights, write_weights
from sampan.speech.nn import ConformerEncoder, RecurrentEncoder

CONFORMER = {
    "model_type": "conformer",
    "vocab_size": 5,
    "encoder": {"input_size": 8, "width": 8, "num_layers": 1, "num_heads": 2, "kernel_size": 3},
    "decoder": {"num_layers": 1, "num_heads": 2},
}
RECURRENT = {
    "model_type": "recurrent",
    "vocab_size": 5,
    "encoder": {"input_size": 8, "hidden": 4, "num_layers": 1, "kind": "gru"},
}


def test_networks():
    assert isinstance(build(CONFORMER).encoder, ConformerEncoder)
    assert build(CONFORMER).decoder.vocabulary == 5
    made = build(RECURRENT)
    assert isinstance(made.encoder, RecurrentEncoder)
    assert made.decoder is None
    assert made.encoder.width == 8


@pytest.mark.parametrize("config", [CONFORMER, RECURRENT])
def test_weights_return(tmp_path, config):
    made, again = build(config), build(config)
    write_weights(made, tmp_path)
    read_weights(again, tmp_path)
    for name, value in made.state_dict().items():
        assert np.array_equal(value.numpy(), again.state_dict()[name].numpy()), name


def test_a_bin_file_is_read_without_running_code(tmp_path):
    made, again = build(RECURRENT), build(RECURRENT)
    torch.save({name: value.data for name, value in made.named_parameters()}, tmp_path / "pytorch_model.bin")
    read_weights(again, tmp_path)
    x = paddle.randn([1, 20, 8])
    made.eval(), again.eval()
    assert np.array_equal(made(x).logits.numpy(), again(x).logits.numpy())

    class Runs:
        def __reduce__(self):
            return (print, ("code from a file",))

    torch.save({"weight": Runs()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(InvalidArgument, match=r"pytorch_model.bin: damaged, or not a file of weights"):
        read_weights(again, tmp_path)


def test_bad_configurations():
    with pytest.raises(
        InvalidArgument, match=r"model_type: expected one of wav2vec2, conformer, keyword, recurrent, got 'x'"
    ):
        build({"model_type": "x"})
    with pytest.raises(InvalidArgument, match=r"vocab_size: expected an integer, got None"):
        build({"model_type": "conformer"})
    with pytest.raises(InvalidArgument, match=r"encoder: expected settings among .*, got 'layers'"):
        build(CONFORMER | {"encoder": {"layers": 2}})
    with pytest.raises(InvalidArgument, match=r"decoder: expected settings among .*, got 'width'"):
        build(CONFORMER | {"decoder": {"width": 2}})


def test_bad_files(tmp_path):
    made = build(RECURRENT)
    before = {name: value.numpy() for name, value in made.state_dict().items()}
    with pytest.raises(
        InvalidArgument, match=r"expected model.safetensors, model.int8 or pytorch_model.bin, found none"
    ):
        read_weights(made, tmp_path)
    path = tmp_path / "model.safetensors"
    write_weights(made, tmp_path)
    whole = path.read_bytes()
    for broken in (b"", whole[:100], whole[:-10]):
        path.write_bytes(broken)
        with pytest.raises(InvalidArgument, match=r"model.safetensors: damaged, or not a file of weights"):
            read_weights(made, tmp_path)
    state = {name: value.data + 1 for name, value in made.named_parameters()}
    state["head.linear.bias"] = torch.zeros(6)
    state["more"] = torch.zeros(1)
    save_file(state, path)
    with pytest.raises(
        InvalidArgument, match=r"unknown more; head.linear.bias has shape \[6\] instead of \[5\]"
    ):
        read_weights(made, tmp_path)
    for name, value in made.state_dict().items():
        assert np.array_equal(value.numpy(), before[name])
