"""Prefix beam search beside enumeration of all texts, in pieces, and with bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sampan as paddle
from sampan.speech import NGram, PrefixBeam, prefix_beam
from tests.speech import made_models

EXACT = {"beam_size": 3000}


def same(found: Any, expected: Any, count: int = 10) -> None:
    assert len(found) >= min(count, len(expected))
    np.testing.assert_allclose([s for _, s in found[:count]], [s for _, s in expected[:count]], rtol=1e-10)
    assert [ids for ids, _ in found[:count]] == [ids for ids, _ in expected[:count]]


@pytest.mark.parametrize("blank", [0, 2])
def test_every_text_has_the_sum_of_its_paths(blank: int) -> None:
    logs = made_models.log_probs(6, 4, blank)
    expected = made_models.ranked(logs, lambda ids: 0.0, blank)
    (found,) = prefix_beam(logs, blank=blank, **EXACT)
    assert len(found) == len(expected)
    same(found, expected, len(expected))
    assert np.logaddexp.reduce([score for _, score in found]) == pytest.approx(0.0, abs=1e-10)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0.0, -1.0, 1.5]))
def test_a_model_over_tokens(tmp_path: Path, seed: int, alpha: float, beta: float) -> None:
    model = made_models.random_model(["a", "b", "c"], 1 + seed % 3, seed)
    lm = NGram.read(made_models.written(tmp_path, model))
    tokens, logs = ["<blank>", "a", "b", "c"], made_models.log_probs(5, 4, seed)

    def bonus(ids: tuple[int, ...]) -> float:
        words = [tokens[i] for i in ids]
        return alpha * sum(made_models.sentence_scores(model, words, True, True)) + beta * len(ids)

    (found,) = prefix_beam(logs, vocabulary=tokens, lm=lm, alpha=alpha, beta=beta, **EXACT)
    same(found, made_models.ranked(logs, bonus))


@pytest.mark.parametrize("tokens", [["-", "a", "b", " "], ["-", "a", "b", "|"], ["-", "a", "b", "\u2581"], ["-", "a", "\u2581b", "\u2581ab"]])  # fmt: skip
@pytest.mark.parametrize("end", [True, False])
def test_a_model_over_words(tokens: list[str], end: bool, tmp_path: Path) -> None:
    model = made_models.random_model(["a", "ab", "bab", "unspelled"], 3, 7)
    lm = NGram.read(made_models.written(tmp_path, model))
    logs = made_models.log_probs(6, 4, 3)

    def bonus(ids: tuple[int, ...]) -> float:
        words = "".join(tokens[i] for i in ids).replace("|", " ").replace("\u2581", " ").split()
        return 0.7 * sum(made_models.sentence_scores(model, words, True, end)) + 0.4 * len(words)

    (found,) = prefix_beam(
        logs, vocabulary=tokens, lm=lm, level="word", alpha=0.7, beta=0.4, end=end, **EXACT
    )
    same(found, made_models.ranked(logs, bonus))


def test_hot_words() -> None:
    """Phrases that end are kept; the longest that has begun is taken back at the end."""
    logs = made_models.log_probs(6, 4, 11)
    phrases = {(1, 2): 1.0, (2, 3, 1): 0.5}

    def bonus(ids: tuple[int, ...]) -> float:
        return sum(
            weight * len(phrase)
            for phrase, weight in phrases.items()
            for i in range(len(ids))
            if ids[i : i + len(phrase)] == phrase
        )

    expected = made_models.ranked(logs, bonus)
    same(prefix_beam(logs, hot_words=phrases, **EXACT)[0], expected)
    words = prefix_beam(logs, vocabulary=["-", "a", "b", "c"], hot_words={"ab": 1.0, "bca": 0.5}, **EXACT)[0]
    same(words, expected)
    plain = made_models.ranked(logs, lambda ids: 0.0)
    assert plain[0][0] != expected[0][0]  # they change the result
    same(prefix_beam(logs, hot_words=[(1, 2)], hot_weight=0.0, **EXACT)[0], plain)


def test_a_hot_word_that_begins_another_keeps_what_it_gained() -> None:
    logs = made_models.log_probs(5, 3, 1)

    def bonus(ids: tuple[int, ...]) -> float:
        found = at = 0
        while at < len(ids):  # 1, and then the rest of 1 2 2
            if ids[at] == 1:
                found += 1
                if ids[at + 1 : at + 3] == (2, 2):
                    found += 2
            at += 1
        return float(found)

    same(
        prefix_beam(logs, hot_words={(1,): 1.0, (1, 2, 2): 1.0}, **EXACT)[0], made_models.ranked(logs, bonus)
    )


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.lists(st.integers(0, 7), min_size=1, max_size=30))
def test_pieces_of_any_size_give_the_same_result(tmp_path: Path, seed: int, pieces: list[int]) -> None:
    model = made_models.random_model([*"abcde"], 2, seed)
    lm = NGram.read(made_models.written(tmp_path, model))
    logs = made_models.log_probs(sum(pieces), 6, seed, 2.5).astype(np.float32)
    given: dict[str, Any] = {"lm": lm, "beam_size": 1 + seed % 8, "hot_words": ["abc", "de"]}
    beam = PrefixBeam(["-", *"abcde"], **given)
    (whole,) = prefix_beam(logs, vocabulary=["-", *"abcde"], **given)
    (without_end,) = prefix_beam(logs, vocabulary=["-", *"abcde"], **given, end=False)
    at, settled = 0, []
    for size in pieces:
        beam.feed(logs[at : at + size])
        at += size
        ids, stable = beam.partial()
        assert ids[: len(settled)] == settled and stable >= len(settled)  # what is stable never changes
        settled = ids[:stable]
    assert beam.frames == sum(pieces)
    assert beam.hypotheses() == without_end
    assert beam.finish() == whole
    assert all(ids[: len(settled)] == settled for ids, _ in whole)
    assert beam.finish()[0][0] == []  # it has begun again


def test_collected_nodes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = made_models.log_probs(2500, 30, 5, 3.0).astype(np.float32)
    (expected,) = prefix_beam(logs, hot_words=[[1, 2], [3, 4, 5]])
    monkeypatch.setattr("sampan.speech.beam.NODES", 1)
    beam = PrefixBeam(30, hot_words=[[1, 2], [3, 4, 5]])
    beam.feed(logs)
    assert len(beam._settled) > 1000
    assert len(beam._tree.parent) < 10_000
    assert beam.finish() == expected


def test_an_hour_of_frames_needs_no_more_nodes_than_a_minute() -> None:
    """90,000 frames at 40 ms; only the ids of the text itself grow."""
    rng = np.random.default_rng(0)
    minute = made_models.log_probs(1500, 20, 1, 3.0).astype(np.float32)
    beam = PrefixBeam(20)
    for _ in range(2):
        beam.feed(minute)
    capacity = len(beam._tree.parent)
    for _ in range(58):
        beam.feed(minute[rng.permutation(1500)])
    assert beam.frames == 90_000 and len(beam._tree.parent) == capacity <= 8192
    ids, stable = beam.partial()
    assert len(ids) - 300 < stable <= len(ids)


def test_tokens_are_final_after_the_history() -> None:
    """Two texts that differ in their first token go on side by side without it."""
    logs = np.log(np.full((1200, 3), 1e-6))
    logs[0, 1:] = np.log([0.55, 0.45])
    logs[1:, 0] = np.log(1 - 2e-6)
    for history, left in ((100, 1), (2000, 2)):
        beam = PrefixBeam(3, beam_size=2, history=history)
        beam.feed(logs)
        ids, stable = beam.partial()
        assert ids == [1] and stable == (1 if history == 100 else 0)
        found = beam.finish()
        assert found[0][0] == [1] and [ids for ids, _ in found].count([2]) == left - 1


def test_narrow_beams_find_at_most_what_there_is() -> None:
    """A beam follows fewer paths: its scores are bounded by the exact ones, and grow with it."""
    logs = made_models.log_probs(8, 5, 2)
    exact = made_models.every_text(logs)
    last = -np.inf
    for size in (1, 3, 10, 100, 4000):
        (found,) = prefix_beam(logs, beam_size=size)
        assert len(found) <= size
        assert all(score <= exact[tuple(ids)] + 1e-9 for ids, score in found)
        assert found[0][1] >= last - 1e-9 or size < 100
        last = found[0][1]
    assert last == pytest.approx(max(exact.values()))


def test_batches_and_tensors() -> None:
    logs = np.stack([made_models.log_probs(7, 4, seed) for seed in range(3)])
    found = prefix_beam(paddle.to_tensor(logs), lengths=[7, 0, 4], beam_size=5)
    assert found[0] == prefix_beam(logs[0], beam_size=5)[0] and found[1] == [([], 0.0)]
    assert found[2] == prefix_beam(logs[2, :4], beam_size=5)[0]
    half = paddle.to_tensor(logs[0].astype("float32")).astype("bfloat16")
    assert prefix_beam(half.astype("float32"))[0] == prefix_beam(half)[0]
    assert prefix_beam(np.zeros((0, 3, 4))) == []


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread")
def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    """With a language model and hot words; also the error of one sequence."""
    tokens = ["-", *"abcde"]
    lm = NGram.read(made_models.written(tmp_path, made_models.random_model([*"abcde"], 3, 1)))
    logs = np.stack([made_models.log_probs(60, 6, seed, 2.0) for seed in range(7)]).astype(np.float32)
    settings_ = {"vocabulary": tokens, "lm": lm, "hot_words": ["abc", "de"], "beam_size": 6}
    lengths = [60, 3, 0, 59, 17, 60, 41]
    before = numba.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            found.append(prefix_beam(logs, lengths, **settings_))
    finally:
        numba.set_num_threads(before)
    assert found[0] == found[1]
    alone = [prefix_beam(x[:n], **settings_)[0] for x, n in zip(logs, lengths, strict=True)]
    assert alone == found[0]
    logs[5, 2, 1] = np.nan
    with pytest.raises(ValueError, match="at most 0, some of them above -inf, got nan to nan at frame 2"):
        prefix_beam(logs, lengths, **settings_)


def test_few_tokens_extend() -> None:
    logs = made_models.log_probs(12, 50, 3)
    (narrow,) = prefix_beam(logs, most_tokens=1, beam_size=20)
    best = logs.argmax(1)
    assert set(narrow[0][0]) <= set(best.tolist())
    (likely,) = prefix_beam(logs, min_log_prob=-1.5, beam_size=20)
    assert {i for ids, _ in likely for i in ids} <= set(np.nonzero(logs > -1.5)[1].tolist())


def test_bad_input(tmp_path: Path) -> None:
    good = made_models.log_probs(3, 4, 0)
    model = made_models.random_model(["a", "b"], 2, 0)
    lm = NGram.read(made_models.written(tmp_path, model))
    for settings_, words in (
        ({"blank": 4}, "blank: expected 0 to 3, got 4"),
        ({"blank": -1}, "blank: expected 0 to 3"),
        ({"beam_size": 0}, "beam_size: expected at least 1, got 0"),
        ({"most_tokens": 0}, "most_tokens: expected at least 1"),
        ({"lm": lm}, "lm: expected the tokens of the vocabulary"),
        ({"lm": lm, "vocabulary": ["-", "x", "y", "z"]}, "lm: none of 4 tokens is a word of the model"),
        (
            {"lm": lm, "vocabulary": ["-", "x", "y", " "], "level": "word"},
            "lm: no word of the model is spelled",
        ),
        ({"lm": lm, "vocabulary": ["-", "a", "b", "c"], "level": "word"}, "between words, got none"),
        ({"lm": lm, "vocabulary": ["-", "a", "b", "c"], "level": "line"}, "level: expected token or word"),
        ({"lm": lm, "vocabulary": ["-", "a", "b", "c"], "alpha": -1.0}, "alpha, beta: expected"),
        ({"min_log_prob": np.nan}, "min_log_prob: expected at most 0"),
        ({"beta": np.nan}, "alpha, beta: expected"),
        ({"hot_words": ["ab"]}, "hot_words: expected token ids, because no tokens were given"),
        ({"hot_words": ["ax"], "vocabulary": ["-", "a", "b", "c"]}, "hot_words: no token begins 'x' of 'ax'"),
        ({"hot_words": [[1, 4]]}, "hot_words: expected ids from 0 to 3 without the blank 0, got 4"),
        ({"hot_words": [[1, 0]]}, "hot_words: expected ids from 0 to 3 without the blank 0, got 0"),
        ({"hot_words": [[]]}, "at least one token"),
        ({"hot_words": {(1,): -2.0}}, "weights of at least 0, got -2.0"),
        ({"vocabulary": 5}, "log_probs: expected 5 tokens, got 4"),
        ({"vocabulary": 0}, "vocabulary: expected at least 1"),
        ({"lengths": [4]}, r"lengths: expected 1 from 0 to 3, got \[4\]"),
        ({"lengths": [-1]}, r"lengths: expected 1 from 0 to 3, got \[-1\]"),
    ):
        with pytest.raises(ValueError, match=words):
            prefix_beam(good, **settings_)
    beam = PrefixBeam(4)
    for bad in (np.nan, 1.0, np.inf):
        broken = good.copy()
        broken[1, 2] = bad
        beam.reset()
        with pytest.raises(ValueError, match="expected log probabilities, at most 0"):
            beam.feed(broken)
        assert beam.frames == 1
    with pytest.raises(ValueError, match="some of them above -inf"):
        beam.feed(np.full((1, 4), -np.inf))
    with pytest.raises(ValueError, match=r"expected \[frames, vocabulary\], got the shape \[4\]"):
        beam.feed(good[0])
    with pytest.raises(TypeError, match="expected float32 or float64, got int64"):
        beam.feed(np.zeros((2, 4), np.int64))
    with pytest.raises(ValueError, match="text: expected the tokens"):
        beam.text([1])
    assert PrefixBeam(["-", "a", "b"]).text([1, 1, 2]) == "aab"


def test_impossible_tokens_are_left_out() -> None:
    logs = np.log(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]) + 0.0, where=np.array([[1, 1, 0]] * 2, bool), out=np.full((2, 3), -np.inf))  # fmt: skip
    (found,) = prefix_beam(logs, **EXACT)
    assert [ids for ids, _ in found] == [[1], []]
    np.testing.assert_allclose(np.exp([s for _, s in found]), [0.875, 0.125])


def test_recorded_answers_of_pyctcdecode(tmp_path: Path) -> None:
    """`pyctcdecode_record.py` made them; with a model over words and one over letters, and without."""
    record = json.loads((Path(__file__).parent / "recorded" / "pyctcdecode.json").read_text())
    assert record["versions"]["pyctcdecode"] == "0.5.0" and len(record["cases"]) >= 12
    path = tmp_path / "words.arpa"
    path.write_text(record["arpa"])
    lm, agreed = NGram.read(path), 0
    for case in record["cases"]:
        logs = made_models.log_probs(case["frames"], len(record["tokens"]), case["seed"], 2.5).astype(
            np.float32
        )
        settings_ = {"lm": lm, "level": "word", "alpha": 0.5, "beta": 1.5} if case["model"] else {}
        beam = PrefixBeam(["-", *record["tokens"][1:]], beam_size=1000, **settings_)
        beam.feed(logs)
        texts: dict[str, float] = {}  # pyctcdecode sums over any number of spaces between words
        for ids, score in beam.finish():
            text = " ".join(beam.text(ids).split())
            texts[text] = float(np.logaddexp(texts.get(text, -np.inf), score))
        # A narrower beam sums fewer paths; and pyctcdecode does not always find the best text.
        assert texts[case["text"]] == pytest.approx(case["score"], abs=0.1)
        assert max(texts.values()) > case["score"] - 0.1
        agreed += max(texts, key=lambda text: texts[text]) == case["text"]
    assert agreed >= 13
