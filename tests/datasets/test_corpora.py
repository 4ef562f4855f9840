"""Corpora: the bundled text, and real reviews where there are some."""

import hashlib
import os

import pytest

from sampan import datasets
from sampan.datasets import corpora, places


def test_the_bundled_text_is_a_corpus():
    found = datasets.load_corpus("coriolanus")
    assert " ".join(found[0]) == "first citizen before we proceed any further hear me speak"
    assert sum(map(len, found)) > 13_000 and all(
        w == w.lower() and w.strip("'") == w for s in found for w in s
    )
    assert datasets.load_corpus("coriolanus", most=2) == found[:2]
    with pytest.raises(ValueError, match="holds no texts"):
        datasets.load_corpus("mnist")
    with pytest.raises(ValueError, match="there is no such data set"):
        datasets.load_corpus("nothing")
    with pytest.raises(ValueError, match="most"):
        datasets.load_corpus("coriolanus", most=0)


def test_chinese_texts_are_cut_into_words():
    found = corpora.chinese_words(["早餐很好吃，房间不错！", "", "iPhone 6 的电池。"])
    assert found == [["早餐", "很", "好吃", "房间", "不错"], [], ["iphone", "6", "的", "电池"]]


def test_real_reviews_are_a_corpus():
    if "hotel_reviews" not in datasets.available():
        pytest.skip("SAMPAN_DATA has no hotel_reviews")
    found = datasets.load_corpus("hotel_reviews", most=300)
    assert len(found) == 300 and "房间" in {w for s in found for w in s}


REAL = os.environ.get("SAMPAN_DATA")


@pytest.mark.usefixtures("own_folders")
def test_a_text_is_always_there_and_cut_in_two():
    text = datasets.load_text("coriolanus")
    assert (len(text.train), len(text.test)) == (text.layout.train, text.layout.test)
    assert text.train.startswith("First Citizen:\nBefore we proceed any further, hear me speak.")
    assert len(text.train) > 8 * len(text.test) and "MENENIUS" in text.test
    with pytest.raises(ValueError, match="expected a set of images"):
        datasets.load("coriolanus")
    with pytest.raises(ValueError, match="not a single text"):
        datasets.load_text("digits")


@pytest.mark.usefixtures("own_folders")
def test_the_whole_text_where_it_is(monkeypatch):
    monkeypatch.setenv("SAMPAN_DATA", REAL or "")
    if "tinyshakespeare" not in datasets.available():
        pytest.skip("needs tinyshakespeare in SAMPAN_DATA")
    text = datasets.load_text("tinyshakespeare")
    assert text.train.startswith(datasets.load_text("coriolanus").train)
    assert len(set(text.train)) == 65


@pytest.mark.usefixtures("own_folders")
def test_a_text_of_another_length_than_its_card_says(monkeypatch, tmp_path):
    card = (places.bundled() / "coriolanus" / "card.toml").read_text().replace('"coriolanus"', '"short"')
    short = b"To be, or not to be"
    (tmp_path / "short").mkdir()
    (tmp_path / "short" / "coriolanus.txt").write_bytes(short)
    known = datasets.card("coriolanus").layouts[0].files["text"]
    card = card.replace(known.sha256, hashlib.sha256(short).hexdigest()).replace(
        str(known.bytes), str(len(short))
    )
    (tmp_path / "short" / "card.toml").write_text(card)
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="got 19"):
        datasets.load_text("short")
