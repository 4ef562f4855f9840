"""Chinese reviews on the page "Deploy": the grammar that makes them, the network that reads them, and the field that asks it.
Oracles: the pieces of the grammar read from a sentence, plain counting, torch's pieces of the network, the saved files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sampan
from studio import i18n
from studio.views.deploy import bench as benches
from studio.views.deploy import files, made_reviews, networks, texts
from studio.views.deploy.asking import Sentence, glossed
from studio.views.deploy.bench import Bench
from studio.views.deploy.bits import BitsPart
from studio.views.deploy.chooser import Chooser
from studio.views.deploy.compare import ComparePart
from studio.views.deploy.filters import FiltersPart
from studio.views.deploy.networks import DIGITS, HOTEL, REVIEWS
from studio.views.deploy.passes import PassesPart
from studio.views.deploy.reader import Letters
from studio.views.deploy.subject import Subject, probabilities
from studio.views.deploy.take import TakePart


@pytest.fixture(scope="module")
def reader() -> Subject:
    """The network of made reviews as the page trains it."""
    recipe = networks.RECIPES[REVIEWS]
    task = recipe.task()
    network = recipe.network(task)
    list(networks.train(network, task, recipe.epochs))
    return Subject(REVIEWS, network, task.test.shape[1:], task)


@pytest.fixture
def bench(reader: Subject) -> Bench:
    made = Bench()
    made.choose(reader)
    return made


def test_the_grammar_says_what_its_verdict_is() -> None:
    found = made_reviews.reviews(600)
    assert len({review.text for review in found}) == 600 and sum(review.verdict for review in found) == 300
    rows = [line.split(" | ")[1:] for line in made_reviews.THINGS.strip().splitlines()]
    bad, good = ({cell.split()[0] for row in rows for cell in row[i : i + 2]} for i in (0, 2))
    decided = 0
    for text, english, verdict in found:
        last = re.split("，", text.rstrip("。"))[-1]
        word = next((one for one in sorted(bad | good, key=len, reverse=True) if last.endswith(one)), None)
        if word is not None:  # else it is a closing word
            negated = last.removesuffix(word).endswith(("不", "不太"))
            assert ((word in good) != negated) == bool(verdict), (text, english)
            assert (" not " in english.split(", ")[-1]) == negated
            decided += 1
    assert decided > 400
    assert not {made.text for made in found[:300]} & {made.text for made in found[300:]}


def test_words_are_found_from_the_longest() -> None:
    assert made_reviews.gloss("房间不太干净ABC") == [
        ("房间", "room"),
        ("不太", "not very"),
        ("干净", "clean"),
    ]
    assert glossed("hello") == "–" and glossed("服务员").startswith("服务员 staff")
    assert glossed("好。" * 100).endswith("…")


def test_letters_are_numbered_by_frequency() -> None:
    letters = Letters(["好好差", "好差床"], 4, 5)
    assert len(letters) == 4
    assert letters.ids(["差好", "床床好好好好"]).tolist() == [[3, 2, 0, 0, 0], [1, 1, 2, 2, 2]]
    assert letters.unknown("床好床窗") == ["床", "窗"]


def test_the_network_learns_the_verdict_and_ignores_what_is_behind_the_end(reader: Subject) -> None:
    task = reader.task
    assert isinstance(task, texts.Reviews) and reader.shape == (texts.MADE_LONGEST,)
    assert task.accuracy(reader.network) > 0.95
    assert max(map(len, task.texts)) <= texts.MADE_LONGEST
    asked = [
        "房间很干净。",
        "房间不干净。",
        "虽然房间很干净，但是服务很冷淡。",
        "虽然服务很冷淡，但是房间很干净。",
    ]
    assert probabilities(reader.network, task.letters.ids(asked)).argmax(1).tolist() == [1, 0, 0, 1]
    ids = sampan.to_tensor(task.test[:5])
    with sampan.no_grad():
        encoder = reader.network.encoder
        x = encoder(reader.network.characters(ids) + reader.network.places(sampan.arange(ids.shape[1])))
        rows = reader.network.norm(x).numpy()
        lengths = (task.test[:5] > 0).sum(1)
        means = np.stack([row[:n].mean(0) for row, n in zip(rows, lengths, strict=True)])
        weight, bias = (p.numpy() for p in reader.network.answer.parameters())
        wanted = torch.softmax(torch.from_numpy(means @ weight + bias), -1).numpy()
    np.testing.assert_allclose(probabilities(reader.network, task.test[:5]), wanted, atol=1e-5)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_data_that_are_not_here_are_said(lang: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts.hotel.cache_clear()
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(networks.RECIPES, DIGITS, networks.RECIPES[DIGITS]._replace(epochs=1))
    card = Chooser(lang, Bench(), tmp_path)
    card.begin()
    card.wait()
    digits = card.bench.subject
    card.field.value = HOTEL
    card.wait()
    name = i18n.t("deploy.network.hotel", lang)
    assert (
        i18n.t("deploy.absent", lang, name=name) in card.status.value and str(tmp_path) in card.status.value
    )
    assert card.field.value == DIGITS and card.bench.subject is digits is not None and not card.start.disabled


def test_real_reviews_become_ids() -> None:
    try:
        task = texts.hotel()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert task.train.shape == (6212, 64) and task.test.shape == (1554, 64) and len(task.letters) == 2000
    assert (task.train < 2000).all() and (
        task.train != 1
    ).mean() > 0.95  # 2,000 characters are nearly all of them
    assert len(task.texts) == 1554 and not task.english and task.origin == "real"


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_sentence_is_asked_and_differences_are_listed(lang: str, bench: Bench, reader: Subject) -> None:
    part = ComparePart(lang, bench)
    part.begin()
    way: Any = part.ways["reviews"]
    assert isinstance(way, Sentence) and part.place.children == (way.root,)
    way.field.value = "房间很干净，窻"
    assert part.answers is not None and part.answers.shape == (2, 2)
    assert part.answers[0] == pytest.approx(part.answers[1]) and part.answers[0].argmax() == 1
    assert "窻" in way.about.value and ("clean" in way.about.value) == (lang == "en")
    assert i18n.t("deploy.try.verdict.good", lang) in part.answer.value
    way.field.value = "好" * 50
    assert i18n.t("deploy.try.cut", lang, count=texts.MADE_LONGEST) in way.about.value
    way.field.value = " "
    assert part.answers is None
    part.show_difference()
    assert i18n.t("deploy.try.unchanged", lang) in part.status.value and not part.list.value

    bench.set_bits(dict.fromkeys(benches.weighted(reader.network), 2))
    part.show_difference()
    task = reader.task
    assert isinstance(task, texts.Reviews) and part.answers is not None
    first, second = part.answers.argmax(1)
    assert first != second and way.field.value in task.texts
    both = [probabilities(one, task.test).argmax(1) for one in (reader.network, bench.small)]
    assert f'data-differ="{(both[0] != both[1]).sum()}"' in part.list.value
    english = task.english[task.texts.index(way.field.value)]
    assert (english in way.about.value) == (english in part.list.value) == (lang == "en")
    assert part.list.value.count("<tr><th") - 1 == min(8, (both[0] != both[1]).sum())

    part.form.value = "int8"
    assert not part.list.value and bench.changed
    converted = files.int8(reader, bench.small)
    wanted = probabilities(converted, task.letters.ids([way.field.value]))[0]
    np.testing.assert_allclose(part.answers[1], wanted, atol=1e-6)


def test_the_other_parts_take_the_network_too(bench: Bench, reader: Subject, tmp_path: Path) -> None:
    passes, filters, bits = PassesPart("en", bench), FiltersPart("en", bench), BitsPart("en", bench)
    for part in (passes, filters, bits):
        part.begin()
    filters.wait()
    bits.wait()
    assert len(passes.stages[-1].program.calls) < len(passes.stages[0].program.calls)
    assert list(filters.ratios) == ["encoder.linear1"]
    filters.ratios["encoder.linear1"].index = 5
    filters.epochs.index = 0
    filters.prune()
    filters.wait()
    bits.wait()
    assert bench.pruned.encoder.linear1.weight.shape == [64, 64] and len(filters.rows) == 3
    assert {"characters", "places", "answer"} <= set(bits.bits)
    bits.bits["characters"].index = 5
    bits.wait()
    rounded = bench.small.characters.weight.numpy()
    assert max(len(np.unique(column)) for column in rounded.T) <= 2**4 - 1


def test_the_characters_go_with_the_file(bench: Bench, reader: Subject, tmp_path: Path) -> None:
    part = TakePart("zh", bench, tmp_path)
    part.begin()
    part.form.value, part.name.value = "int8", "reviews"
    part.save()
    part.wait()
    assert part.folder is not None, part.status.value
    card = (part.folder / "README.md").read_text("utf-8")
    program = "\n".join(line[4:] for line in card.splitlines() if line.startswith("    "))
    scope: dict[str, Any] = {}
    exec(program.replace("models/", f"{tmp_path}/models/"), scope)
    task = reader.task
    assert isinstance(task, texts.Reviews)
    assert len(json.loads((part.folder / "characters.json").read_text("utf-8"))) == len(task.letters)
    with sampan.no_grad():
        logits = scope["network"](sampan.to_tensor([scope["ids"]])).numpy()[0]
    wanted = probabilities(files.int8(reader, bench.small), task.letters.ids([task.texts[0][:12]]))[0]
    np.testing.assert_allclose(torch.softmax(torch.from_numpy(logits), -1), wanted, atol=1e-4)
