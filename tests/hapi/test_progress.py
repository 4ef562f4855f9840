"""What is printed while training, and the summary."""

import re

import pytest

import sampan as paddle
from sampan import nn
from sampan.callbacks import progress

from .test_model import blobs, prepared


def test_nothing_at_0(capsys):
    prepared().fit(blobs(), blobs(), batch_size=16, verbose=0)
    assert capsys.readouterr().out == ""


def test_a_line_every_few_steps_at_2(capsys):
    prepared().fit(blobs(), blobs(), batch_size=6, epochs=2, log_freq=4, verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" - ")[0] for line in lines] == [
        "Epoch 1/2", "step 4/10", "step 8/10", "step 10/10", "eval step 10/10",
        "Epoch 2/2", "step 4/10", "step 8/10", "step 10/10", "eval step 10/10",
    ]  # fmt: skip
    assert re.fullmatch(r"step 4/10 - loss: \d\.\d+ - acc: [\d.]+ - [\d.]+ ms/step - 0:00 left", lines[1]), (
        lines[1]
    )
    assert re.fullmatch(r"step 10/10 - loss: \d\.\d+ - acc: [\d.]+ - [\d.]+ ms/step - 0:00", lines[3]), lines[
        3
    ]


def test_a_line_an_epoch_at_1_without_a_terminal(capsys):
    prepared().fit(blobs(), batch_size=6, epochs=2, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" - ")[0] for line in lines] == ["Epoch 1/2", "step 10/10", "Epoch 2/2", "step 10/10"]


def test_a_bar_redrawn_in_place_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr(progress, "_REDRAW", 0.0)
    prepared().fit(blobs(), batch_size=6, verbose=1)
    out = capsys.readouterr().out
    assert out.count("\n") == 2 and out.count("\r") == 10
    assert "step 5/10 [============............] - loss: " in out and "0:00 left" in out


def test_evaluate_and_predict_say_where_they_are(capsys):
    model = prepared()
    model.evaluate(blobs(), batch_size=6, log_freq=5, verbose=2)
    model.predict(blobs(), batch_size=6, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" - ")[0] for line in lines] == ["step 5/10", "eval step 10/10", "predict step 10/10"]


def test_times_and_numbers():
    assert [progress.clock(s) for s in (0.4, 7, 750, 3723)] == ["0:00", "0:07", "12:30", "1:02:03"]
    assert progress.number(0.123456) == "0.1235" and progress.number([0.5, 1]) == "[0.5, 1]"


def test_summary_counts_each_parameter_once(capsys):
    shared = nn.Linear(4, 4)
    net = nn.Sequential(nn.Linear(3, 4), shared, nn.ReLU(), shared)
    net[0].bias.trainable = False
    net.train()
    assert paddle.summary(net, (None, 3)) == {"total_params": 16 + 20, "trainable_params": 32}
    out = capsys.readouterr().out
    assert (
        "Linear (0)" in out and "[1, 3]" in out and "[1, 4]" in out and "Parameters: 36, trainable: 32" in out
    )
    assert net.training and not net[0]._forward_post_hooks
    assert paddle.Model(net).summary((2, 3))["total_params"] == 36


class Joined(nn.Layer):
    """Takes its inputs in one list or dictionary, as some networks do."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 2), nn.Linear(5, 2)

    def forward(self, inputs):
        one, two = inputs.values() if isinstance(inputs, dict) else inputs
        return {"sum": self.first(one) + self.second(two)}


def test_summary_of_other_inputs(capsys):
    one, two = paddle.ones([4, 3]), paddle.ones([4, 5])
    for given in ([one, two], (one, two), {"one": one, "two": two}):
        assert paddle.summary(Joined(), input=given)["total_params"] == 8 + 12
    assert "[4, 5]" in capsys.readouterr().out
    spec = paddle.static.InputSpec([None, 3], "float32")
    for sizes in (spec, [spec], [3], (1, 3), [(2, 3)], [[2, 3]]):
        assert paddle.summary(nn.Linear(3, 2), sizes)["total_params"] == 8
    with pytest.raises(ValueError, match="input_size"):
        paddle.summary(nn.Linear(3, 2), (0, 3))
