"""Tokens (words, characters, subwords) and their numbers."""

from __future__ import annotations

import hashlib
import json
import operator
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..engine.tensor import InvalidArgument, InvalidType
from ..serialization import replacing

__all__ = ["Vocabulary"]

PADDING, UNKNOWN = 0, 1  # the two numbers that every vocabulary begins with
FORMAT = "sampan vocabulary 1"


def checked_text(text: Any, name: str) -> str:
    """`text`, if it is a str of characters; TypeError for anything but a str, ValueError for a lone
    surrogate, half of a character left by faulty decoding."""
    if not isinstance(text, str):
        raise InvalidType(f"{name}: expected a str, got {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half, at = text[error.start], error.start
        raise InvalidArgument(
            f"{name}: expected characters, got the lone surrogate {half!r} at place {at}"
        ) from None
    return text


def checked_texts(texts: Any, name: str) -> Iterator[str]:
    """Every text of an iterable of them, which a single str is not."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidType(f"{name}: expected several str, got {type(texts).__name__}")
    return (checked_text(text, f"{name}[{i}]") for i, text in enumerate(texts))


class Vocabulary:
    """`padding` has the number 0, `unknown` 1, and `tokens` the numbers from 2 on, in their order.

    v[token] is its number, or 1 if `token in v` is False. `v.tokens([2, 3])`
    are the tokens of numbers, len(v) how many numbers there are, list(v) all tokens. Raises TypeError for
    anything but a str, ValueError for a token that comes twice, is empty, or holds a lone surrogate.
    """

    def __init__(self, tokens: Iterable[str], unknown: str = "[UNK]", padding: str = "[PAD]") -> None:
        named = [("padding", padding), ("unknown", unknown)]
        marks = [checked_text(mark, name) for name, mark in named]
        self._tokens = [*marks, *checked_texts(tokens, "tokens")]
        self._numbers = {token: i for i, token in enumerate(self._tokens)}
        if "" in self._numbers:
            raise InvalidArgument("tokens: expected tokens of a character or more, got an empty one")
        if len(self._numbers) < len(self._tokens):
            twice = Counter(self._tokens).most_common(1)[0][0]
            raise InvalidArgument(f"tokens: {twice!r} comes twice (padding and unknown are tokens too)")

    @classmethod
    def build(
        cls,
        texts_of_tokens: Iterable[Iterable[str]],
        least: int = 1,
        most: int | None = None,
        unknown: str = "[UNK]",
        padding: str = "[PAD]",
    ) -> Vocabulary:
        """The tokens that come `least` times or more, the most frequent first (of equals, by their
        characters).

        texts_of_tokens: texts that were cut, as by `JiebaTokenizer().cut`. most: so many tokens at most,
        besides padding and unknown, which are never counted.
        """
        counts: Counter[str] = Counter()
        for i, tokens in enumerate(texts_of_tokens):
            if isinstance(tokens, str):
                raise InvalidType(f"texts_of_tokens[{i}]: expected a list of tokens, got a str; cut it first")
            counts.update(checked_texts(tokens, f"texts_of_tokens[{i}]"))
        for mark in (unknown, padding):
            counts.pop(mark, None)
        return cls(most_frequent(counts, least, most), unknown, padding)

    @property
    def padding(self) -> str:
        """The token that fills a short text; number 0."""
        return self._tokens[PADDING]

    @property
    def unknown(self) -> str:
        """The token that replaces unknown ones; number 1."""
        return self._tokens[UNKNOWN]

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._numbers

    def __getitem__(self, token: str) -> int:
        if not isinstance(token, str):
            of = "v.tokens(ids) gives the tokens of numbers"
            raise InvalidType(f"token: expected a str, got {type(token).__name__}; {of}")
        return self._numbers.get(token, UNKNOWN)

    def tokens(self, ids: Any) -> list[str]:
        """The tokens of these numbers: a list, an array or a Tensor of one axis.

        Raises ValueError for a number outside, TypeError for a non-integer.
        """
        return [self._tokens[i] for i in self.checked(ids)]

    def checked(self, ids: Any) -> list[int]:
        """`ids` as a list of int, each a number of this vocabulary."""
        values = ids.tolist() if hasattr(ids, "tolist") else ids
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise InvalidType(f"ids: expected a list of int, got {type(ids).__name__}")
        found = []
        for place, value in enumerate(values):
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise InvalidType(f"ids[{place}]: expected an int, got {type(value).__name__}")
            number = operator.index(value)
            if not 0 <= number < len(self._tokens):
                raise InvalidArgument(f"ids[{place}]: expected 0 to {len(self._tokens) - 1}, got {number}")
            found.append(number)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write lines of JSON in UTF-8: a header, then one token per line. An existing file is replaced
        atomically."""
        body = "".join(json.dumps(token, ensure_ascii=False) + "\n" for token in self._tokens).encode()
        head = {"format": FORMAT, "tokens": len(self._tokens), "sha256": hashlib.sha256(body).hexdigest()}
        with replacing(path) as file:
            file.write(json.dumps(head).encode() + b"\n" + body)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read a file of `save`. Raises FileNotFoundError; ValueError for another kind of file, a changed
        or a truncated one."""
        first, _, body = Path(path).read_bytes().partition(b"\n")
        try:
            head = json.loads(first)
        except ValueError:  # also invalid UTF-8
            head = None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise InvalidArgument(f"{path}: not a vocabulary, whose first line says {FORMAT!r}")
        if hashlib.sha256(body).hexdigest() != head.get("sha256"):
            count, said = body.count(b"\n"), head.get("tokens")
            raise InvalidArgument(f"{path}: cut off or changed: {count} tokens, its first line says {said}")
        padding, unknown, *tokens = (json.loads(line) for line in body.decode().split("\n")[:-1])
        return cls(tokens, unknown, padding)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens, unknown={self.unknown!r}, padding={self.padding!r})"


def most_frequent(counts: Mapping[str, int], least: int, most: int | None) -> list[str]:
    """Tokens that come `least` times or more, at most `most`, in an order independent of the texts'
    order."""
    if least < 1 or (most is not None and most < 0):
        raise InvalidArgument(
            f"least, most: expected 1 or more, and None or 0 or more, got {least} and {most}"
        )
    ordered = sorted((-count, token) for token, count in counts.items() if count >= least)
    return [token for _, token in ordered[:most]]
