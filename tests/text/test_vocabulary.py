"""Numbers of tokens and back; what is refused; a file that is whole or not there."""

import json
import resource
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan.text import Vocabulary

characters = st.characters(exclude_categories=["Cs"])  # no lone surrogates
tokens = st.text(characters, min_size=1, max_size=4).filter(lambda t: t not in ("[UNK]", "[PAD]"))


def test_padding_is_0_and_unknown_is_1():
    v = Vocabulary(["很", "好", "酒店"])
    assert list(v) == ["[PAD]", "[UNK]", "很", "好", "酒店"] and len(v) == 5
    assert [v[t] for t in ("[PAD]", "[UNK]", "很", "酒店", "早餐")] == [0, 1, 2, 4, 1]
    assert "酒店" in v and "早餐" not in v and 3 not in v
    assert (v.padding, v.unknown) == ("[PAD]", "[UNK]")
    own = Vocabulary(["很"], unknown="<unk>", padding="<pad>")
    assert own["<unk>"] == 1 and own["[UNK]"] == 1 and "[UNK]" not in own
    assert "5 tokens" in repr(v)


@given(st.lists(tokens, unique=True, max_size=30), st.data())
@settings(max_examples=60)
def test_numbers_and_tokens_are_inverse(drawn, data):
    v = Vocabulary(drawn)
    assert v.tokens([v[t] for t in drawn]) == drawn
    asked = data.draw(st.lists(st.integers(0, len(v) - 1), max_size=20))
    assert [v[t] for t in v.tokens(asked)] == asked
    for kind in (np.array(asked, np.int32), np.array(asked, np.uint8), tuple(asked), iter(asked)):
        assert v.tokens(kind) == v.tokens(asked)
    assert v.tokens(sampan.to_tensor(np.array(asked, np.int64))) == v.tokens(asked)


@given(st.lists(st.lists(tokens, max_size=8), max_size=10), st.integers(1, 3), st.none() | st.integers(0, 6))
@settings(max_examples=80)
def test_build_keeps_the_most_frequent_and_does_not_hang_on_the_order(texts, least, most):
    v = Vocabulary.build(texts, least, most)
    counts = Counter(t for text in texts for t in text)
    kept = list(v)[2:]
    enough = [t for t in counts if counts[t] >= least]
    assert len(kept) == min(len(enough), len(enough) if most is None else most)
    assert [counts[t] for t in kept] == sorted((counts[t] for t in enough), reverse=True)[: len(kept)]
    assert list(Vocabulary.build([text[::-1] for text in texts[::-1]], least, most)) == list(v)


def test_build_leaves_out_the_marks_that_stand_in_a_text():
    v = Vocabulary.build([["[PAD]", "[UNK]", "[PAD]", "a"]])
    assert list(v) == ["[PAD]", "[UNK]", "a"]
    assert list(Vocabulary.build([["[PAD]", "-"]], padding="-", unknown="?")) == ["-", "?", "[PAD]"]
    assert list(Vocabulary.build([])) == ["[PAD]", "[UNK]"]


@given(st.lists(tokens, unique=True, max_size=20))
@settings(max_examples=40)
def test_a_file_brings_back_the_same(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("v") / "words.jsonl"
    v = Vocabulary(drawn, "<unk>", "of two\nlines")
    v.save(path)
    other = Vocabulary.load(path)
    assert list(other) == list(v) and (other.padding, other.unknown) == ("of two\nlines", "<unk>")
    lines = path.read_bytes().decode().split("\n")
    assert [json.loads(line) for line in lines[1:-1]] == list(v)  # any program that reads JSON reads it


def test_a_cut_or_changed_or_foreign_file_is_refused(tmp_path):
    path = tmp_path / "words.jsonl"
    Vocabulary(["酒店", "早餐", "a\u2028b"]).save(path)
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"words\.jsonl: (cut off or changed|not a vocabulary)"):
            Vocabulary.load(path)
    path.write_bytes(whole.replace("早".encode(), "晚".encode()))
    with pytest.raises(ValueError, match="5 tokens, its first line says 5"):
        Vocabulary.load(path)
    path.write_bytes(whole + b'"more"\n')
    with pytest.raises(ValueError, match="6 tokens, its first line says 5"):
        Vocabulary.load(path)
    for foreign in (b"", b"[PAD]\n[UNK]\n", b"[]\n", b"{}\n", b"\xff\xfe\n", b"3\n", b'"a"\n'):
        path.write_bytes(foreign)
        with pytest.raises(ValueError, match="not a vocabulary"):
            Vocabulary.load(path)
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "none")


