"""Training runs and the Train page around them, on real digits and without a browser."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats
import torch
from PIL import Image, ImageDraw

import sampan.datasets
from studio import kept_runs
from studio.views.train import keep
from studio.views.train.likeness import Likeness
from studio.views.train.page import TrainPage
from studio.views.train.runs import Run, RunList, images_and_labels
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
    assert (
        time.monotonic() - asked < 30
    )  # a second, on a machine that does nothing else; all epochs take minutes
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
    page.form.optimizer.value = "Adam"
    page.form.learning_rate.value = "100"
    train(page)
    assert "The learning rate of 100 is much too large" in page.status.value
    assert "for example 0.01" in page.status.value


def test_drawing_and_test_pictures(page: TrainPage, trained: Run) -> None:
    sketch = page.sketch
    assert "Press Start and draw" in sketch.answer.value
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
    other = SimpleNamespace(image_size=28, result=None, alive=False, can_predict=False)
    sketch.use(other)  # type: ignore[arg-type]  # of another data set
    assert sketch.pad.picture == b"" and "tr-prediction" not in sketch.answer.value


# ---- the drawing while it trains, and what is unlike a digit


def one(sketch: Any) -> bytes:
    ink = np.zeros((sketch.pad.side,) * 2, np.uint8)
    ink[20:120, 64:76] = 255
    return ink.tobytes()


def test_the_bars_move_while_it_trains(page: TrainPage) -> None:
    page.form.epochs.value = "240"  # some seconds: the answer follows several times in each
    page.sketch.pad.pixels = one(page.sketch)
    answers: list[str] = []
    page.sketch.answer.observe(lambda change: answers.append(change["new"]), "value")
    states: list[str] = []
    page.sketch.answer.observe(lambda _: states.append(page.runs.runs[0].state), "value")
    train(page)
    moving = [a for a, state in zip(answers, states, strict=True) if state == "running" and "data-digit" in a]
    assert len(set(moving)) >= 2, "the same answer at every step"
    assert all('role="status"' not in answer for answer in moving)
    assert 'data-digit="1"' in answers[-1]


def test_watching_does_not_change_what_is_learned(trained: Run) -> None:
    run = Run(Settings("digits", epochs=25))
    run.ask(np.eye(8, dtype=np.float32))
    finished(run)
    assert run.view is not None and run.view.probabilities is not None
    assert run.curves["loss"].points() == trained.curves["loss"].points()


@pytest.mark.parametrize(("model", "units", "side"), [("mlp", 256, 8), ("lenet", 6, 3)])
def test_the_first_layer_and_its_answers(model: str, units: int, side: int) -> None:
    run = finished(Run(Settings("digits", model, epochs=2)))
    assert run.result is not None
    picture = run.result.pictures[0]
    view = run.look(picture)
    weight, bias = (torch.tensor(array) for array in run.weights()[:2])
    if model == "mlp":
        answers = torch.relu(torch.tensor(picture.reshape(-1)) @ weight + bias)
        pictures = weight.T.reshape(units, side, side)
    else:
        image = torch.tensor(picture)[None, None]
        answers = torch.relu(torch.nn.functional.conv2d(image, weight, bias, padding=1)).mean(dim=(0, 2, 3))
        pictures = weight[:, 0]
    shown = min(units, 32)
    assert view.units == units and view.weights.shape == (shown, side, side)
    assert np.allclose(view.weights, pictures[:shown])
    assert view.activations is not None and np.allclose(view.activations, answers[:shown], atol=1e-5)
    assert view.probabilities is not None and np.allclose(
        view.probabilities, run.result.probabilities[0], atol=1e-5
    )
    p = view.probabilities.astype(np.float64)
    assert view.entropy == pytest.approx(scipy.stats.entropy(p, base=2), abs=1e-6)


def test_a_spiral_is_unlike_and_a_test_image_is_not(page: TrainPage, trained: Run) -> None:
    sketch = page.sketch
    until(lambda: "digits" in sketch.likeness)
    sketch.use(trained)
    sketch.draw_spiral()
    (line,) = sketch.pad.strokes
    image = Image.new("L", (140, 140))
    ImageDraw.Draw(image).line([(140 * x, 140 * y) for x, y in line], fill=255, width=10, joint="curve")
    sketch.pad.pixels = image.tobytes()
    assert 'data-unlike="true"' in sketch.answer.value and "none of these" in sketch.answer.value
    assert "entropy" in sketch.answer.value and "Highest probability" in sketch.answer.value
    sketch.pad.pixels = one(sketch)
    assert 'data-unlike="false"' in sketch.answer.value and "none of these" not in sketch.answer.value


def test_likeness_against_scipy() -> None:
    pictures = np.random.default_rng(3).random((40, 3, 3), np.float32)
    likeness = Likeness(pictures)
    flat = pictures.reshape(40, -1).astype(np.float64)
    distances = scipy.spatial.distance.cdist(flat, flat)
    np.fill_diagonal(distances, np.inf)
    assert likeness.limit == pytest.approx(np.percentile(distances.min(axis=1), 99.5), rel=1e-4)
    found = likeness.nearest(pictures[7] + np.float32(0.01))
    assert found.distance == pytest.approx(0.03, abs=1e-3) and not found.unlike
    assert np.array_equal(found.picture, pictures[7])
    assert likeness.nearest(np.full((3, 3), 9, np.float32)).unlike


def test_few_digits_that_were_not_trained_on_are_unlike() -> None:
    bundle = sampan.datasets.load("digits")
    likeness = Likeness(images_and_labels(bundle.train)[0])
    unlike = [likeness.nearest(picture).unlike for picture in images_and_labels(bundle.test)[0]]
    assert np.mean(unlike) < 0.03


# ---- settings and runs survive a reload


def test_a_link_fills_in_the_form_and_follows_it(page: TrainPage) -> None:
    fresh = TrainPage()
    fresh.form.link.given = "dataset=digits&optimizer=SGD&learning_rate=0.5&epochs=7&device=tpu&x=%3Cb%3E"
    assert fresh.form.epochs.value == "7"  # before the library is loaded
    fresh.load_library()
    settings = fresh.form.read()
    assert settings == Settings("digits", "mlp", "SGD", 0.5, 64, 7)
    fresh.form.batch_size.value = "32"
    again = TrainPage()
    again.form.link.given = fresh.form.link.query
    again.load_library()
    assert again.form.texts() == fresh.form.texts()


def test_a_link_with_wrong_values_is_explained(page: TrainPage) -> None:
    page.form.link.given = "model=transformer&epochs=" + "9" * 50
    assert page.form.model.value == "mlp" and len(page.form.epochs.value) == 20
    assert page.form.read() is None and "Epochs" in page.form.message.value
    page.form.fields["learning_rate"].value = "fast"
    assert page.form.read() is None  # both fields are named and marked
    said = page.form.message.value
    assert "Epochs" in said and "Learning rate" in said and said.count("is-bad") == 2
    marked = [name for name, field in page.form.fields.items() if "is-wrong" in field._dom_classes]
    assert marked == ["learning_rate", "epochs"]


def reopened(folder: Path) -> TrainPage:
    page = TrainPage(folder=folder)
    page.load_library()
    page.form.dataset.value = "digits"
    page.form.epochs.value = "2"
    return page


def test_runs_survive_a_reload_until_they_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    page = reopened(folder)
    train(page)
    page.form.model.value = "lenet"
    train(page)
    page.form.learning_rate.value, page.form.optimizer.value = "1e30", "SGD"
    train(page)
    assert len(list(folder.glob("*.npz"))) >= 2

    again = reopened(folder)
    rows = len(list(folder.glob("*.npz")))
    assert [row["cells"] for row in again.table.rows] == [row["cells"] for row in page.table.rows][:rows]
    assert again.loss.finished == page.loss.finished[: 2 * rows]
    for old, new in zip(page.runs.runs[:2], again.runs.runs[:2], strict=True):
        assert old.result is not None and new.result is not None
        assert np.array_equal(old.result.probabilities, new.result.probabilities)
        assert np.allclose(new.predict(old.result.pictures[:9]), old.result.probabilities[:9], atol=1e-5)
    assert again.shown is again.runs.runs[1]
    again.remove(1)
    assert len(list(folder.glob("*.npz"))) == rows - 1
    train(again)
    assert again.runs.runs[-1].number == rows + 1


def test_a_broken_file_and_old_runs(tmp_path: Path) -> None:
    page = reopened(tmp_path)
    train(page)
    run = page.runs.runs[0]
    for _ in range(6):
        keep.save(run, tmp_path)
    files = kept_runs.files(tmp_path)
    assert len(files) == RunList.LIMIT and files[-1] == run.path
    files[0].write_bytes(b"PK not a file of numbers")
    again = reopened(tmp_path)
    assert len(again.runs.runs) == RunList.LIMIT - 1
    assert len({run.number for run in again.runs.runs}) == RunList.LIMIT - 1


def test_a_full_disk_is_told(page: TrainPage, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    page.folder = tmp_path / "runs"
    page.form.epochs.value = "1"
    train(page)
    assert "could not be stored" in page.form.message.value
    assert page.runs.runs[0].can_predict


def test_the_axis_is_logarithmic_when_a_loss_is_far_above_guessing(page: TrainPage) -> None:
    page.form.optimizer.value, page.form.learning_rate.value = "SGD", "60"
    train(page)
    assert max(page.runs.runs[0].curves["loss"].points()[1], default=0) > 10
    assert page.loss.logarithmic and "logarithmic" in page.loss.axis_words["why"]
    page.loss.logarithmic, page.loss.chosen = False, True  # as the visitor's button does
    page.form.learning_rate.value = "0.1"
    train(page)
    assert not page.loss.logarithmic
