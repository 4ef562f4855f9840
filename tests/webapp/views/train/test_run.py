"""Training runs and the Train page around them, on real digits and without a browser."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sampan.datasets
from studio.views.train.page import TrainPage
from studio.views.train.runs import Run, RunList
from studio.views.train.settings import Settings
from tests.webapp.running import until

WAIT_S = 120


def finished(run: Run) -> Run:
    assert run.start().join(WAIT_S), f"still {run.state} after {WAIT_S} s"
    return run


@pytest.fixture(scope="module")
def trained() -> Run:
    return finished(Run(Settings("digits", epochs=25)))


def test_learns_real_digits(trained: Run) -> None:
    assert trained.failure is None
    progress, result = trained.progress(), trained.result
    assert trained.state == "done" and progress.fraction == 1 and progress.epoch == 25
    assert result is not None and result.accuracy > 0.95
    assert progress.test_accuracy == result.accuracy
    assert result.confusion().sum() == 360 and np.allclose(result.probabilities.sum(axis=1), 1, atol=1e-5)
    x, losses = trained.curves["loss"].points()
    assert x == sorted(x) and 24.9 < x[-1] <= 25
    assert np.mean(losses[-10:]) < 0.2 * np.mean(losses[:3])
    epochs, _ = trained.curves["test_accuracy"].points()
    assert epochs == list(range(1, 26))
    assert all(0 <= y <= 1 for y in trained.curves["accuracy"].points()[1])


def test_predicts_as_it_did_on_the_test_set(trained: Run) -> None:
    result = trained.result
    assert result is not None
    again = trained.predict(result.pictures[:50])
    assert np.allclose(again, result.probabilities[:50], atol=1e-5)
    with pytest.raises(ValueError, match=r"expected shape \[n, 8, 8\], got \(2, 28, 28\)"):
        trained.predict(np.zeros((2, 28, 28), np.float32))


def test_the_same_settings_give_the_same_run() -> None:
    runs = [finished(Run(Settings("digits", epochs=2))) for _ in range(2)]
    assert runs[0].curves["loss"].points() == runs[1].curves["loss"].points()


@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "AdamW"])
def test_every_optimizer_trains_both_models(optimizer: str) -> None:
    rate = {"SGD": 0.1, "Momentum": 0.03, "AdamW": 0.003}[optimizer]
    model = "mlp" if optimizer == "SGD" else "lenet"
    run = finished(Run(Settings("digits", model, optimizer, rate, 32, 6)))
    assert run.failure is None and run.result is not None and run.result.accuracy > 0.8


@pytest.mark.alone
def test_cancel_stops_within_a_second_and_keeps_what_was_learned() -> None:
    run = Run(Settings("digits", "lenet", epochs=500)).start()
    began = time.monotonic()
    while run.progress().step < 3 or run.progress().epoch < 1:
        assert time.monotonic() - began < WAIT_S and run.failure is None
        time.sleep(0.01)
    assert run.progress().seconds_left is not None
    with pytest.raises(RuntimeError, match="expected a finished run, got one that is running"):
        run.predict(np.zeros((1, 8, 8), np.float32))
    asked = time.monotonic()
    run.cancel()
    assert run.join(WAIT_S)
    assert time.monotonic() - asked < 3  # a second, on a machine that does nothing else
    assert run.state == "cancelled" and run.progress().epoch < 500
    assert run.can_predict and run.result is not None


def test_cancel_before_the_first_batch() -> None:
    run = Run(Settings("digits"))
    run.cancel()
    finished(run)
    assert run.state == "cancelled" and not run.can_predict and run.result is None


def test_a_rate_that_diverges_says_where() -> None:
    run = finished(Run(Settings("digits", "mlp", "SGD", 1e30)))
    assert run.state == "failed" and run.failure is not None
    assert run.failure.kind == "diverged"
    assert (run.failure.epoch, run.failure.step) >= (1, 2)  # the first step's loss is still a number
    assert (
        f"epoch {run.failure.epoch}" in run.failure.message
        and f"step {run.failure.step}" in run.failure.message
    )
    assert not run.can_predict
    assert all(np.isfinite(run.curves["loss"].points()[1]))


def test_any_other_error_ends_the_run_and_is_kept() -> None:
    def broken(name: str) -> Any:
        raise OSError(f"{name} is not readable")

    run = finished(Run(Settings("digits"), load=broken))
    assert run.state == "failed" and run.failure is not None
    assert run.failure.kind == "error" and run.failure.message == "digits is not readable"


def test_five_runs_and_their_colours() -> None:
    runs = RunList()
    for _ in range(5):
        runs.add(Settings("digits"))
    assert [run.slot for run in runs.runs] == [1, 2, 3, 4, 5] and runs.full
    with pytest.raises(ValueError, match="at most 5"):
        runs.add(Settings("digits"))
    runs.remove(2)
    added = runs.add(Settings("digits"))
    assert (added.number, added.slot) == (6, 2)
    with pytest.raises(KeyError, match="no run 2"):
        runs.remove(2)


# ---- the page, its widgets without a browser


@pytest.fixture(scope="module")
def digits() -> Any:
    return sampan.datasets.load("digits")


@pytest.fixture
def page() -> Iterator[TrainPage]:
    page = TrainPage("en")
    page.load_library()
    page.form.dataset.value = "digits"
    page.form.epochs.value = "3"
    yield page
    if (run := page.runs.current) is not None:
        run.cancel()
        run.join(WAIT_S)


def train(page: TrainPage) -> None:
    page.form.start.click()
    until(lambda: not page.form.start.disabled, WAIT_S)


def test_the_richest_data_set_is_offered_first(page: TrainPage) -> None:
    offered = [name for _, name in page.form.dataset.options]
    assert offered == [name for name in ("mnist", "digits") if name in sampan.datasets.available()]
    assert "real data" in page.form.about.value and "archive.ics.uci.edu" in page.form.about.value
    page.form.dataset.value = offered[0]
    assert f'data-dataset="{offered[0]}"' in page.form.about.value


def test_start_waits_for_the_library() -> None:
    page = TrainPage("zh")
    assert page.form.start.disabled
    page.form.start.click()
    assert page.runs.runs == []


def test_a_page_whose_library_is_broken_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[str]:
        raise OSError("<disk> gone")

    monkeypatch.setattr(sampan.datasets, "available", broken)
    page = TrainPage("en")
    with pytest.raises(OSError, match="gone"):
        page.open()
    assert "OSError: &lt;disk&gt; gone" in page.status.value and page.form.start.disabled


def test_a_page_run(page: TrainPage) -> None:
    train(page)
    assert 'data-state="done"' in page.status.value
    assert len(page.table.rows) == 1 and page.table.rows[0]["can_show"] and page.table.selected == 1
    assert [s["id"] for s in page.loss.finished] == ["1-train", "1-test"] and page.loss.live == []
    assert page.accuracy.finished[1]["x"] == [1, 2, 3]
    assert "tr-matrix" in page.confusion.value
    assert "Run 1 has finished" in page.loss.summary


def test_a_page_compares_and_removes(page: TrainPage) -> None:
    train(page)
    page.form.optimizer.value = "SGD"
    assert page.form.learning_rate.value == "0.1"
    train(page)
    assert [row["slot"] for row in page.table.rows] == [1, 2] and page.table.selected == 2
    page.table._handle_custom_msg({"show": 1}, [])
    assert page.table.selected == 1 and "Run 1" in page.confusion.value
    page.table._handle_custom_msg({"remove": 1}, [])
    assert page.table.selected == 2 and "Run 2" in page.confusion.value
    page.table._handle_custom_msg({"remove": 2}, [])
    assert page.table.rows == [] and page.loss.finished == [] and "tr-matrix" not in page.confusion.value


def test_a_sixth_run_is_refused_with_a_sentence(page: TrainPage) -> None:
    for _ in range(5):
        page.runs.add(Settings("digits"))
    page.form.start.click()
    assert "5 runs can be compared" in page.form.message.value and len(page.runs.runs) == 5


def test_a_wrong_rate_is_explained_beside_the_form(page: TrainPage) -> None:
    page.form.learning_rate.value = "<fast>"
    page.form.start.click()
    assert page.runs.runs == []
    assert 'role="alert"' in page.form.message.value and "&lt;fast&gt;" in page.form.message.value
    page.form.learning_rate.value = "0.01"
    assert page.form.message.value == ""


def test_a_diverged_run_teaches_and_the_page_goes_on(page: TrainPage) -> None:
    page.form.optimizer.value = "SGD"
    page.form.learning_rate.value = "1e30"
    train(page)
    assert "the loss became infinite or NaN" in page.status.value and "for example 0.01" in page.status.value
    assert not page.table.rows[0]["can_show"]
    page.form.learning_rate.value = "0.1"
    train(page)
    assert page.table.rows[1]["can_show"] and "became infinite or NaN" not in page.status.value


def test_a_run_that_only_guesses_gets_a_hint(page: TrainPage) -> None:
    page.form.optimizer.value = "SGD"
    page.form.learning_rate.value = "1e-9"
    train(page)
    assert "no better than guessing" in page.status.value


def test_drawing_and_test_pictures(page: TrainPage, trained: Run) -> None:
    sketch = page.sketch
    assert "Train a network first" in sketch.answer.value
    sketch.use(trained)
    side = sketch.pad.side
    ink = np.zeros((side, side), np.uint8)
    ink[20:120, 64:76] = 255
    sketch.pad.pixels = ink.tobytes()
    assert 'data-digit="1"' in sketch.answer.value
    sketch.pad._handle_custom_msg({"clear": True}, [])
    assert "tr-prediction" not in sketch.answer.value and sketch.pad.pixels == b""
    sketch.example.click()
    assert len(sketch.pad.picture) == 64 and (
        "Right." in sketch.answer.value or "Wrong:" in sketch.answer.value
    )
    shown = sketch.answer.value
    sketch.use(trained)  # another run of the same data set looks at the same picture
    assert sketch.answer.value == shown
    other = SimpleNamespace(image_size=28)
    sketch.use(other)  # type: ignore[arg-type]
    assert sketch.pad.picture == b"" and "tr-prediction" not in sketch.answer.value
