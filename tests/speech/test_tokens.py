"""Vocabularies: decoding against itertools.groupby, round trips through files, and what is refused."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech import CTCTokens

LETTERS = CTCTokens({"<pad>": 0, "<unk>": 1, "|": 2, "A": 3, "B": 4, "C": 5})


@given(st.lists(st.integers(0, 5), max_size=30))
def test_repetitions_are_merged_before_blanks_are_dropped(frames):
    assert LETTERS.collapse(frames) == [k for k, _ in itertools.groupby(frames) if k != 0]


def test_decoding_of_ids_and_of_logits():
    frames = [0, 3, 3, 0, 3, 2, 2, 4, 0, 0]
    assert LETTERS.decode(frames) == LETTERS.decode(np.array(frames)) == "AA B"
    logits = np.eye(6, dtype="float32")[frames] * 5
    assert LETTERS.decode(logits) == LETTERS.decode(paddle.to_tensor(logits)) == "AA B"
    assert LETTERS.decode([]) == ""
    assert LETTERS.decode(np.zeros((0, 6), "float32")) == ""


def test_encoding():
    assert LETTERS.encode("AB C") == [3, 4, 2, 5]
    assert LETTERS.encode("AX") == [3, 1]
    syllables = CTCTokens({"<blank>": 0, "ni3": 1, "hao3": 2}, "<blank>", None, None, " ")
    assert syllables.encode("ni3 hao3") == [1, 2]
    assert syllables.text([1, 2]) == "ni3 hao3"
    with pytest.raises(InvalidArgument, match=r"text: 'ma1' is not in the vocabulary of 3 tokens"):
        syllables.encode("ni3 ma1")


@pytest.mark.parametrize(
    "tokens",
    [
        LETTERS,
        CTCTokens({"_": 1, "你": 0, "好": 2}, "_", None, None),
        CTCTokens({"b": 0, "a": 1}, "b", None, None, " "),
    ],
)
def test_files(tmp_path, tokens):
    tokens.save(tmp_path)
    again = CTCTokens.load(tmp_path)
    assert vars(again) == vars(tokens)


def test_published_files(tmp_path):
    """A published tokenizer_config.json holds tokens as text or as objects; without one, the usual tokens are meant."""
    (tmp_path / "vocab.json").write_text(json.dumps({"[PAD]": 1, "|": 0, "x": 2}))
    settings = {"pad_token": {"content": "[PAD]", "lstrip": False}, "unk_token": "[UNK]"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    found = CTCTokens.load(tmp_path)
    assert (found.blank, found.space, found.unknown) == (1, "|", None)


def test_bad_input(tmp_path):
    with pytest.raises(InvalidArgument, match=r"vocabulary: expected the numbers 0 to 1, each once"):
        CTCTokens({"<pad>": 0, "a": 2})
    with pytest.raises(InvalidArgument, match=r"blank: expected a token of the vocabulary, got '<pad>'"):
        CTCTokens({"a": 0})
    with pytest.raises(InvalidArgument, match=r"logits: expected \[frames, 6\], got \[4, 5\]"):
        LETTERS.decode(np.zeros((4, 5), "float32"))
    with pytest.raises(InvalidArgument, match=r"logits: expected numbers, got NaN"):
        LETTERS.decode(np.full((4, 6), np.nan))
    with pytest.raises(InvalidArgument, match=r"expected logits .* got float32 \[1, 4, 6\]"):
        LETTERS.decode(np.zeros((1, 4, 6), "float32"))
    with pytest.raises(InvalidArgument, match=r"ids: expected 0 to 5, got 6"):
        LETTERS.decode([3, 6])
    with pytest.raises(InvalidArgument, match=r"expected a file vocab.json, found none"):
        CTCTokens.load(tmp_path)
    (tmp_path / "vocab.json").write_text("[1, 2]")
    with pytest.raises(InvalidArgument, match=r"vocab.json: expected a JSON object, got list"):
        CTCTokens.load(tmp_path)
    for broken in (b"{", b"\xff\xfe"):
        (tmp_path / "vocab.json").write_bytes(broken)
        with pytest.raises(InvalidArgument, match=r"vocab.json: expected JSON"):
            CTCTokens.load(tmp_path)
