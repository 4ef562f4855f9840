"""Look-ups in an n-gram language model with backoff, and in tries that share its form.

The model is a trie in arrays. Node 0 is the empty context, and node n stands for the n-gram of the words from
node 0 to it. The children of a node are the nodes starts[n] to starts[n + 1], in ascending order of `words`.
A model of order N has no node deeper than N. The nodes 1 to V are the unigrams of the word ids 0 to V - 1.
`shorter[n]` is the node of the longest proper suffix of n's words: where a context does not continue with a
word, that context is tried next, at the price of `backoff[n]` (Katz, 1987). Logarithms are natural.
"""

from typing import NamedTuple

import numba
import numpy as np
from numba import prange

from .loops import Loop, in_both_forms

SERIAL_BELOW = 20_000  # words


class Trie(NamedTuple):
    """starts [nodes + 1], words, shorter, depth: int32; score, backoff: float64 [nodes]."""

    starts: np.ndarray
    words: np.ndarray
    shorter: np.ndarray
    depth: np.ndarray
    score: np.ndarray
    backoff: np.ndarray


@numba.njit(cache=True, error_model="numpy")
def child(starts, words, node, word):
    """The child of a node by a word, or -1."""
    low, high = starts[node], starts[node + 1]
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < starts[node + 1] and words[low] == word else -1


@numba.njit(cache=True, error_model="numpy")
def advance(trie, order, node, word):
    """(log probability of a word after the context of a node, the context behind it)."""
    cost = 0.0
    while node != 0:
        found = child(trie.starts, trie.words, node, word)
        if found >= 0:
            return cost + trie.score[found], trie.shorter[found] if trie.depth[found] == order else found
        cost += trie.backoff[node]
        node = trie.shorter[node]
    found = np.int64(word) + 1  # every word is a unigram, in the order of the ids
    return cost + trie.score[found], np.int64(0) if order == 1 else found


def _score_sentences(trie, order, starts, words, first, scores):
    for n in prange(starts.size - 1):
        node = first
        for i in range(starts[n], starts[n + 1]):
            scores[i], node = advance(trie, order, node, words[i])


_score_loop = Loop(_score_sentences, SERIAL_BELOW, "ngram_score_sentences")


def score_sentences(trie: Trie, order: int, starts: np.ndarray, words: np.ndarray, first: int) -> np.ndarray:
    """The log probability of each word, of sentences starts[n] to starts[n + 1] that begin in the context
    `first`. Words are unigrams of the model."""
    scores = np.empty(words.size)
    _score_loop(trie, order, starts, words, first, scores, size=words.size)
    return scores


def grouped(parents: np.ndarray, words: np.ndarray, first: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """(order, starts): the order of nodes by parent and then word, and where the children of each of `nodes`
    nodes begin when they are numbered from `first` on in that order."""
    order = np.lexsort((words, parents))
    starts = first + np.searchsorted(parents[order], np.arange(nodes + 1))
    return order, starts


def warm_up() -> None:
    """Compile (or load from the cache) every loop, in both forms."""
    none = np.zeros(2, np.int32)
    trie = Trie(np.array([1, 2, 2], np.int32), none, none, none, np.zeros(2), np.zeros(2))
    for _ in in_both_forms():
        score_sentences(trie, 1, np.array([0, 1]), np.zeros(1, np.int32), 0)
