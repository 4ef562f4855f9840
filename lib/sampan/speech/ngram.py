"""N-gram language models: ARPA files, and the probability of words with backoff (Katz, 1987)."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..engine.errors import InvalidArgument
from ..kernels import speech as kernels
from .kenlm_file import KenLM, is_binary

LN10 = math.log(10.0)
UNKNOWN = -100.0  # log10 of the probability of unknown words in a model without <unk>, as in KenLM


class NGram:
    """An n-gram model: log P(word | the n - 1 words before it). `NGram.read` makes one from an ARPA file.

    words: the vocabulary, by word id. order: n. Logarithms are natural. A word outside the vocabulary has the
    probability of `<unk>`, or 1e-100 in a model without it.
    """

    def __init__(self, words: list[str], order: int, trie: kernels.Trie) -> None:
        self.words, self.order, self.trie = words, order, trie
        self.ids = {word: number for number, word in enumerate(words)}
        self.unknown = self.ids["<unk>"] if "<unk>" in self.ids else self.ids["<UNK>"]

    @staticmethod
    def read(path: str | Path) -> NGram:
        """The model of an ARPA file, plain or gzip-compressed, in UTF-8.

        Raises ValueError with the line for a file that is not ARPA, is truncated, not UTF-8, has counts that
        differ from the header, an n-gram twice or without its beginning, or numbers that are not log
        probabilities.
        """
        opened: Any = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "rb") as file:
            return _Reader(file, str(path)).model()

    @staticmethod
    def load(path: str | Path) -> NGram | KenLM:
        """The model of a file: ARPA by `read`, KenLM's binary form by its library as a `KenLM`, which scores
        texts but cannot guide a beam search. Errors as in both."""
        return KenLM(path) if is_binary(path) else NGram.read(path)

    @property
    def start(self) -> int:
        """The context at the beginning of a sentence: that of `<s>`, or the empty one."""
        word = self.ids.get("<s>")
        return 0 if word is None or self.order == 1 else self.state([word], 0)

    @property
    def end(self) -> int:
        """The word id of `</s>`, or -1."""
        return self.ids.get("</s>", -1)

    def word_ids(self, words: Iterable[str]) -> np.ndarray:
        """int32 ids; that of `<unk>` for words outside the vocabulary."""
        return np.array([self.ids.get(word, self.unknown) for word in words], np.int32)

    def state(self, ids: Sequence[int], node: int | None = None) -> int:
        """The context after these word ids, from the beginning of a sentence or from another context."""
        node = self.start if node is None else node
        for word in ids:
            _, node = kernels.advance(self.trie, self.order, node, np.int32(word))
        return int(node)

    def score(self, words: Sequence[str], start: bool = True, end: bool = True) -> np.ndarray:
        """The natural log probability of each word, float64 [words], and with `end` one more for `</s>`.

        start: after `<s>`, as the first words of a sentence.
        """
        if isinstance(words, str):
            raise InvalidArgument(f"words: expected a list of words, got the text {words!r}")
        ids = self.word_ids([*words, "</s>"] if end else words)
        bounds = np.array([0, ids.size])
        return kernels.score_sentences(self.trie, self.order, bounds, ids, self.start if start else 0)

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        """e^-mean of the log probabilities of all words and sentence ends."""
        given = [self.word_ids([*words, "</s>"]) for words in sentences]
        if not given:
            raise InvalidArgument("sentences: expected at least one, got none")
        bounds = np.append(0, np.cumsum([ids.size for ids in given]))
        scores = kernels.score_sentences(self.trie, self.order, bounds, np.concatenate(given), self.start)
        return math.exp(-float(scores.mean()))


class _Reader:
    """One pass over the lines of an ARPA file."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name, self.number = name, 0
        self.lines = self._decoded(file)

    def wrong(self, text: str) -> InvalidArgument:
        return InvalidArgument(f"{self.name}, line {self.number}: {text}")

    def _decoded(self, file: IO[bytes]) -> Iterator[str]:
        try:
            for raw in file:
                self.number += 1
                try:
                    yield raw.decode("utf-8").strip()
                except UnicodeDecodeError:
                    raise self.wrong("expected UTF-8 text") from None
        except (EOFError, gzip.BadGzipFile):
            raise self.wrong("the compressed file is truncated or damaged") from None

    def next_line(self, expected: str) -> str:
        """The next line with text."""
        for line in self.lines:
            if line:
                return line
        raise self.wrong(f"expected {expected}, got the end of the file")

    def counts(self) -> list[int]:
        """Sizes of the header, by order; leaves the first section's title in `title`."""
        while self.next_line("\\data\\ of an ARPA file") != "\\data\\":
            pass
        found: list[int] = []
        while (line := self.next_line("ngram counts")).startswith("ngram "):
            size, _, count = line.removeprefix("ngram ").partition("=")
            if size.strip() != str(len(found) + 1) or not count.strip().isdigit():
                raise self.wrong(f"expected 'ngram {len(found) + 1}=count', got {line!r}")
            found.append(int(count))
        if not found or not found[0]:
            raise self.wrong("expected at least one unigram, got none")
        self.title = line
        return found

    def entry(self, line: str, size: int, last: bool) -> tuple[float, list[str], float]:
        fields = line.split()
        if len(fields) not in ((size + 1,) if last else (size + 1, size + 2)):
            raise self.wrong(f"expected a log probability, {size} words and a backoff, got {line!r}")
        try:
            score = float(fields[0])
            backoff = float(fields[size + 1]) if len(fields) > size + 1 else 0.0
        except ValueError:
            raise self.wrong(f"expected numbers around the words, got {line!r}") from None
        if not score <= 1e-4 or math.isnan(backoff) or backoff == math.inf:
            raise self.wrong(f"expected log10 of a probability, at most 0, and a backoff, got {line!r}")
        return score, fields[1 : size + 1], backoff

    def section(self, size: int, count: int, last: bool) -> Iterator[tuple[float, list[str], float]]:
        if self.title != f"\\{size}-grams:":
            raise self.wrong(f"expected \\{size}-grams:, got {self.title!r}")
        read = 0
        while not (line := self.next_line("more n-grams or \\end\\")).startswith("\\"):
            yield self.entry(line, size, last)
            read += 1
        if read != count:
            raise self.wrong(f"expected {count} {size}-grams as the header says, got {read}")
        self.title = line

    def model(self) -> NGram:
        counts = self.counts()
        words: list[str] = []
        ids: dict[str, int] = {}
        levels = []
        for size, count in enumerate(counts, 1):
            context, final, scores, backoffs, lines = [], [], [], [], []
            for score, names, backoff in self.section(size, count, size == len(counts)):
                if size == 1:
                    if names[0] in ids:
                        raise self.wrong(f"the word {names[0]!r} stands twice")
                    ids[names[0]] = len(words)
                    words.append(names[0])
                try:
                    numbers = [ids[name] for name in names]
                except KeyError as error:
                    raise self.wrong(f"the word {error.args[0]!r} is no unigram") from None
                context.append(numbers[:-1])
                final.append(numbers[-1])
                scores.append(score)
                backoffs.append(backoff)
                lines.append(self.number)
            if size == 1 and "<unk>" not in ids and "<UNK>" not in ids:
                ids["<unk>"] = len(words)
                words.append("<unk>")
                context.append([])
                final.append(len(words) - 1)
                scores.append(UNKNOWN)
                backoffs.append(0.0)
            levels.append((context, final, scores, backoffs, lines))
        if self.title != "\\end\\":
            raise self.wrong(f"expected \\end\\, got {self.title!r}")
        return NGram(words, len(counts), self._trie(levels))

    def _trie(self, levels: Sequence[Any]) -> kernels.Trie:
        """Levels of n-grams as nodes, those of an order behind those of the order before it."""
        starts, found_words, shorter = [], [np.zeros(1, np.int32)], [np.zeros(1, np.int32)]
        score, backoff, depth = [np.zeros(1)], [np.zeros(1)], [np.zeros(1, np.int32)]
        nodes: dict[tuple[int, ...], int] = {(): 0}
        first, previous = 1, 1
        for size, (context, final, scores, backoffs, lines) in enumerate(levels, 1):
            parents = np.empty(len(final), np.int64)
            for i, words in enumerate(context):
                parents[i] = nodes.get(tuple(words), -1)
                if parents[i] < 0:
                    self.number = lines[i]
                    raise self.wrong(
                        f"an n-gram of order {size} without the n-gram of its first {size - 1} words"
                    )
            words = np.array(final, np.int64)
            order, bounds = kernels.grouped(parents - (first - previous), words, first, previous)
            starts.append(bounds[:-1])
            links = np.empty(len(final), np.int32)
            for place, i in enumerate(order):
                key = (*context[i], final[i])
                if key in nodes:
                    self.number = lines[i]
                    raise self.wrong("an n-gram stands twice")
                nodes[key] = first + place
                link = key[1:]
                while link not in nodes:
                    link = link[1:]
                links[place] = nodes[link]
            shorter.append(links)
            found_words.append(words[order].astype(np.int32))
            score.append(np.array(scores)[order] * LN10)
            backoff.append(np.array(backoffs)[order] * LN10)
            depth.append(np.full(len(final), size, np.int32))
            first, previous = first + len(final), len(final)
        starts.append(np.full(previous + 1, first))
        return kernels.Trie(
            np.concatenate(starts).astype(np.int32), np.concatenate(found_words), np.concatenate(shorter),
            np.concatenate(depth), np.concatenate(score), np.concatenate(backoff),
        )  # fmt: skip
