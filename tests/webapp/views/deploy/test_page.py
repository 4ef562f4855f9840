"""The page "Deploy" without a browser: its networks, each part and what it draws. Oracles: the library called by itself, torch's
rounding to levels, NumPy, plain counting."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sampan
from sampan import slim
from sampan.jit.passes import PASSES
from sampan.jit.stages import stages
from studio import i18n, kept_runs
from studio.models import all_models
from studio.views.deploy import bench as benches
from studio.views.deploy import bits as bit_figures
from studio.views.deploy import chooser, filters, memory, networks, program
from studio.views.deploy.bench import Bench
from studio.views.deploy.bits import BITS, BitsPart
from studio.views.deploy.compare import ComparePart
from studio.views.deploy.filters import FiltersPart
from studio.views.deploy.networks import DIGITS, ENCODER, KEPT, RESNET
from studio.views.deploy.page import DeployPage
from studio.views.deploy.speed import ENGINES, SpeedPart
from studio.views.deploy.subject import Subject, probabilities
from studio.views.deploy.take import TakePart
from studio.views.train import keep
from studio.views.train.runs import RunList
from studio.views.train.settings import Settings


@pytest.fixture(autouse=True)
def bundled_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
    for kind, recipe in networks.RECIPES.items():
        monkeypatch.setitem(networks.RECIPES, kind, recipe._replace(epochs=1))


@pytest.fixture(scope="module")
def trained() -> Subject:
    """The network of the page after one epoch; tests change copies."""
    network = networks.digit_network()
    list(networks.train(network, networks.digits(), 1))
    return Subject(DIGITS, network, (1, 8, 8), networks.digits())


@pytest.fixture
def bench(trained: Subject) -> Bench:
    made = Bench()
    made.choose(trained)
    return made


def words(html: str) -> str:
    return re.sub(r"<[^>]*>", " ", html)


def test_every_pass_has_a_name_and_a_sentence() -> None:
    for lang in i18n.LANGUAGES:
        assert not [n for n in PASSES if {f"deploy.pass.{n}", f"deploy.about.{n}"} - set(i18n.catalog(lang))]


# --- the whole page -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_network_is_trained_recorded_and_another_one_chosen(lang: str, tmp_path: Path) -> None:
    page = DeployPage(lang, tmp_path)
    page.open()
    page.chooser.wait()
    assert page.chooser.field.value == DIGITS and page.bench.subject is page.chooser.ready[DIGITS]
    assert 'data-network="digits"' in page.chooser.about.value and "19,498" in page.chooser.about.value
    assert len(page.passes.stages) == len(page.passes.slider.texts) > 5
    page.passes.slider.index = len(page.passes.slider.texts) - 1
    assert f'data-pass="{list(PASSES)[-1]}" data-calls="6"' in page.passes.said.value
    assert "6 / 13" in words(page.passes.counts.value) and not page.memory._begun
    page.memory.begin()
    recorded = int(re.findall(r'data-total="(\d+)"', page.memory.said.value)[0])
    page.memory.which.value = "rewritten"
    assert int(re.findall(r'data-total="(\d+)"', page.memory.said.value)[0]) < recorded
    page.chooser.field.value = ENCODER
    page.chooser.wait()
    assert i18n.t("deploy.network.random", lang) in page.chooser.about.value and page.chooser.start.disabled
    assert page.memory.stage.values[page.memory.stage.program.result].shape == (1, 16, 64)
    for part in (page.filters, page.bits, page.compare):
        part.begin()
        assert i18n.t("deploy.network.encoder", lang) in part.status.value
    assert page.chooser.status.value == page.passes.status.value == page.memory.status.value == ""


def test_the_network_learns_and_the_stop_button_ends_it(trained: Subject) -> None:
    assert trained.task is not None
    assert trained.task.accuracy(trained.network) > 0.8
    odds = probabilities(trained.network, trained.task.test[:3])
    with sampan.no_grad():
        logits = trained.network(sampan.to_tensor(trained.task.test[:3])).numpy()
    np.testing.assert_allclose(odds, torch.softmax(torch.from_numpy(logits), -1).numpy(), atol=1e-6)
    card = chooser.Chooser("en", Bench(), Path("nowhere"))
    card.field.options, card._begun = [("digits", DIGITS)], True
    card.train()
    work = card.work
    assert work is not None
    card.cancel()
    assert work.join(240) and work.state == "cancelled" and work.progress < 1
    assert not card.field.disabled and card.stop.disabled


def test_data_that_cannot_be_read_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("no <b>disk</b>")

    monkeypatch.setitem(networks.RECIPES, DIGITS, networks.RECIPES[DIGITS]._replace(task=refuse))
    card = chooser.Chooser("zh", Bench(), Path("nowhere"))
    card.field.options, card._begun = [("digits", DIGITS)], True
    card.train()
    card.wait()
    assert "no &lt;b&gt;disk" in card.status.value and 'role="alert"' in card.status.value
    assert not card.field.disabled and card.bench.subject is None


def test_networks_of_the_page_train_are_offered(tmp_path: Path) -> None:
    runs = RunList()
    run = runs.add(Settings("digits", model="lenet", epochs=1, batch_size=256))
    run.start().join()
    keep.save(run, kept_runs.folder(tmp_path))
    (found,) = networks.kept(tmp_path)
    assert (found.kind, found.number, found.shape) == (KEPT, 1, (1, 8, 8))
    assert run.result is not None and found.task is not None
    assert found.task.accuracy(found.network) == pytest.approx(run.result.accuracy)


# --- passes and memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DIGITS, RESNET])
def test_calls_keep_their_places_in_the_picture(kind: str, trained: Subject) -> None:
    subject = trained if kind == DIGITS else networks.random_network(kind)
    found = stages(subject.network, [subject.inputs(1)])
    first, last = found[0], found[-1]
    drawn = [json.loads(program.picture(first, stage, "en"))["data"] for stage in (first, last)]
    places = []
    for stage, (_, rings, dots) in zip((first, last), drawn, strict=True):
        assert len(dots["x"]) == len(stage.program.calls) + 1  # and the input
        assert len(rings["x"]) == len(first.program.calls) - len(stage.program.calls)
        assert [text.split(" ")[0] for text in dots["text"][1:]] == [
            call.name for call in stage.program.calls
        ]
        places.append(set(zip(dots["x"], dots["y"], strict=True)))
    assert places[1] < places[0] and places[0] - places[1] == set(
        zip(drawn[1][1]["x"], drawn[1][1]["y"], strict=True)
    )
    assert max(-y for _, y in places[0]) < program.ROWS
    assert (
        [s == "diamond" for s in drawn[1][2]["marker"]["symbol"]].count(True)
        == len(program.joined(first, last))
        > 0
    )
    lines = [sum(1 for v in data[0]["x"] if v is None) for data in drawn]
    assert lines[0] > lines[1] >= len(last.program.calls)  # each call reads a value at least


def test_kinds_of_calls_are_known() -> None:
    names = {
        "convolve": "convolution",
        "int8_conv2d": "convolution",
        "affine": "product",
        "mm": "product",
        "relu": "activation",
        "normalize_layer": "norm",
        "reshape": "shape",
        "add": "other",
        "max_pool": "other",
    }
    assert {name: program.kind_of(name) for name in names} == names
    assert program.pass_name("a_new_pass", "en") == "a new pass"


def test_the_timeline_has_a_bar_for_each_buffer(trained: Subject) -> None:
    (stage,) = stages(trained.network, [trained.inputs(4)], [])
    bars, kept, needed, bound = json.loads(memory.timeline(stage, "en"))["data"]
    assert len(bars["x"]) == len(stage.buffers)
    for start, length, buffer in zip(bars["base"], bars["x"], stage.buffers, strict=True):
        assert start == buffer.born + 0.5
        assert start + length == min(buffer.last + 1, len(stage.program.calls)) + 0.5
    block = json.loads(memory.timeline(stage, "en", arena=True))
    boxes = [
        (x, x + length, y - width / 2, y + width / 2)
        for x, length, y, width in zip(
            *(block["data"][0][key] for key in ("base", "x", "y", "width")), strict=True
        )
    ]
    assert sum((x1 - x0) * (y1 - y0) for x0, x1, y0, y1 in boxes) == sum(needed["y"][:-1])
    assert not [
        (one, other)
        for i, one in enumerate(boxes)
        for other in boxes[:i]
        if one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
    ]
    assert kept["y"][-1] == stage.bytes and max(needed["y"]) == bound["y"][0] == stage.peak
    assert 4 * 4 * 16 * 64 in [buffer.bytes for buffer in stage.buffers]  # 4 pictures, 16 channels of 8 x 8


# --- filters and bits -----------------------------------------------------------------------------------------


def test_filters_are_ranked_removed_and_measured(bench: Bench, trained: Subject) -> None:
    part = FiltersPart("en", bench)
    part.begin()
    part.wait()
    assert list(part.ratios) == ["0", "3", "7"] and trained.task is not None
    small = copy.deepcopy(trained.network)
    slim.L1NormFilterPruner(small, [1, 1, 8, 8]).prune_vars({"3.weight": 0.5})
    assert part.curves["3"][0.5] == pytest.approx(trained.task.accuracy(small), abs=1e-6)
    assert part.curves["7"][0.0] == trained.task.accuracy(trained.network)
    part.prune()
    assert i18n.t("deploy.filters.none", "en") in part.status.value and bench.pruned is None
    line = json.loads(part.plot.figure)["data"][2]
    part._clicked(None, {"click": {"line": line["name"], "x": line["x"][5]}}, None)
    part._clicked(None, {"click": {"line": "another", "x": 10}}, None)
    assert [slider.index for slider in part.ratios.values()] == [0, filters.RATIOS.index(0.5), 0]
    part.epochs.index = 1
    ring = json.loads(part.plot.figure)["data"][3]
    assert (ring["x"], ring["y"]) == ([50.0], [pytest.approx(100 * part.curves["3"][0.5])])
    part.prune()
    part.wait()
    assert bench.pruned[3].weight.shape == [16, 16, 3, 3] and trained.network[3].weight.shape == [
        32,
        16,
        3,
        3,
    ]
    (_, whole, _, _), (_, pruned, _, worse), (_, _, _, better) = part.rows
    assert pruned == slim.file_bytes(bench.pruned) < whole and better >= worse - 0.02
    assert 'data-rows="3"' in part.result.value
    part.restore()
    assert bench.pruned is None and bench.base is trained.network
    part.equal_loss()
    for name, slider in part.ratios.items():
        ratio = filters.RATIOS[slider.index]
        assert part.curves[name][ratio] >= part.curves[name][0.0] * (1 - filters.LOSS) - 0.005 or ratio == 0


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_are_rounded_as_torch_rounds_them(bits: int, trained: Subject) -> None:
    small = benches.rounded(trained.network, {"3": bits, "12": bits})
    most = 2 ** (bits - 1) - 1
    for name, axis in (("3", 0), ("12", 1)):
        weight = torch.from_numpy(dict(trained.network.named_sublayers())[name].weight.numpy().copy())
        scale = weight.abs().amax([d for d in range(weight.ndim) if d != axis]) / most
        zeros = torch.zeros(len(scale), dtype=torch.int32)
        wanted = torch.fake_quantize_per_channel_affine(weight, scale, zeros, axis, -most, most)
        np.testing.assert_allclose(dict(small.named_sublayers())[name].weight.numpy(), wanted, atol=1e-6)
    np.testing.assert_array_equal(small[0].weight.numpy(), trained.network[0].weight.numpy())
    counts = {"3": 32 * 16 * 9, "12": 512 * 10}
    saved = sum(4 * n - n * bits // 8 for n in counts.values()) - 4 * (32 + 10)
    assert (
        benches.packed_bytes(trained.network, {"3": bits, "12": bits})
        == slim.file_bytes(trained.network) - saved
    )


def test_bits_change_accuracy_size_and_the_levels_that_are_drawn(bench: Bench, trained: Subject) -> None:
    part = BitsPart("en", bench)
    part.begin()
    part.wait()
    assert trained.task is not None and list(part.bits) == ["0", "3", "7", "12"] and not bench.changed
    assert part.accuracy == trained.task.accuracy(trained.network)
    assert part.bytes == slim.file_bytes(trained.network)
    part.layer.value = "7"
    part.set_all(2)
    part.wait()
    part.bits["0"].index = BITS.index(8)
    part.wait()
    wanted = {"0": 8, "3": 2, "7": 2, "12": 2}
    assert bench.bits == wanted
    assert part.accuracy == trained.task.accuracy(benches.rounded(trained.network, wanted))
    assert f'data-bytes="{benches.packed_bytes(trained.network, wanted)}"' in part.result.value
    bars, levels = json.loads(part.plot.figure)["data"]
    assert sum(bars["y"]) == 32 * 32 * 9 and [x for x in levels["x"] if x is not None][::2] == [
        -1.0,
        0.0,
        1.0,
    ]
    assert np.abs(bit_figures.relative(trained.network[7])).max() == pytest.approx(1.0)


# --- both networks, engines, files ----------------------------------------------------------------------------


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_both_networks_answer_and_their_differences_are_found(
    lang: str, bench: Bench, trained: Subject
) -> None:
    part = ComparePart(lang, bench)
    part.begin()
    part.show_any()
    assert i18n.t("deploy.try.unchanged", lang) in part.answer.value
    assert part.answers is not None and np.array_equal(part.answers[0], part.answers[1])
    part.show_difference()
    assert i18n.t("deploy.try.unchanged", lang) in part.status.value
    bench.set_bits(dict.fromkeys(benches.weighted(trained.network), 2))
    part.show_difference()
    first, second = part.answers.argmax(1)
    assert first != second and f'data-answers="{first} {second}"' in part.answer.value
    assert part._input is not None
    assert part.answers[1] == pytest.approx(probabilities(bench.small, part._input)[0])
    ink = np.zeros((140, 140), np.uint8)
    ink[30:110, 60:80] = 255
    pad: Any = part.ways["digits"]
    pad.pad.pixels = ink.tobytes()
    assert part._input.shape == (1, 1, 8, 8)
    pad._told(None, {"clear": True}, None)
    assert part.answers is None


@pytest.mark.servers  # saving starts processes
def test_engines_are_measured_side_by_side(bench: Bench) -> None:
    part = SpeedPart("en", bench)
    part.begin()
    part.batch.index = 0
    part.measure()
    part.wait()
    assert part.work is not None and part.work.state == "done", part.status.value
    measured = [engine for engine in ENGINES if engine not in part.missing]
    assert {"eager", "replay", "int8"} <= set(measured) and list(part.times) == [1, 8]
    for found in part.times.values():
        assert list(found) == measured and min(found.values()) > 0
    assert f'data-engines="{" ".join(measured)}"' in part.result.value
    assert part.missing.keys() <= {"onnxruntime"}


@pytest.mark.servers  # saving starts a process
def test_the_files_are_saved_checked_and_found_by_the_page_models(
    bench: Bench, trained: Subject, tmp_path: Path
) -> None:
    bench.set_bits({"3": 4})
    part = TakePart("en", bench, tmp_path)
    part.begin()
    for name in ("", "../away", "a" * 61):
        part.name.value = name
        part.save()
        assert i18n.t("deploy.take.bad_name", "en") in part.status.value.replace("&quot;", '"').replace(
            "&#x27;", "'"
        )
    part.name.value = "small_digits"
    part.save()
    part.wait()
    assert part.folder == tmp_path / "models" / "small_digits", part.status.value
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["small_digits"]
    (model,) = (one for one in all_models(tmp_path) if one.origin == "saved")
    names = {path.name for path in model.files}
    assert {"README.md", "small_digits.json", "small_digits.safetensors"} <= names
    loaded: Any = sampan.jit.load(part.folder / "small_digits")
    assert trained.task is not None
    with sampan.no_grad():
        x = sampan.to_tensor(trained.task.test[:7])
        np.testing.assert_allclose(loaded(x).numpy(), bench.small(x).numpy(), atol=1e-4)
    assert 'href="../models/saved/small_digits/download"' in part.result.value and "jit.load" in model.card
    part.save()
    assert "small_digits" in part.status.value and "there already" in part.status.value
