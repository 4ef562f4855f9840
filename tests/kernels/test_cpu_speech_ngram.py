import numpy as np

from sampan.kernels import cpu_speech_ngram as kernels
from tests.graph.chances import with_threads

# Unigrams 0, 1, 2 are nodes 1 to 3; bigrams (0, 1) and (0, 2) are nodes 4 and 5.
TRIE = kernels.Trie(
    np.array([1, 4, 6, 6, 6, 6, 6], np.int32),
    np.array([0, 0, 1, 2, 1, 2], np.int32),
    np.array([0, 0, 0, 0, 2, 3], np.int32),
    np.array([0, 1, 1, 1, 2, 2], np.int32),
    np.array([0.0, -1.0, -2.0, -4.0, -0.5, -0.25]),
    np.array([0.0, -8.0, -16.0, -32.0, 0.0, 0.0]),
)


def test_children_and_steps() -> None:
    found = [kernels.child(TRIE.starts, TRIE.words, 1, word) for word in range(4)]
    assert found == [-1, 4, 5, -1]
    assert kernels.advance(TRIE, 2, 1, 1) == (-0.5, 2)  # a bigram; behind it stands its last word
    assert kernels.advance(TRIE, 2, 1, 0) == (-9.0, 1)  # back off
    assert kernels.advance(TRIE, 2, 0, 2) == (-4.0, 3)


def test_sentences_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 3, 30_000).astype(np.int32)
    starts = np.append(np.sort(rng.integers(0, words.size, 500)), words.size)
    starts[0] = 0
    one, two = (with_threads(n, lambda: kernels.score_sentences(TRIE, 2, starts, words, 0)) for n in (1, 2))
    assert (one == two).all() and one[starts[:-1][np.diff(starts) > 0]].max() <= -1.0


def test_grouped() -> None:
    order, starts = kernels.grouped(np.array([2, 0, 2, 0]), np.array([5, 4, 3, 9]), 10, 3)
    assert order.tolist() == [1, 3, 2, 0] and starts.tolist() == [10, 12, 12, 14]
