"""The tries behind a beam search beside a search of the text itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampan.kernels.cpu_speech_beam import hot_step
from sampan.speech import fusion

SYMBOLS = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@given(st.lists(SYMBOLS, min_size=1, max_size=5), SYMBOLS)
def test_a_trie_finds_its_sequences(sequences: list[list[int]], other: list[int]) -> None:
    trie = fusion.SymbolTrie(sequences)
    for sequence, end in [*zip(sequences, trie.ends, strict=True), (other, None)]:
        at: int | None = 0
        for symbol in sequence:
            at = None if at is None else trie.nodes[at].get(symbol)
        prefix = any(s[: len(sequence)] == sequence for s in sequences)
        assert (at is not None) == prefix and (end is None or at == end)


@given(st.lists(SYMBOLS, min_size=1, max_size=4, unique_by=tuple), st.lists(st.integers(1, 3), max_size=12))
def test_hot_words_gain_what_they_have_begun(phrases: list[list[int]], text: list[int]) -> None:
    """With phrases none of which is inside another: each end keeps the weight of its tokens, and the longest
    beginning at the end of the text counts while it lasts."""
    apart = [
        p
        for p in phrases
        if not any(q != p and any(p[i : i + len(q)] == q for i in range(len(p))) for q in phrases)
    ]
    if not apart:
        return
    hot = fusion._hot_trie({tuple(p): 1.0 for p in apart})
    total, place = 0.0, 0
    for token in text:
        bonus, place = hot_step(hot, place, token)
        total += bonus
    ends = sum(len(p) for p in apart for i in range(len(text)) if text[i : i + len(p)] == p)
    begun = max(
        (n for p in apart for n in range(len(p)) if n <= len(text) and text[len(text) - n :] == p[:n]),
        default=0,
    )
    whole = any(text[len(text) - len(p) :] == p for p in apart if len(p) <= len(text))
    assert total - hot.backoff[place] == pytest.approx(ends)
    assert hot.backoff[place] == (0 if whole else begun)


def test_hot_words_are_spelled_by_the_longest_tokens() -> None:
    check = lambda name, ids: np.asarray(ids)
    pieces = ["<b>", "\u2581he", "l", "lo", "\u2581", "h", "\u2581lo"]
    assert fusion.hot_phrases(pieces, ["hello lo"], 2.0, check) == {(1, 2, 3, 6): 2.0}
    letters = ["<b>", "a", "|", "b"]
    assert fusion.hot_phrases(letters, {"ab ba": 1.5}, 2.0, check) == {(1, 3, 2, 3, 1): 1.5}
    assert fusion.hot_phrases(None, [[3, 1]], 2.0, check) == {(3, 1): 2.0}
