"""From pinyin to Chinese characters: a lexicon of words, and the most probable words for syllables.

The words of a text are taken as independent, each with its relative frequency (a unigram model); the best
division of a sequence of syllables is found by dynamic programming (Viterbi, 1967). A tone may differ from
the lexicon's at a price, since the tones of words change in speech (你好 is said ni2 hao3).
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .beam import prefix_beam
from .pinyin import INITIALS, join_units, split_syllable
from .tokens import CTCTokens, read_json

__all__ = ["Lexicon", "LexiconTokens", "Reading", "load_tokens"]

TONE_COST, UNKNOWN_COST = 3.0, 25.0  # in nats: a tone that differs; a syllable that is in no word


class Reading(NamedTuple):
    """words: (text, number of syllables) of each, in order. score: log probability less the costs, nats."""

    words: list[tuple[str, int]]
    score: float

    @property
    def text(self) -> str:
        """The words one behind the other."""
        return "".join(word for word, _ in self.words)


class Lexicon:
    """Words with their pinyin and how often they occur.

    words: (word, syllables with tones, count). note: on their source and licence. Raises InvalidArgument for
    no words and for a count below 1.
    """

    def __init__(self, words: Iterable[tuple[str, Sequence[str], int]], note: str = "") -> None:
        self.note = note
        self.words = [(word, tuple(syllables), int(count)) for word, syllables, count in words]
        if not self.words or min(count for _, _, count in self.words) < 1:
            raise InvalidArgument("words: expected at least one, and counts of 1 or more")
        total = math.log(sum(count for _, _, count in self.words))
        self._table: dict[tuple[str, ...], list[tuple[str, float, str]]] = {}
        for word, syllables, count in self.words:
            plain, tones = tuple(s[:-1] for s in syllables), "".join(s[-1] for s in syllables)
            self._table.setdefault(plain, []).append((tones, math.log(count) - total, word))
        self.longest = max(map(len, self._table))

    def __len__(self) -> int:
        return len(self.words)

    def _word(self, plain: Sequence[str], tones: str) -> tuple[float, str] | None:
        """The best word for syllables, with its score; a syllable alone always has one."""
        found = [
            (score - TONE_COST * sum(a != b for a, b in zip(tones, own, strict=True)), word)
            for own, score, word in self._table.get(tuple(plain), ())
        ]
        if not found and len(plain) == 1:
            return -UNKNOWN_COST, plain[0] + tones
        return max(found, default=None)

    def _paths(self, syllables: Sequence[str]) -> list[tuple[float, int, str]]:
        """For each number of syllables: the score of the best words, the syllables of the last, and it."""
        plain, tones = [s[:-1] for s in syllables], "".join(s[-1] for s in syllables)
        best: list[tuple[float, int, str]] = [(0.0, 0, "")]
        for end in range(1, len(plain) + 1):
            options = []
            for start in range(max(end - self.longest, 0), end):
                word = self._word(plain[start:end], tones[start:end])
                if word is not None:
                    options.append((best[start][0] + word[0], end - start, word[1]))
            best.append(max(options))
        return best

    @staticmethod
    def _traced(best: Sequence[tuple[float, int, str]], end: int) -> list[tuple[str, int]]:
        words: list[tuple[str, int]] = []
        while end:
            _, size, word = best[end]
            words.append((word, size))
            end -= size
        return words[::-1]

    def read_syllables(self, syllables: Sequence[str]) -> Reading:
        """The most probable words of syllables with tones; a syllable of no word stays in pinyin."""
        best = self._paths(syllables)
        return Reading(self._traced(best, len(syllables)), best[-1][0])

    def settled(self, syllables: Sequence[str]) -> list[tuple[str, int]]:
        """The first words that no further syllable changes, with their numbers of syllables."""
        best, count = self._paths(syllables), len(syllables)
        paths = [self._traced(best, end) for end in range(max(count - self.longest + 1, 0), count + 1)]
        shared = 0
        while all(len(path) > shared and path[shared] == paths[0][shared] for path in paths):
            shared += 1
        return paths[0][:shared]

    @cached_property
    def _pronounced(self) -> dict[str, tuple[str, ...]]:
        return {word: syllables for word, syllables, _ in reversed(self.words)}

    def pronounce(self, text: str) -> list[str]:
        """The syllables of a text, by its longest words. InvalidArgument for what is in none."""
        made: list[str] = []
        start = 0
        while start < len(text):
            ends = range(min(len(text), start + self.longest), start, -1)
            end = next((e for e in ends if text[start:e] in self._pronounced), None)
            if end is None:
                raise InvalidArgument(f"text: {text[start]!r} is in no word of the lexicon")
            made += self._pronounced[text[start:end]]
            start = end
        return made

    def save(self, path: str | Path) -> None:
        """Write the note as comments, and a line for each word, such as `学习 xue2 xi2 1234`."""
        lines = [f"# {line}" for line in self.note.splitlines()]
        lines += [f"{word} {' '.join(syllables)} {count}" for word, syllables, count in self.words]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Lexicon":
        """From a file of `save`. Raises InvalidArgument that names a missing file, or a wrong line."""
        path = Path(path)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            raise InvalidArgument(f"{path.parent}: expected a file {path.name}, found none") from None
        except UnicodeDecodeError as error:
            raise InvalidArgument(f"{path}: expected UTF-8: {error}") from None
        words = []
        for number, line in enumerate(lines, 1):
            if line.startswith("#"):
                continue
            word, *syllables, count = line.split(" ") if line.count(" ") >= 2 else ("", "", "x")
            if not count.isdigit() or any(s[-1:] not in tuple("12345") for s in syllables):
                raise InvalidArgument(
                    f"{path}, line {number}: expected a word, its pinyin and a count, got {line!r}"
                )
            words.append((word, syllables, int(count)))
        return cls(words, "\n".join(line[2:] for line in lines if line.startswith("#")))


class LexiconTokens(CTCTokens):
    """Units of pinyin (`pinyin.py`) as a vocabulary whose texts are the words of a lexicon.

    weight: of the lexicon's log probability, beside that of CTC, where `decode` chooses among the hypotheses
    of a prefix beam search of this width.
    """

    FILE = "lexicon.txt"

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        lexicon: Lexicon,
        blank: str = "<pad>",
        weight: float = 0.5,
        beam_size: int = 16,
    ) -> None:
        super().__init__(vocabulary, blank, None, None, " ")
        self.lexicon, self.weight, self.beam_size = lexicon, weight, beam_size

    def syllables(self, ids: Sequence[int]) -> list[str]:
        """The syllables of token numbers. Raises InvalidArgument for a number outside the vocabulary."""
        return join_units(super().text(ids).split())

    def save(self, folder: str | Path) -> None:
        """As in CTCTokens, and the lexicon."""
        super().save(folder)
        settings = {"pad_token": self.blank_token, "lexicon_weight": self.weight, "beam_size": self.beam_size}
        (Path(folder) / "tokenizer_config.json").write_text(json.dumps(settings) + "\n")
        self.lexicon.save(Path(folder) / self.FILE)

    @classmethod
    def load(cls, folder: str | Path) -> "LexiconTokens":
        """From the files of a folder. Raises InvalidArgument for one that is missing or malformed."""
        folder = Path(folder)
        settings = read_json(folder / "tokenizer_config.json")
        return cls(
            read_json(folder / "vocab.json"),
            Lexicon.load(folder / cls.FILE),
            settings.get("pad_token", "<pad>"),
            float(settings.get("lexicon_weight", 0.5)),
            int(settings.get("beam_size", 16)),
        )

    def text(self, ids: Sequence[int]) -> str:
        """The most probable words, in characters."""
        return self.lexicon.read_syllables(self.syllables(ids)).text

    def choose(self, hypotheses: Sequence[tuple[Sequence[int], float]]) -> str:
        """The text of the best hypothesis, by the scores of CTC and of the lexicon."""
        readings = [self.lexicon.read_syllables(self.syllables(ids)) for ids, _ in hypotheses]
        totals = [ctc + self.weight * r.score for (_, ctc), r in zip(hypotheses, readings, strict=True)]
        return readings[int(np.argmax(totals))].text if readings else ""

    def decode(self, given: Any) -> str:
        array = np.asarray(given.numpy() if isinstance(given, Tensor) else given)
        if array.ndim != 2 or array.dtype.kind != "f" or array.shape[1:] != (len(self),):
            return super().decode(array)
        if not np.isfinite(array).all():
            raise InvalidArgument("logits: expected numbers, got NaN or infinity")
        logs = torch.log_softmax(torch.from_numpy(array.astype(np.float32)), -1).numpy()
        found = prefix_beam(logs, vocabulary=len(self), blank=self.blank, beam_size=self.beam_size)
        return self.choose(found[0]) if found else ""

    def transcript(self, ids: Sequence[int], stable: int, kept: Any = None) -> tuple[str, str, Any]:
        """As in CTCTokens; what stays is kept, so that a step costs the same after an hour."""
        final, done = kept or ("", 0)
        waiting = list(ids[done:stable])
        syllables = self.syllables(waiting)
        settled = self.lexicon.settled(syllables)
        count = sum(size for _, size in settled)
        if count:
            final += "".join(word for word, _ in settled)
            ends = [n for n, number in enumerate(waiting, 1) if self.tokens[number] not in INITIALS]
            done += ends[count - 1]
        return self.text(ids[done:]), final, (final, done)

    def pinyin(self, given: Any) -> str:
        """The syllables of logits or of the token numbers of frames, by greedy decoding: "xue2 xi2"."""
        return " ".join(self.syllables(self.greedy_ids(given)))

    def encode(self, text: str) -> list[int]:
        """The token numbers of characters, or of pinyin with tones: "学习" or "xue2 xi2"."""
        spelled = text.isascii()
        syllables = text.split() if spelled else self.lexicon.pronounce("".join(text.split()))
        units = [unit for syllable in syllables for unit in split_syllable(syllable)]
        return super().encode(" ".join(units)) if units else []


def load_tokens(folder: str | Path) -> CTCTokens:
    """The vocabulary of a folder, with a lexicon if its `tokenizer_config.json` has a weight for one."""
    path = Path(folder) / "tokenizer_config.json"
    with_lexicon = path.exists() and "lexicon_weight" in read_json(path)
    return LexiconTokens.load(folder) if with_lexicon else CTCTokens.load(folder)
