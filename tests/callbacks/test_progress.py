"""What is printed while training."""

import re

from sampan.callbacks import progress
from tests.hapi.learning import blobs, prepared


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
