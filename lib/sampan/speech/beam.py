"""Prefix beam search over CTC posteriors, offline and as a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from typing import Any

import numba
import numpy as np

from ..engine.errors import InvalidArgument, InvalidType
from ..kernels import speech as kernels
from .fusion import fusion, hot_phrases
from .ngram import NGram
from .posteriors import batched, check_blank, check_ids, scores_of

NODES = 4096  # of the prefix tree, at first


class PrefixBeam:
    """Prefix beam search (Hannun et al., 2014) that reads frames as they come.

    A hypothesis, a list of token ids, ranks by log P(ids | frames) + alpha log P(ids) + beta len(ids) + hot
    words, where P(ids | frames) sums all paths that were followed. `feed` in any chunks gives the same
    result, and the memory does not grow with the frames: the prefix tree keeps what hypotheses still need.

    vocabulary: the number of tokens, or the tokens themselves, of which `blank` is the index of the blank.
    beam_size: hypotheses that are kept. lm: an `NGram` over tokens, or with level="word" over words; then
    beta counts words, and a word is scored when the next one begins (at " ", "|", or a piece with
    SentencePiece's mark). end: whether `finish` adds the probability of the end of the sentence. hot_words:
    texts or lists of ids, or a mapping from them to weights; each token of a hot word adds the weight
    (hot_weight by default), taken back if the word breaks off. most_tokens: how many tokens of a frame may
    extend a hypothesis. min_log_prob: tokens of a frame below it do not extend (-5 is usual). history:
    hypotheses that differ from the best one in a token that is about so many frames old are dropped, so that
    the text behind is final.
    """

    def __init__(
        self,
        vocabulary: int | Sequence[str],
        blank: int = 0,
        beam_size: int = 10,
        lm: NGram | None = None,
        hot_words: Mapping[Any, float] | Sequence[Any] | None = None,
        *,
        alpha: float = 0.5,
        beta: float = 0.0,
        hot_weight: float = 2.0,
        level: str = "token",
        end: bool = True,
        most_tokens: int = 40,
        min_log_prob: float = -np.inf,
        history: int = 250,
    ) -> None:
        self.tokens = None if isinstance(vocabulary, int) else list(vocabulary)
        self.size = vocabulary if isinstance(vocabulary, int) else len(vocabulary)
        numbers = {
            "vocabulary": self.size,
            "beam_size": beam_size,
            "most_tokens": most_tokens,
            "history": history,
        }
        for name, number in numbers.items():
            if number < 1:
                raise InvalidArgument(f"{name}: expected at least 1, got {number}")
        if not min_log_prob <= 0.0:
            raise InvalidArgument(f"min_log_prob: expected at most 0, got {min_log_prob}")
        if lm is not None and not isinstance(lm, NGram):
            raise InvalidType(f"lm: expected an NGram, got {type(lm).__name__}")
        check_blank(blank, self.size)
        self.blank, self.beam_size, self.lm, self.history = blank, beam_size, lm, history
        self.most_tokens, self.min_log_prob = min(most_tokens, self.size), float(min_log_prob)
        check = partial(check_ids, blank=blank, classes=self.size)
        phrases = hot_phrases(self.tokens, hot_words or (), hot_weight, check)
        self.end = lm.end if lm is not None and end else -1
        self.fusion = fusion(self.tokens, self.size, lm, level, alpha, beta, phrases, blank)
        self.reset()

    def reset(self) -> None:
        """Begin a new sequence."""
        self._settled: list[int] = []  # the tokens that led to the root of the tree
        self._tree = _tree(max(NODES, 4 * self.beam_size), self.lm)
        node, blank = np.zeros(self.beam_size, np.int32), np.zeros(self.beam_size)
        self._beam = kernels.Beam(node, blank, np.full(self.beam_size, -np.inf), np.array([1, 1, 0]))

    @property
    def frames(self) -> int:
        """The number of frames so far."""
        return int(self._beam.counts[2])

    def feed(self, log_probs: Any) -> None:
        """Read log probabilities [frames, vocabulary] of the next frames, a Tensor or array.

        Raises ValueError for NaN, for positive entries (logits need `log_softmax`), and where every
        hypothesis gets the probability 0; the frames before are read.
        """
        logs = scores_of(log_probs, "frames, vocabulary")
        if logs.shape[1] != self.size:
            raise InvalidArgument(f"log_probs: expected {self.size} tokens, got {logs.shape[1]}")
        done = 0
        while done < len(logs):
            done, why = kernels.beam_search(
                logs,
                done,
                self.blank,
                self._beam,
                self._tree,
                self.fusion,
                self.most_tokens,
                self.min_log_prob,
                self.history,
            )
            if why == kernels.BAD:
                raise InvalidArgument(
                    "log_probs: expected log probabilities, at most 0, some of them above -inf, got "
                    f"{logs[done].min()} to {logs[done].max()} at frame {self.frames}"
                )
            if why == kernels.FULL:
                self._collect()

    def partial(self) -> tuple[list[int], int]:
        """(token ids of the best hypothesis so far, how many of them every hypothesis shares and none will
        change)."""
        tail, _ = kernels.beam_path(self._tree, self._beam.node[0])
        shared, _ = kernels.beam_path(self._tree, kernels.shared_node(self._beam, self._tree))
        return self._settled + tail.tolist(), len(self._settled) + len(shared)

    def hypotheses(self) -> list[tuple[list[int], float]]:
        """(token ids, score) of the hypotheses so far, best first; the search goes on."""
        return self._ranked(-1)

    def finish(self) -> list[tuple[list[int], float]]:
        """(token ids, score) of the hypotheses, best first; what is fed next begins a new sequence."""
        found = self._ranked(self.end)
        self.reset()
        return found

    def _ranked(self, end: int) -> list[tuple[list[int], float]]:
        """The hypotheses, best first. end: the word id of the end of the sentence, or -1."""
        scores = kernels.final_scores(self._beam, self._tree, self.fusion, end)[:, 0]
        order = np.argsort(-scores, kind="stable")
        nodes = self._beam.node
        return [
            (self._settled + kernels.beam_path(self._tree, nodes[i])[0].tolist(), float(scores[i]))
            for i in order
        ]

    def text(self, ids: Sequence[int]) -> str:
        """The tokens of these ids, joined. Raises ValueError without tokens and for other ids."""
        if self.tokens is None:
            raise InvalidArgument("text: expected the tokens as the vocabulary, got its size")
        return "".join(self.tokens[i] for i in check_ids("ids", ids, self.blank, self.size))

    def _collect(self) -> None:
        """Make room: forget dropped hypotheses, and move tokens that all hypotheses share out of the tree."""
        root = kernels.shared_node(self._beam, self._tree)
        self._settled += kernels.beam_path(self._tree, root)[0].tolist()
        kernels.collect(self._beam, self._tree, root)
        if 2 * self._beam.counts[1] > self._tree.parent.size:
            self._tree = kernels.Tree(*(np.concatenate([each, np.zeros_like(each)]) for each in self._tree))


def _tree(capacity: int, lm: NGram | None) -> kernels.Tree:
    """A prefix tree with its root alone."""
    tree = kernels.Tree(*(np.zeros(capacity, np.int32 if n < 8 else float) for n in range(9)))
    tree.parent[0] = tree.token[0] = tree.first_child[0] = tree.next_sibling[0] = -1
    tree.context[0] = 0 if lm is None else lm.start
    return tree


def prefix_beam(
    log_probs: Any, lengths: Any = None, vocabulary: int | Sequence[str] | None = None, **settings: Any
) -> list[list[tuple[list[int], float]]]:
    """The hypotheses (token ids, score) of each sequence, best first, by `PrefixBeam`.

    log_probs: Tensor or array [batch, frames, vocabulary] or [frames, vocabulary] of log probabilities.
    lengths: [batch], the valid frames (default: all). vocabulary, settings: those of `PrefixBeam` (default:
    the number of tokens). Sequences are shared out among as many threads as Numba has; each is searched by
    one thread, so that the result does not depend on their number.
    """
    given, valid = batched(log_probs, lengths)
    first = PrefixBeam(given.shape[2] if vocabulary is None else vocabulary, **settings)

    def decode(n: int) -> list[tuple[list[int], float]]:
        beam = copy(first)  # the language model and the hot words are only read
        beam.reset()
        beam.feed(given[n, : valid[n]])
        return beam.finish()

    threads = min(numba.get_num_threads(), len(given))
    if threads < 2:
        return [decode(n) for n in range(len(given))]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(decode, range(len(given))))
