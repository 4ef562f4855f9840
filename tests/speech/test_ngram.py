"""N-gram models beside a scorer written from the definition."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sampan.speech import NGram
from tests.speech import made_models

WORDS = ["一", "二", "ab", "c", "d"]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("unknown", [True, False])
def test_the_definition(order: int, unknown: bool, tmp_path: Path) -> None:
    model = made_models.random_model(WORDS, order, order, unknown)
    lm = NGram.read(made_models.written(tmp_path, model))
    assert lm.order == order and set(lm.words) == {key[0] for key in model if len(key) == 1} | {"<unk>"}
    rng = np.random.default_rng(0)
    for n in range(60):
        words = [*rng.choice([*WORDS, "unseen"], n % 9)]
        for start in (True, False):
            for end in (True, False):
                expected = made_models.sentence_scores(model, words, start, end)
                np.testing.assert_allclose(lm.score(words, start, end), expected, rtol=1e-12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 4), st.integers(0, 10**6), st.lists(st.sampled_from([*WORDS, "?"]), max_size=12))
def test_any_model(tmp_path: Path, order: int, seed: int, words: list[str]) -> None:
    model = made_models.random_model(WORDS[: 1 + seed % 5], order, seed, seed % 3 > 0)
    lm = NGram.read(made_models.written(tmp_path, model))
    expected = made_models.sentence_scores(model, words, True, True)
    np.testing.assert_allclose(lm.score(words), expected, rtol=1e-12)


def test_a_context_is_shortened_where_its_suffix_was_pruned(tmp_path: Path) -> None:
    """(a, b, c) without (b, c): after it, the context is (c)."""
    model = {
        ("a",): (-1.0, -0.1), ("b",): (-1.1, -0.2), ("c",): (-1.2, -0.3), ("<unk>",): (-4.0, 0.0), ("<s>",): (-9.0, 0.0),
        ("</s>",): (-2.0, 0.0), ("a", "b"): (-0.5, -0.4), ("c", "a"): (-0.25, 0.0), ("a", "b", "c"): (-0.125, 0.0),
    }  # fmt: skip
    lm = NGram.read(made_models.written(tmp_path, model))
    words = ["a", "b", "c", "a", "b"]
    np.testing.assert_allclose(lm.score(words), made_models.sentence_scores(model, words, True, True))


def test_perplexity_states_and_files(tmp_path: Path) -> None:
    model = made_models.random_model(WORDS, 3, 1)
    path = made_models.written(tmp_path, model)
    lm = NGram.read(path)
    sentences = [["一", "二"], ["ab"], []]
    every = [s for words in sentences for s in made_models.sentence_scores(model, words, True, True)]
    assert lm.perplexity(sentences) == pytest.approx(math.exp(-np.mean(every)))
    packed = tmp_path / "model.arpa.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert (NGram.read(packed).score(["一", "c"]) == lm.score(["一", "c"])).all()
    tail = lm.score(["一", "二", "c"])[2:]
    state = lm.state(lm.word_ids(["一", "二"]))
    assert state != lm.start and (lm.score(["一", "二", "c"])[2:] == tail).all()
    with pytest.raises(ValueError, match="expected a list of words, got the text"):
        lm.score("一二")
    with pytest.raises(ValueError, match="at least one"):
        lm.perplexity([])


GOOD = made_models.arpa(made_models.random_model(["a", "b"], 2, 0))
SECTION = GOOD.index("\\2-grams:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 0: expected \\data\\ of an ARPA file, got the end of the file"),
        ("a text\n", r"line 1: expected \\data\\"),
        ("\\data\\\n\n\\end\\\n", "line 3: expected at least one unigram, got none"),
        ("\\data\\\nngram 1=0\n\\1-grams:\n\\end\\\n", "expected at least one unigram"),
        ("\\data\\\nngram 2=3\n", "line 2: expected 'ngram 1=count'"),
        ("\\data\\\nngram 1=x\n", "expected 'ngram 1=count'"),
        (GOOD[:SECTION], r"expected more n-grams or \\end\\, got the end of the file"),
        (GOOD.replace("ngram 1=5", "ngram 1=6"), "expected 6 1-grams as the header says, got 5"),
        (GOOD.replace("\\2-grams:", "\\3-grams:"), r"expected \\2-grams:, got '\\\\3-grams:'"),
        (GOOD.replace("\\end\\", "\\stop\\"), r"expected \\end\\, got"),
        (GOOD.replace("ngram 1=5", "ngram 1=6").replace("\\1-grams:", "\\1-grams:\n-1 a 0"), "'a' stands twice"),
        (GOOD.replace("\\1-grams:", "\\1-grams:\nx q 0"), "line 6: expected numbers around the words, got 'x q 0'"),
        (GOOD.replace("\\1-grams:", "\\1-grams:\n0.5 q 0"), "at most 0, and a backoff, got '0.5 q 0'"),
        (GOOD.replace("\\1-grams:", "\\1-grams:\nnan q 0"), "at most 0"),
        (GOOD.replace("\\1-grams:", "\\1-grams:\n-1 q nan"), "and a backoff, got"),
        (GOOD.replace("\\1-grams:", "\\1-grams:\n-1"), "expected a log probability, 1 words"),
        (GOOD.replace("\\2-grams:", "\\2-grams:\n-1 a z"), "the word 'z' is no unigram"),
        (GOOD.replace("\\2-grams:", "\\2-grams:\n-1 a b -1"), "expected a log probability, 2 words"),
    ],
)  # fmt: skip
def test_malformed_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        NGram.read(path)


def test_other_damage(tmp_path: Path) -> None:
    path = tmp_path / "bad.arpa"
    path.write_bytes(GOOD.encode().replace(b"\ta\t", b"\t\xff\xfe\t"))
    with pytest.raises(ValueError, match=r"bad.arpa, line \d+: expected UTF-8 text"):
        NGram.read(path)
    twice = made_models.arpa({("a",): (-1.0, 0.0), ("b",): (-1.0, 0.0), ("a", "b"): (-1.0, 0.0)})
    path.write_text(twice.replace("ngram 2=1", "ngram 2=2").replace("\\2-grams:", "\\2-grams:\n-1 a b"))
    with pytest.raises(ValueError, match=r"line 1[01]: an n-gram stands twice"):
        NGram.read(path)
    three = {("a",): (-1.0, 0.0), ("b",): (-1.0, 0.0), ("a", "b"): (-1.0, 0.0), ("b", "a", "b"): (-1.0, 0.0)}
    path.write_text(made_models.arpa(three))
    with pytest.raises(ValueError, match="an n-gram of order 3 without the n-gram of its first 2 words"):
        NGram.read(path)
    packed = tmp_path / "bad.arpa.gz"
    packed.write_bytes(gzip.compress(GOOD.encode())[:-20])
    with pytest.raises(ValueError, match="truncated or damaged"):
        NGram.read(packed)
    packed.write_bytes(b"not gzip")
    with pytest.raises(ValueError, match="truncated or damaged"):
        NGram.read(packed)


def test_kenlm(tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    model = made_models.random_model(WORDS, 3, 4)
    path = made_models.written(tmp_path, model)
    theirs, lm = kenlm.Model(str(path)), NGram.read(path)
    for words in (["一"], ["ab", "c", "d", "?", "一", "二"], []):
        expected = [score * made_models.LN10 for score, _, _ in theirs.full_scores(" ".join(words))]
        np.testing.assert_allclose(lm.score(words), expected, atol=1e-5)