def test_a_reader_never_sees_half_a_file(tmp_path):
    """One thread saves two vocabularies in turn, another reads: it finds one of the two, whole."""
    path, stop, seen = tmp_path / "v", threading.Event(), Counter()
    both = [Vocabulary([f"{i}" for i in range(2000)]), Vocabulary([f"{i}" for i in range(3)])]
    both[0].save(path)

    def save():
        for turn in range(60):
            both[turn % 2].save(path)
        stop.set()

    writer = threading.Thread(target=save)
    writer.start()
    while not stop.is_set() or not seen:
        seen[len(Vocabulary.load(path))] += 1
    writer.join()
    assert set(seen) <= {2002, 5}
    assert [p.name for p in tmp_path.iterdir()] == ["v"]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    """The system lets no file of this process grow past 4 KiB: as on a full disk."""
    path = tmp_path / "v"
    Vocabulary(["a"]).save(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            Vocabulary([f"{i}" for i in range(5000)]).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(Vocabulary.load(path))[2:] == ["a"]
    assert [p.name for p in tmp_path.iterdir()] == ["v"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda v: Vocabulary(["a", "b", "a"]), ValueError, "tokens: 'a' comes twice"),
        (lambda v: Vocabulary(["[PAD]"]), ValueError, r"'\[PAD\]' comes twice \(padding and unknown"),
        (lambda v: Vocabulary([], "x", "x"), ValueError, "'x' comes twice"),
        (lambda v: Vocabulary(["a", ""]), ValueError, "empty"),
        (lambda v: Vocabulary([], padding=""), ValueError, "empty"),
        (lambda v: Vocabulary("abc"), TypeError, "tokens: expected several str, got str"),
        (lambda v: Vocabulary(["a", 3]), TypeError, r"tokens\[1\]: expected a str, got int"),
        (lambda v: Vocabulary([b"a"]), TypeError, "got bytes"),
        (lambda v: Vocabulary(None), TypeError, "tokens: expected several str, got NoneType"),
        (lambda v: Vocabulary(["a\ud800"]), ValueError, r"tokens\[0\]: .* lone surrogate '\\ud800' at place 1"),
        (lambda v: Vocabulary([], unknown=None), TypeError, "unknown: expected a str, got NoneType"),
        (lambda v: Vocabulary.build(["很好", "不好"]), TypeError, r"texts_of_tokens\[0\]: .* cut it first"),
        (lambda v: Vocabulary.build([[1]]), TypeError, r"texts_of_tokens\[0\]\[0\]: expected a str, got int"),
        (lambda v: Vocabulary.build([["a"]], least=0), ValueError, "least"),
        (lambda v: Vocabulary.build([["a"]], most=-1), ValueError, "most"),
        (lambda v: v[3], TypeError, "token: expected a str, got int"),
        (lambda v: v[None], TypeError, "token: expected a str, got NoneType"),
        (lambda v: v.tokens([0, 5]), ValueError, r"ids\[1\]: expected 0 to 4, got 5"),
        (lambda v: v.tokens([-1]), ValueError, "got -1"),
        (lambda v: v.tokens([2**70]), ValueError, "expected 0 to 4"),
        (lambda v: v.tokens([1.0]), TypeError, r"ids\[0\]: expected an int, got float"),
        (lambda v: v.tokens([True]), TypeError, "got bool"),
        (lambda v: v.tokens(np.ones(2)), TypeError, "got float"),
        (lambda v: v.tokens(np.ones((2, 2), np.int64)), TypeError, "got list"),
        (lambda v: v.tokens("12"), TypeError, "ids: expected a list of int, got str"),
        (lambda v: v.tokens(3), TypeError, "got int"),
        (lambda v: v.tokens({2: 3}), TypeError, "got dict"),
        (lambda v: v.tokens(np.int64(3)), TypeError, "got int64"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(Vocabulary(["a", "b", "c"]))
