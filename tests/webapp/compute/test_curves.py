"""How far a job is and its curves, from what it told or from its log."""

from __future__ import annotations

from pathlib import Path

import pytest

import sampan as paddle
from studio.compute import curves
from studio.compute.curves import Progress


def test_a_bar_of_tqdm() -> None:
    # As tqdm 4.70 draws it into a file.
    drawn = (
        "before\n\r  0%|          | 0/1000 [00:00<?, ?it/s]"
        "\r 45%|████▌     | 450/1000 [00:00<00:00, 285004.71it/s, acc=9.1e-1, loss=0.25]"
    )
    assert curves.bar(drawn) == Progress(450, 1000, {"loss": 0.25, "acc": 0.91})
    assert curves.bar("50%|#####     | 1.50k/3.00k [00:01<00:01, 1.5kit/s]") == Progress(1500, 3000, {})


def test_sampans_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    model = paddle.Model(paddle.nn.Linear(4, 2))
    model.prepare(paddle.optimizer.SGD(0.1, parameters=model.parameters()), paddle.nn.CrossEntropyLoss())
    data = [(paddle.ones([4]).numpy(), 1)] * 8
    model.fit(data, batch_size=2, epochs=2, verbose=2, log_freq=1, shuffle=False)
    log = capsys.readouterr().out
    progress = curves.bar(log)
    assert progress is not None and (progress.done, progress.total) == (8, 8)
    loss = curves.logged(log)["loss"]
    assert len(loss) == 8 and loss[0][1] > loss[-1][1] > 0
    half = log[: log.index("Epoch 2/2")]
    progress = curves.bar(half)
    assert progress is not None and progress.part == 0.5


def test_of_a_line_that_was_drawn_over_itself_the_last() -> None:
    assert curves.readable("a\n 10%\r 20%\r\nb\r") == "a\n 20%\nb"


@pytest.mark.parametrize("log", ["", "nothing to see", "10/20 of the files", "step x/y", "|/ [a]"])
def test_no_bar_is_no_progress(log: str) -> None:
    assert curves.bar(log) is None and curves.logged(log) == {}


def test_a_file_that_the_job_filled_with_anything(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    assert curves.last(file) is None and curves.told(file) == {}
    good = '{"done": 1, "total": 4, "values": {"loss": 2.5, "bad": NaN}}\n'
    file.write_text(good + '{"done": "x"}\n[1]\nnot json\n{"done": 2, "total": 4, "values": 3}\n{"done": 3,')
    assert curves.told(file) == {"loss": [(1.0, 2.5)]}
    assert curves.last(file) == Progress(1, 4, {"loss": 2.5})


def test_the_part_is_never_beyond_the_whole() -> None:
    assert Progress(5, 4).part == 1.0 and Progress(-1, 4).part == 0.0 and Progress(3, 0).part is None
