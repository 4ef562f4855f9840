"""Word vectors learned from co-occurrence: `WordVectors().fit(sentences).similar("房间")`.

Skip-gram with negative sampling (Mikolov, Sutskever, Chen, Corrado and Dean 2013, "Distributed
Representations of Words and Phrases and their Compositionality", formula 4), and the same with subwords, so
that a word that was never seen has a vector too (Bojanowski, Grave, Joulin and Mikolov 2017, "Enriching Word
Vectors with Subword Information"; for Chinese the subwords are characters and pairs of them). Differences
from word2vec.c: see `kernels/cpu_embedding_words.py`. `benchmarks/word_vectors.py` compares it with
gensim.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.tensor import InvalidArgument, InvalidType
from ..kernels import cpu_embedding_words as loops
from ..kernels.cpu_embedding import bag_sums
from ..kernels.cpu_embedding_hash import mixed
from ..optimizer.lr import _number
from ..serialization import load, save_with_checksum
from . import word2vec
from .subwords import fnv1a, ngrams, numbered

__all__ = ["Progress", "WordVectors"]

FORMAT = "sampan word vectors 1"
MOMENT = 0.2  # seconds of training between two reports
LONGEST = 10_000  # words; a longer sentence is trained on as several, so that what belongs to one stays small
NEGATIVE_POWER = 0.75  # negatives are drawn by count ** 0.75 (Mikolov et al. 2013, section 2.2)
# fmt: off
SETTINGS = (
    "dim", "window", "negative", "least", "epochs", "sample", "subwords", "buckets", "learning_rate", "seed",
)
# fmt: on
Source = str | os.PathLike[str]


@dataclass(frozen=True)
class Progress:
    """How far training is: `done` 0 to 1; `words` of the vocabulary trained on since it began, over all
    epochs; the mean loss of a (word, neighbour) pair since the last report, which begins at (1 + negative) ln
    2."""

    done: float
    epoch: int
    words: int
    words_per_second: float
    loss: float


class WordVectors:
    """Word vectors [words, dim], float32, learned from sentences, which are lists of words.

    window: a word's neighbours are at most 1 to `window` places away, drawn anew each time. negative: words
    drawn for each that is predicted. least: rarer words are left out, and their neighbours move together.
    sample: a word of frequency f stays with the chance sqrt(sample / f) + sample / f; 0 leaves all in.
    subwords: None, or the shortest and the longest n-gram of characters that belong to a word, counted in
    <word>; they share `buckets` vectors by their hash. learning_rate: falls to 1e-4 of itself in proportion
    to the words seen. threads: None or 1 gives the same vectors for the same sentences and seed; more are
    faster, and give slightly other ones each time (Hogwild).

    Raises ValueError or TypeError, which names the argument.
    """

    def __init__(
        self,
        dim: int = 100,
        window: int = 5,
        negative: int = 5,
        least: int = 5,
        epochs: int = 5,
        sample: float = 1e-3,
        subwords: tuple[int, int] | None = None,
        buckets: int = 2**18,
        learning_rate: float = 0.025,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        whole = {"dim": dim, "window": window, "negative": negative, "least": least, "epochs": epochs}
        whole |= {"buckets": buckets, "threads": 1 if threads is None else threads}
        for name, value in whole.items():
            _number(value, name, 1, whole=True)
        _number(seed, "seed", -math.inf, whole=True)
        _number(sample, "sample")
        if not (math.isfinite(learning_rate) and learning_rate > 0):
            raise InvalidArgument(f"learning_rate: expected a number of more than 0, got {learning_rate}")
        if subwords is not None and (len(subwords) != 2 or not 1 <= subwords[0] <= subwords[1]):
            raise InvalidArgument(f"subwords: expected None or (shortest, longest) from 1 on, got {subwords}")
        self.dim, self.window, self.negative, self.least, self.epochs = dim, window, negative, least, epochs
        self.sample, self.buckets, self.learning_rate, self.seed = sample, buckets, learning_rate, seed
        self.subwords = None if subwords is None else (int(subwords[0]), int(subwords[1]))
        self.threads = whole["threads"]
        self.words: list[str] = []  # most frequent first
        self.counts = np.empty(0, np.int64)
        self._numbers: dict[str, int] = {}
        self._row_of: dict[int, int] = {}  # of each bucket that a word of the vocabulary uses
        self._groups = (np.empty(0, np.int64), np.empty(0, np.int32))  # the rows that make up each word
        self._inputs = self._outputs = np.empty((0, 0), np.float32)  # wider than dim: columns of zeros
        self._begun = 0  # epochs begun: each has its own random stream

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Whether the word is in the vocabulary; others may have a vector too, by their subwords."""
        return word in self._numbers

    # --- training -------------------------------------------------------------------------------------------

    def fit(self, sentences: Iterable[Sequence[str]]) -> WordVectors:
        """Train to the end."""
        for _ in self.train(sentences):
            pass
        return self

    def train(self, sentences: Iterable[Sequence[str]]) -> Iterator[Progress]:
        """Train, and yield progress several times a second; stopping the iteration keeps the vectors so far.

        The first call takes the vocabulary from the sentences, which are read once; later ones train it
        further, and pass over words that it lacks. Raises ValueError if no word is frequent enough, and
        TypeError for a sentence that is a string: split it into words first.
        """
        if self.words and not len(self._outputs):
            raise InvalidArgument(
                "train: these vectors are from a file without counts and targets, which training needs"
            )
        words, starts, found = numbered(sentences)
        if not self.words:
            self._begin(found, np.bincount(words, minlength=len(found)))
        new = np.array([self._numbers.get(word, -1) for word in found], np.int32)
        words = new[words] if len(found) else words
        known = words >= 0
        starts = np.concatenate([[0], np.cumsum(known, dtype=np.int64)])[starts]
        words = words[known]
        if len(words) == 0:
            raise InvalidArgument("sentences: expected words of the vocabulary, found none")
        long = np.flatnonzero(np.diff(starts) > LONGEST)
        more = [np.arange(starts[i], starts[i + 1], LONGEST) for i in long]
        starts = np.unique(np.concatenate([starts, *more]))
        return self._trained(words, starts)

    def _begin(self, found: list[str], counts: np.ndarray) -> None:
        """The vocabulary, and the vectors as they begin: inputs uniform within 1 / dim, targets 0."""
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] >= self.least]
        if len(order) == 0:
            most = f"the most frequent {counts.max()} times" if len(counts) else "there are none"
            raise InvalidArgument(
                f"sentences: expected words that come {self.least} times or more (`least`), {most}"
            )
        self.words, self.counts = [str(found[i]) for i in order], counts[order].astype(np.int64)
        self._number()
        rows = len(self.words) + len(self._row_of)
        self._inputs = loops.blank_rows(rows, self.dim)
        generator = np.random.default_rng(abs(self.seed))
        self._inputs[:, : self.dim] = (2 * generator.random((rows, self.dim), np.float32) - 1) / self.dim
        self._outputs = loops.blank_rows(len(self.words), self.dim)

    def _number(self) -> None:
        """What follows from the words: their numbers, and the rows that make each up."""
        self._numbers = {word: i for i, word in enumerate(self.words)}
        if self.subwords is None:
            return
        starts, members = [0], []
        for i, word in enumerate(self.words):
            members.append(i)
            for bucket in self._buckets_of(word):
                members.append(len(self.words) + self._row_of.setdefault(bucket, len(self._row_of)))
            starts.append(len(members))
        self._groups = np.array(starts, np.int64), np.array(members, np.int32)

    def _buckets_of(self, word: str) -> list[int]:
        assert self.subwords is not None
        shortest, longest = self.subwords
        return [fnv1a(gram) % self.buckets for gram in ngrams(word, shortest, longest)]

    def _trained(self, words: np.ndarray, starts: np.ndarray) -> Iterator[Progress]:
        total = len(words)
        keep, alias = self._chances()
        settings: dict[str, Any] = dict(window=self.window, negative=self.negative, rate=self.learning_rate)
        settings |= dict(total=total * self.epochs, threads=self.threads)
        arrays = (keep, alias, self._groups, self._inputs, self._outputs)
        # Compiled before the clock starts.
        loops.skip_gram(words, starts, 0, 0, *arrays, before=0, seed=0, **settings)
        sentences, rate, reported = len(starts) - 1, 50_000.0, (1 + self.negative) * math.log(2)
        for epoch in range(self.epochs):
            seed = _seed(self.seed, self._begun)
            self._begun += 1
            first = 0
            while first < sentences:
                goal = starts[first] + max(rate * MOMENT, 1)
                last = min(max(int(np.searchsorted(starts, goal)), first + 1), sentences)
                began = time.perf_counter()
                loss, pairs = loops.skip_gram(
                    words, starts, first, last, *arrays, before=epoch * total, seed=seed, **settings
                )
                seconds = time.perf_counter() - began
                rate = max(float(starts[last] - starts[first]), 1.0) / max(seconds, 1e-6)
                first = last
                seen = epoch * total + int(starts[last])
                done = (epoch + first / sentences) / self.epochs
                reported = loss / pairs if pairs else reported  # of a few sentences there may be none
                yield Progress(done, epoch, seen, rate, reported)

    def _chances(self) -> tuple[np.ndarray, np.ndarray]:
        """How likely a word stays, in parts of 2^32, and the alias table that negatives are drawn by."""
        if not len(self.counts) == len(self.words) == len(self._outputs):
            raise InvalidArgument(
                f"train: expected a count for each of {len(self._outputs)} words, got {len(self.counts)} "
                f"counts and {len(self.words)} words"
            )
        keep = np.ones(len(self.counts))
        if self.sample:
            ratio = self.sample * self.counts.sum() / self.counts
            keep = np.minimum(np.sqrt(ratio) + ratio, 1)
        parts = np.round(keep * 2.0**32).astype(np.uint64)
        return parts, loops.alias_table(self.counts.astype(np.float64) ** NEGATIVE_POWER)

    # --- what was learned -----------------------------------------------------------------------------------

    @property
    def vectors(self) -> np.ndarray:
        """A copy, float32 [words, dim]. With subwords the mean of a word's own row and of its
        subwords'."""
        if self.subwords is None:
            return self._inputs[:, : self.dim].copy()
        starts, members = self._groups
        sums = bag_sums(self._inputs, members.astype(np.int64), starts, np.empty(0, np.float32))
        means: np.ndarray = sums[:, : self.dim] / np.diff(starts)[:, None].astype(np.float32)
        return means

    def vector(self, word: str) -> np.ndarray:
        """float32 [dim]. A word that the vocabulary lacks has the mean of those of its subwords that were
        trained.

        Raises KeyError where there is none.
        """
        if not isinstance(word, str):
            raise InvalidType(f"word: expected a string, got {type(word).__name__}")
        if word in self._numbers:
            number = self._numbers[word]
            starts, members = self._groups
            rows = members[starts[number] : starts[number + 1]] if self.subwords else np.array([number])
        else:
            buckets = self._buckets_of(word) if self.subwords else []
            rows = np.array(
                [len(self.words) + self._row_of[b] for b in buckets if b in self._row_of], np.int64
            )
            if not len(rows):
                why = "none of its subwords was seen" if self.subwords else "it is not in the vocabulary"
                raise KeyError(f"word: {word!r} has no vector: {why}")
        mean: np.ndarray = self._inputs[rows, : self.dim].mean(0)
        return mean

    def similar(self, word: str | np.ndarray, most: int = 10) -> list[tuple[str, float]]:
        """The words whose vectors have the largest cosine with that of `word`, or with a vector [dim]; best
        first.

        The word itself is left out. Raises KeyError for a word without a vector.
        """
        if isinstance(word, str):
            return self._nearest(self.vector(word), [word], most)
        vector = np.asarray(word, np.float32)
        if vector.shape != (self.dim,):
            raise InvalidArgument(
                f"word: expected a string or a vector [{self.dim}], got shape {list(vector.shape)}"
            )
        return self._nearest(vector, [], most)

    def analogy(self, a: str, b: str, c: str, most: int = 10) -> list[tuple[str, float]]:
        """What is to `c` as `b` is to `a`: the words nearest to b - a + c, of vectors of length 1 (Mikolov,
        Yih and Zweig 2013); the three are left out."""
        first, second, third = (self.vector(word) for word in (a, b, c))
        return self._nearest(_unit(second) - _unit(first) + _unit(third), [a, b, c], most)

    def _nearest(self, vector: np.ndarray, without: list[str], most: int) -> list[tuple[str, float]]:
        if most < 1:
            raise InvalidArgument(f"most: expected 1 or more, got {most}")
        scores = _unit(self.vectors) @ _unit(vector)
        for word in without:
            if word in self._numbers:
                scores[self._numbers[word]] = -np.inf
        most = min(most, len(scores))
        best = np.argpartition(-scores, most - 1)[:most]
        best = best[np.argsort(-scores[best], kind="stable")]
        return [(self.words[i], float(scores[i])) for i in best if scores[i] > -np.inf]

    # --- files ----------------------------------------------------------------------------------------------

    def save(self, path: Source) -> None:
        """Write everything to one safetensors file, atomically. Raises OSError for a
        full disk."""
        settings = {name: getattr(self, name) for name in SETTINGS}
        arrays = {
            "counts": self.counts,
            "inputs": self._inputs[:, : self.dim],
            "outputs": self._outputs[:, : self.dim],
        }
        save_with_checksum(
            {"format": FORMAT, "settings": settings, "words": self.words, "begun": self._begun, **arrays},
            path,
        )

    @classmethod
    def load(cls, path: Source) -> WordVectors:
        """Read a file of `save`; training can continue. Raises FileNotFoundError, and ValueError for a
        truncated, changed or other file."""
        content = load(path, return_numpy=True)
        where = f"load: {os.fspath(path)!r}"
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidArgument(f"{where} holds no word vectors")
        try:
            made = cls(**content["settings"])
            made.words, made.counts, made._begun = content["words"], content["counts"], content["begun"]
            tables = content["inputs"], content["outputs"]
        except (KeyError, TypeError) as error:
            raise InvalidArgument(f"{where} holds no word vectors that fit together: {error}") from error
        made._number()
        rows = len(made.words) + len(made._row_of), len(made.words) if len(tables[1]) else 0
        shapes = [table.shape for table in tables]
        same = len(made._numbers) == len(made.words) == len(made.counts)
        if shapes != [(n, made.dim) for n in rows] or not same:
            raise InvalidArgument(f"{where}: expected tables of {rows} rows of {made.dim}, got {shapes}")
        made._take(*tables)
        return made

    def _take(self, inputs: np.ndarray, outputs: np.ndarray) -> None:
        self._inputs, self._outputs = (
            loops.blank_rows(len(inputs), self.dim),
            loops.blank_rows(len(outputs), self.dim),
        )
        self._inputs[:, : self.dim], self._outputs[:, : self.dim] = inputs, outputs

    def save_word2vec(self, path: Source, binary: bool = False) -> None:
        """Write only the vectors, in the format of word2vec.c, which many programs read; see
        `word2vec.write`.

        Raises ValueError for a word with a blank in it, which the format cannot hold.
        """
        word2vec.write(path, self.words, self.vectors, binary)

    @classmethod
    def load_word2vec(cls, path: Source) -> WordVectors:
        """Vectors from a file of word2vec's, text or binary. They cannot be trained further. Errors: see
        `word2vec.read`."""
        words, rows = word2vec.read(path)
        made = cls(dim=rows.shape[1])
        made.words, made.counts = words, np.zeros(len(words), np.int64)
        made._number()
        made._take(rows, rows[:0])
        return made


def _seed(seed: int, epoch: int) -> int:
    """64 bits for an epoch: no two of them near one another."""
    return int(mixed(np.uint64(mixed(np.uint64(seed & (1 << 64) - 1)) ^ np.uint64(epoch))))


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Of length 1; zeros stay."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: np.ndarray = vectors / np.maximum(length, np.finfo(np.float32).tiny)
    return unit
