"""What a language model and hot words add to the score of a hypothesis, as arrays for the beam search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..engine.errors import InvalidArgument
from ..kernels import speech as kernels
from .ngram import NGram

SEPARATORS = (" ", "|")  # tokens that stand for the space between words; the second is wav2vec 2.0's
OPENING = "\u2581"  # begins a piece of SentencePiece that begins a word


class SymbolTrie:
    """A trie of sequences of ints: `nodes[n]` has the child of node n by each symbol, in the order of
    levels."""

    def __init__(self, sequences: Iterable[Sequence[int]]) -> None:
        grown: list[dict[int, int]] = [{}]
        ends = []
        for symbols in sequences:
            at = 0
            for symbol in symbols:
                if symbol not in grown[at]:
                    grown[at][symbol] = len(grown)
                    grown.append({})
                at = grown[at][symbol]
            ends.append(at)
        order, place = [0], {0: 0}  # by levels, so that the children of a node stand together
        for old in order:
            for symbol in sorted(grown[old]):
                place[grown[old][symbol]] = len(order)
                order.append(grown[old][symbol])
        self.nodes = [{symbol: place[grown[old][symbol]] for symbol in sorted(grown[old])} for old in order]
        self.ends = [place[end] for end in ends]  # the node of each sequence
        self.parents = [0] * len(order)
        for n, children in enumerate(self.nodes):
            for found in children.values():
                self.parents[found] = n

    def arrays(self, shorter: Any, depth: Any, score: Any, backoff: Any) -> kernels.Trie:
        """The trie as the kernels take it; the arguments are given for each node."""
        sizes = [len(children) for children in self.nodes]
        symbols = [0, *(symbol for children in self.nodes for symbol in children)]
        starts = np.append(1, 1 + np.cumsum(sizes))
        integers = [np.asarray(a, np.int32) for a in (starts, symbols, shorter, depth)]
        first, words, links, depths = integers
        return kernels.Trie(first, words, links, depths, np.asarray(score, float), np.asarray(backoff, float))


def _lexicon(ends: Mapping[int, int], trie: SymbolTrie) -> kernels.Trie:
    """A trie whose `depth` is the word that ends at a node, or -1."""
    nothing = np.zeros(len(trie.nodes))
    return trie.arrays(nothing, [ends.get(n, -1) for n in range(len(trie.nodes))], nothing, nothing)


def _hot_trie(phrases: Mapping[tuple[int, ...], float]) -> kernels.Trie:
    """An automaton that finds phrases in a stream of tokens (Aho and Corasick, 1975).

    `backoff` of a node is what its tokens have gained since the last phrase that ended on the way to it,
    `score` what a phrase that ends there keeps for good.
    """
    trie = SymbolTrie(phrases)
    size = len(trie.nodes)
    gain, complete = np.zeros(size), np.zeros(size, bool)
    for end, weight in zip(trie.ends, phrases.values(), strict=True):
        complete[end] = True
        while end:
            gain[end] = max(gain[end], weight)
            end = trie.parents[end]
    shorter, pending, kept = [0] * size, np.zeros(size), np.zeros(size)
    for n, children in enumerate(trie.nodes):
        for symbol, found in children.items():
            at = shorter[n]
            while at and symbol not in trie.nodes[at]:
                at = shorter[at]
            shorter[found] = trie.nodes[at].get(symbol, 0) if n else 0
            gained = pending[n] + gain[found]
            pending[found], kept[found] = (0.0, gained) if complete[found] else (gained, 0.0)
            kept[found] += kept[shorter[found]]
    return trie.arrays(shorter, np.zeros(size), kept, pending)


class Words:
    """How tokens spell words: `opens` [tokens], 1 where a token ends the word before it; `spelled`, the
    characters of each token that belong to a word."""

    def __init__(self, tokens: Sequence[str]) -> None:
        separator = next((s for s in SEPARATORS if s in tokens), None)
        if separator is None and not any(token.startswith(OPENING) for token in tokens):
            raise InvalidArgument(
                f"tokens: expected {SEPARATORS[0]!r}, {SEPARATORS[1]!r} or pieces that begin with "
                f"{OPENING!r} between words, got none; a model over tokens needs level='token'"
            )
        self.opens = np.array([t == separator or t.startswith(OPENING) for t in tokens], np.int32)
        self.spelled = ["" if t == separator else t.removeprefix(OPENING) for t in tokens]


def hot_phrases(
    tokens: Sequence[str] | None, given: Any, weight: float, check: Any
) -> dict[tuple[int, ...], float]:
    """Token ids of each hot word, with its weight. given: words, or a mapping from words to weights; a word
    is a text or a sequence of ids, which `check` tests."""
    words = given.items() if isinstance(given, Mapping) else [(word, weight) for word in given]
    found = {}
    for word, gain in words:
        if not float(gain) >= 0.0 or gain == np.inf:
            raise InvalidArgument(f"hot_words: expected weights of at least 0, got {gain} for {word!r}")
        ids = _spell(tokens, word) if isinstance(word, str) else check("hot_words", word).tolist()
        if not ids:
            raise InvalidArgument("hot_words: expected words with at least one token, got an empty one")
        found[tuple(ids)] = float(gain)
    return found


def _spell(tokens: Sequence[str] | None, text: str) -> list[int]:
    """Ids of the longest tokens that spell a text, from the left."""
    if tokens is None:
        raise InvalidArgument(f"hot_words: expected token ids, because no tokens were given, got {text!r}")
    ids = {token: n for n, token in enumerate(tokens) if token}
    for separator in SEPARATORS[::-1]:
        if separator in ids:
            ids.setdefault(" ", ids[separator])
    pieces = any(token.startswith(OPENING) for token in ids)
    rest = OPENING + text.replace(" ", OPENING) if pieces else text
    longest, found = max(map(len, ids)), []
    while rest:
        size = next((n for n in range(min(longest, len(rest)), 0, -1) if rest[:n] in ids), 0)
        if not size:
            raise InvalidArgument(f"hot_words: no token begins {rest!r} of {text!r}")
        found.append(ids[rest[:size]])
        rest = rest[size:]
    return found


def fusion(
    tokens: Sequence[str] | None,
    size: int,
    lm: NGram | None,
    level: str,
    alpha: float,
    beta: float,
    phrases: Mapping[tuple[int, ...], float],
    blank: int,
) -> kernels.Fusion:
    """The arrays of a language model and of hot words for a vocabulary of `size` tokens.

    Raises ValueError for a model that has none of the tokens, or no word that they spell.
    """
    if level not in ("token", "word"):
        raise InvalidArgument(f"level: expected token or word, got {level!r}")
    if not alpha >= 0.0 or not abs(beta) < np.inf:
        raise InvalidArgument(
            f"alpha, beta: expected a weight of at least 0 and a number, got {alpha}, {beta}"
        )
    nothing = _lexicon({}, SymbolTrie([]))
    hot = _hot_trie(phrases)
    words, opens = np.zeros(size, np.int32), np.zeros(size, np.int32)
    starts, characters = np.zeros(size + 1, np.int32), np.zeros(0, np.int32)
    lexicon, mode, unknown = nothing, 0, 0
    if lm is not None and tokens is None:
        raise InvalidArgument("lm: expected the tokens of the vocabulary beside a model, got its size")
    if lm is not None and tokens is not None:
        mode, unknown = (1 if level == "token" else 2), lm.unknown
        if mode == 1:
            words = lm.word_ids(tokens)
            if not any(token in lm.ids for n, token in enumerate(tokens) if n != blank):
                raise InvalidArgument(
                    f"lm: none of {size} tokens is a word of the model, such as {lm.words[-1]!r}; a model "
                    "over words needs level='word'"
                )
        else:
            spelling = Words(tokens)
            opens = spelling.opens
            letters = {c for text in spelling.spelled for c in text}
            known = [n for n, word in enumerate(lm.words) if letters.issuperset(word)]
            trie = SymbolTrie([*map(ord, lm.words[n])] for n in known)
            if not known:
                raise InvalidArgument("lm: no word of the model is spelled by the tokens")
            lexicon = _lexicon(dict(zip(trie.ends, known, strict=True)), trie)
            starts = np.append(0, np.cumsum([len(text) for text in spelling.spelled])).astype(np.int32)
            characters = np.array([ord(c) for text in spelling.spelled for c in text], np.int32)
    most = max(beta, 0.0) + float((hot.score + hot.backoff).max())
    model, order = (nothing, 1) if lm is None else (lm.trie, lm.order)
    return kernels.Fusion(
        mode,
        model,
        order,
        float(alpha),
        float(beta),
        unknown,
        words,
        lexicon,
        starts,
        characters,
        opens,
        hot,
        most,
    )
