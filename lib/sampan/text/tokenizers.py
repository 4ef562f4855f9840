"""Texts cut into words, characters or subwords, and their numbers.

`CharTokenizer.train(texts).encode("很好")` gives the numbers.

What a vocabulary lacks falls back to characters, and with BPETokenizer to bytes, so that only
unknown characters are lost. The joined pieces are the text: spaces and line ends are pieces too.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from ..engine.tensor import InvalidArgument, InvalidType
from ..serialization import replacing
from .vocabulary import PADDING, UNKNOWN, Vocabulary, checked_text, checked_texts, most_frequent

__all__ = ["BPETokenizer", "CharTokenizer", "JiebaTokenizer"]


def _needed(name: str) -> Any:
    """The package of this name, without the warnings that its import brings up in packages of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError as error:
        raise ImportError(f"Chinese texts need the package {name}: pip install sampan[chinese]") from error


class Tokenizer:
    """What the tokenizers share: `cut` a text into pieces, `encode` it as numbers of a vocabulary, `decode`
    them again."""

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            raise InvalidType(f"vocabulary: expected a Vocabulary or None, got {type(vocabulary).__name__}")
        self._vocabulary = vocabulary

    @property
    def vocabulary(self) -> Vocabulary:
        """Raises ValueError for a tokenizer that was made without one."""
        if self._vocabulary is None:
            kind = type(self).__name__
            raise InvalidArgument(
                f"vocabulary: this {kind} has none; give it one, or make it by {kind}.train(texts)"
            )
        return self._vocabulary

    def cut(self, text: str) -> list[str]:
        """The pieces of a text; joined, they are the text. Raises TypeError, and ValueError for a lone
        surrogate."""
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        """The number of each piece; where the vocabulary lacks one, of each of its characters, unknown ones
        as 1."""
        vocabulary, found = self.vocabulary, []
        for piece in self.cut(text):
            number = vocabulary[piece]
            if number > UNKNOWN:
                found.append(number)
            else:  # a character that happens to be the name of the padding is unknown, too
                found += [max(vocabulary[character], UNKNOWN) for character in piece]
        return found

    def decode(self, ids: Any) -> str:
        """The text of these numbers, an unknown character as `vocabulary.unknown`; padding is left out.

        decode(encode(text)) is the text where its characters are known. ids: a list, an array or a Tensor of
        one axis. Raises ValueError for a number that the vocabulary does not have, TypeError for a
        non-integer.
        """
        numbers = [i for i in self.vocabulary.checked(ids) if i != PADDING]
        return "".join(self.vocabulary.tokens(numbers))


class CharTokenizer(Tokenizer):
    """A piece is a character: a Unicode code point."""

    @classmethod
    def train(cls, texts: Iterable[str], least: int = 1, most: int | None = None) -> CharTokenizer:
        """With the characters that come `least` times or more in the texts, at most the `most` most
        frequent."""
        return cls(Vocabulary.build(map(list, checked_texts(texts, "texts")), least, most))

    def cut(self, text: str) -> list[str]:
        return list(checked_text(text, "text"))


# --- words --------------------------------------------------------------------------------------------------

_starting = threading.Lock()


