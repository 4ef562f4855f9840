"""Event files read back by their format, wandb without wandb, and the rate on a plateau."""

import struct
import sys
import types

import numpy as np
import pytest

from sampan import Model, callbacks, io, metric, nn, optimizer


def crc32c(data):
    """Bit by bit, from the polynomial."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(message):
    """The (number, value) pairs of a protocol buffer."""

    def varint(at):
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if message[at - 1] < 128:
                return value, at

    at, found = 0, []
    while at < len(message):
        key, at = varint(at)
        if key & 7 == 0:
            value, at = varint(at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(at)
            value, at = message[at : at + size], at + size
        found.append((key >> 3, value))
    return dict(found)


def read(path):
    """(tag, step, value) of every scalar in an event file."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == crc32c(data[at : at + 8])
        event = data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == crc32c(event)
        at += length + 16
        parts = fields(event)
        if 5 in parts:
            value = fields(fields(parts[5])[1])
            found.append((value[1].decode(), parts.get(2, 0), struct.unpack("<f", value[2])[0]))
        else:
            assert parts[3] == b"brain.Event:2"
    return found


def trained(*listed, epochs=2, rate=0.01):
    net = nn.Linear(2, 2)
    model = Model(net)
    model.prepare(optimizer.SGD(rate, net.parameters()), nn.CrossEntropyLoss(), metric.Accuracy())
    random = np.random.default_rng(0)
    data = io.TensorDataset([random.normal(size=(8, 2)).astype("float32"), random.integers(0, 2, (8, 1))])
    model.fit(data, data, batch_size=4, epochs=epochs, verbose=0, callbacks=list(listed))
    return model, data


def test_training_is_in_the_event_file(tmp_path):
    model, data = trained(callbacks.VisualDL(tmp_path))
    (path,) = tmp_path.iterdir()
    found = read(path)
    assert [(t, s) for t, s, _ in found if t == "train/loss"] == [("train/loss", i) for i in (1, 2, 3, 4)]
    assert [(t, s) for t, s, _ in found if t == "eval/acc"] == [("eval/acc", 0), ("eval/acc", 1)]
    assert all(np.isfinite(v) for _, _, v in found)
    model.evaluate(data, verbose=0, callbacks=[callbacks.VisualDL(tmp_path / "alone")])
    assert [t for t, _, _ in read(next((tmp_path / "alone").iterdir()))] == ["eval/loss", "eval/acc"]


def test_wandb_gets_the_same_or_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ModuleNotFoundError, match="pip install wandb"):
        callbacks.WandbCallback()
    sent, done = [], []
    run = types.SimpleNamespace(log=sent.append, finish=lambda: done.append(True))
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(run=None, init=lambda **settings: run))
    trained(callbacks.WandbCallback(project="p"), epochs=1)
    assert (
        sent[0]["train/step"] == 1 and "train/loss" in sent[0] and "eval/acc" in sent[-1] and done == [True]
    )


def test_the_rate_falls_on_a_plateau(capsys):
    plateau = callbacks.ReduceLROnPlateau("acc", 0.5, patience=1, min_delta=10.0, cooldown=1, min_lr=0.002)
    model, _ = trained(plateau, epochs=4)
    assert model._optimizer.get_lr() == 0.002  # lower after each evaluation but the first, as in Paddle
    assert "becomes 0.005" in capsys.readouterr().out
    with pytest.raises(ValueError, match="factor"):
        callbacks.ReduceLROnPlateau(factor=1.0)
    with pytest.warns(UserWarning, match="nothing is done"):
        trained(callbacks.ReduceLROnPlateau("nonsense"), epochs=1)