class JiebaTokenizer(Tokenizer):
    """A piece is a word by jieba: the likeliest path through the words of its dictionary (349,046 words with
    counts).

    https://github.com/fxsjy/jieba. words: more words, which are kept whole. hmm: characters between known
    words are joined by a hidden Markov model of word beginnings, middles and ends. The dictionary is read
    when a text is first cut, in about a second, once per process, from the package: jieba's cache in the
    shared temporary folder, which any user could have written, is neither read nor written. The time grows
    with the square of the longest run of characters that make no known word: a second at some 15,000. Raises
    ValueError for a word that jieba cannot keep whole: one with a space, a full-width letter, or another mark
    that it never joins.
    """

    def __init__(
        self, vocabulary: Vocabulary | None = None, words: Iterable[str] = (), hmm: bool = True
    ) -> None:
        super().__init__(vocabulary)
        self.words, self.hmm = tuple(dict.fromkeys(checked_texts(words, "words"))), hmm
        for word in self.words:
            pieces = self.cut(word)
            if pieces != [word]:
                raise InvalidArgument(
                    f"words: expected words that jieba can keep whole, got {word!r}, cut as {pieces}"
                )

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        least: int = 1,
        most: int | None = None,
        words: Iterable[str] = (),
        hmm: bool = True,
    ) -> JiebaTokenizer:
        """With the words that come `least` times or more (at most `most`), and behind them every character of
        the texts."""
        cutter = cls(None, words, hmm)
        found: Counter[str] = Counter()
        characters: Counter[str] = Counter()
        for text in checked_texts(texts, "texts"):
            found.update(cutter.cut(text))
            characters.update(text)
        kept = most_frequent(found, least, most)
        rest = characters.keys() - set(kept)
        kept += most_frequent({c: characters[c] for c in rest}, 1, None)
        cutter._vocabulary = Vocabulary(kept)
        return cutter

    def cut(self, text: str) -> list[str]:
        with _starting:
            jieba = _cutter(self.words)
        return list(jieba.cut(checked_text(text, "text"), HMM=self.hmm))


@lru_cache(maxsize=4)  # a dictionary takes some 60 MB
def _cutter(words: tuple[str, ...]) -> Any:
    """A jieba.Tokenizer of our own, filled here, so that it neither reads its cache nor logs."""
    jieba = _needed("jieba")
    made = jieba.Tokenizer()
    if words:
        plain = _cutter(())
        made.FREQ, made.total = dict(plain.FREQ), plain.total
    else:
        made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    for word in words:
        made.add_word(word)
    return made


# --- subwords -----------------------------------------------------------------------------------------------

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]  # as SentencePiece and the `tokenizers` package write them
FIRST_BYTE, FIRST_PIECE = UNKNOWN + 1, UNKNOWN + 1 + len(BYTES)


class BPETokenizer(Tokenizer):
    """A piece is what the most frequent pairs grew into: byte-pair encoding (Sennrich, Haddow and Birch
    2016).

    Punctuation, symbols and spaces are separate pieces, so that no piece spans them. A character that is not
    in the vocabulary becomes the bytes of its UTF-8 (byte fallback: Kudo and Richardson 2018, SentencePiece):
    nothing is unknown, and decode(encode(text)) is the text for every text. The work is done by the package
    `tokenizers`; `save` writes its format, which other programs read. Made by `train` or `load`.
    """

    def __init__(self, vocabulary: Vocabulary, merges: Sequence[tuple[str, str]]) -> None:
        super().__init__(vocabulary)
        if list(self.vocabulary)[FIRST_BYTE:FIRST_PIECE] != BYTES:
            raise InvalidArgument(
                "vocabulary: expected the 256 bytes, <0x00> to <0xFF>, behind the first two tokens"
            )
        parts = _needed("tokenizers")
        numbers = {token: i for i, token in enumerate(self.vocabulary)}
        pairs = [(first, second) for first, second in merges]
        try:
            model = parts.models.BPE(numbers, pairs, unk_token=self.vocabulary.unknown, byte_fallback=True)
        except Exception as error:  # the package raises bare Exception
            raise InvalidArgument(f"merges: expected pairs of tokens of the vocabulary: {error}") from error
        self._pieces = parts.Tokenizer(model)
        self._pieces.pre_tokenizer = _split_punctuation(parts)
        self._pieces.decoder = parts.decoders.Sequence([parts.decoders.ByteFallback(), parts.decoders.Fuse()])

    @classmethod
    def train(cls, texts: Iterable[str], size: int, least: int = 2) -> BPETokenizer:
        """Learn a vocabulary of `size` tokens at most, of which 258 are padding, unknown and the bytes.

        First come the characters of the texts, the most frequent ones where there are too many, then pairs
        that come `least` times or more. The same texts give the same tokenizer. Raises ValueError for a size
        of 258 or less.
        """
        if not isinstance(size, int) or size <= FIRST_PIECE:
            raise InvalidArgument(f"size: expected an int above {FIRST_PIECE}, got {size!r}")
        held = list(checked_texts(texts, "texts"))
        parts, marks = _needed("tokenizers"), Vocabulary(BYTES)
        alphabet = most_frequent(Counter(chain.from_iterable(held)), 1, size - FIRST_PIECE)
        learner = parts.Tokenizer(parts.models.BPE())
        learner.pre_tokenizer = _split_punctuation(parts)
        trainer = parts.trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=least,
            special_tokens=list(marks),
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            show_progress=False,
        )
        with _one_thread():
            learner.train_from_iterator(held, trainer)
        return cls(*_learned(json.loads(learner.to_str())["model"]))

    def cut(self, text: str) -> list[str]:
        """The pieces of a text; a character encoded as bytes is one piece."""
        numbers = self.encode(text)
        runs = groupby(numbers, lambda i: i < FIRST_PIECE)  # characters as bytes, or pieces
        return [
            piece
            for raw, run in runs
            for piece in (self.decode(list(run)) if raw else self.vocabulary.tokens(run))
        ]

    def encode(self, text: str) -> list[int]:
        """The number of each piece, or of each byte of a character that the vocabulary lacks."""
        return list(self._pieces.encode(checked_text(text, "text"), add_special_tokens=False).ids)

    def decode(self, ids: Any) -> str:
        """The text of these numbers; padding is left out, and invalid UTF-8 is decoded as U+FFFD."""
        numbers, text = [i for i in self.vocabulary.checked(ids) if i != PADDING], []
        for raw, run in groupby(numbers, lambda i: FIRST_BYTE <= i < FIRST_PIECE):
            if raw:
                text.append(bytes(i - FIRST_BYTE for i in run).decode(errors="replace"))
            else:
                text += self.vocabulary.tokens(run)
        return "".join(text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `tokenizer.json` as the package `tokenizers` has it. An existing file is replaced
        atomically."""
        with replacing(path) as file:
            file.write(self._pieces.to_str(pretty=True).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BPETokenizer:
        """Read a file of `save`. Raises FileNotFoundError; ValueError for another kind of file or a
        truncated one."""
        data = Path(path).read_bytes()
        try:
            return cls(*_learned(json.loads(data)["model"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidArgument(
                f"{path}: not written by BPETokenizer.save, or truncated: {error}"
            ) from error

    def __getstate__(self) -> tuple[Vocabulary, Any]:
        return _learned(json.loads(self._pieces.to_str())["model"])

    def __setstate__(self, state: tuple[Vocabulary, Any]) -> None:
        BPETokenizer.__init__(self, *state)


def _split_punctuation(parts: Any) -> Any:
    """Spaces, punctuation and symbols are separate pieces."""
    return parts.pre_tokenizers.Split(parts.Regex(r"\s|\p{P}|\p{S}"), "isolated")


def _learned(model: Any) -> tuple[Vocabulary, list[Any]]:
    """Vocabulary and merges of a model as the package `tokenizers` writes it."""
    if model["type"] != "BPE" or sorted(model["vocab"].values()) != list(range(len(model["vocab"]))):
        raise InvalidArgument("expected a model of byte-pair encoding whose numbers go from 0 on")
    padding, unknown, *tokens = sorted(model["vocab"], key=model["vocab"].get)
    return Vocabulary(tokens, unknown, padding), model["merges"]


@contextmanager
def _one_thread() -> Iterator[None]:
    """The package `tokenizers` on one thread: with more, each later fork of the process prints a warning."""
    name = "TOKENIZERS_PARALLELISM"
    before = os.environ.get(name)
    os.environ[name] = "false"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
