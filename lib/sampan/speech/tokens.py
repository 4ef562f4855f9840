"""The tokens that a recogniser writes: from the numbers of frames to text, and from text to labels.

A vocabulary maps tokens to numbers, as in `vocab.json`. One token is the blank of CTC, one may be the space
between words (`|` in published vocabularies).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.tensor import InvalidArgument, Tensor

__all__ = ["CTCTokens"]


class CTCTokens:
    """The vocabulary of a CTC model.

    vocabulary: token: number, the numbers 0 to n - 1. blank: the token of CTC's blank. space: the token for
    the space between words, or None. unknown: the token for what is not in the vocabulary, or None.
    separator: what is put between two tokens of a text, such as " " for syllables.
    Raises InvalidArgument for numbers that do not count from 0, and for tokens that are not there.
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        blank: str = "<pad>",
        space: str | None = "|",
        unknown: str | None = "<unk>",
        separator: str = "",
    ) -> None:
        self.vocabulary = {str(token): int(number) for token, number in vocabulary.items()}
        if sorted(self.vocabulary.values()) != list(range(len(self.vocabulary))):
            raise InvalidArgument(
                f"vocabulary: expected the numbers 0 to {len(self.vocabulary) - 1}, each once, "
                f"got {sorted(self.vocabulary.values())[:5]}..."
            )
        if blank not in self.vocabulary:
            raise InvalidArgument(f"blank: expected a token of the vocabulary, got {blank!r}")
        self.blank_token, self.blank = blank, self.vocabulary[blank]
        self.space = space if space in self.vocabulary else None
        self.unknown = unknown if unknown in self.vocabulary else None
        self.separator = separator
        self.tokens = sorted(self.vocabulary, key=self.vocabulary.__getitem__)

    def __len__(self) -> int:
        return len(self.tokens)

    def collapse(self, frames: Iterable[int]) -> list[int]:
        """The numbers of a text from those of its frames: repetitions are merged, then blanks dropped."""
        ids = np.asarray(list(frames), np.int64)
        first = np.append(True, ids[1:] != ids[:-1])[: len(ids)]
        return [int(n) for n in ids[first] if n != self.blank]

    def text(self, ids: Sequence[int]) -> str:
        """The text of token numbers. Raises InvalidArgument for a number outside the vocabulary."""
        wrong = [n for n in ids if not 0 <= n < len(self)]
        if wrong:
            raise InvalidArgument(f"ids: expected 0 to {len(self) - 1}, got {wrong[0]}")
        words = [" " if self.tokens[n] == self.space else self.tokens[n] for n in ids]
        return self.separator.join(words).strip()

    def decode(self, given: Any) -> str:
        """The text of logits [frames, vocabulary] by greedy decoding, or of the token numbers of frames.

        given: Tensor, array or list. Raises InvalidArgument for other shapes, another width and NaN.
        """
        return self.text(self.greedy_ids(given))

    def greedy_ids(self, given: Any) -> list[int]:
        """The token numbers of what `decode` takes, by greedy decoding."""
        array = np.asarray(given.numpy() if isinstance(given, Tensor) else given)
        if array.ndim == 2 and array.dtype.kind == "f":
            if array.shape[1] != len(self):
                raise InvalidArgument(f"logits: expected [frames, {len(self)}], got {list(array.shape)}")
            if np.isnan(array).any():
                raise InvalidArgument("logits: expected numbers, got NaN")
            array = array.argmax(1)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InvalidArgument(
                f"expected logits [frames, {len(self)}] or token numbers [frames], "
                f"got {array.dtype} {list(array.shape)}"
            )
        return self.collapse(array.tolist())

    def choose(self, hypotheses: Sequence[tuple[Sequence[int], float]]) -> str:
        """The text of hypotheses (token numbers, log probability), best first: of the first one."""
        return self.text(hypotheses[0][0]) if hypotheses else ""

    def transcript(self, ids: Sequence[int], stable: int, kept: Any = None) -> tuple[str, str, Any]:
        """While token numbers arrive: (text that may change, text before it that stays, `kept` of the next
        call).

        stable: so many of the first numbers stay. kept: None at first.
        """
        final = self.text(ids[:stable])
        return self.text(ids)[len(final) :], final, None

    def encode(self, text: str) -> list[int]:
        """The token numbers of a text: split at the separator, else character by character.

        Raises InvalidArgument for a token that is not in the vocabulary, unless there is an unknown token.
        """
        words = text.split(self.separator) if self.separator else list(text)
        found = []
        for word in words:
            token = self.space if word == " " and self.space else word
            if token not in self.vocabulary and self.unknown is None:
                raise InvalidArgument(f"text: {word!r} is not in the vocabulary of {len(self)} tokens")
            found.append(self.vocabulary.get(token, self.vocabulary.get(self.unknown or "", 0)))
        return found

    def save(self, folder: str | Path) -> None:
        """Write `vocab.json` and `tokenizer_config.json` into a folder."""
        folder = Path(folder)
        listed = {token: self.vocabulary[token] for token in self.tokens}
        (folder / "vocab.json").write_text(json.dumps(listed, ensure_ascii=False, indent=1) + "\n")
        settings = {
            "pad_token": self.blank_token,
            "word_delimiter_token": self.space,
            "unk_token": self.unknown,
            "separator": self.separator,
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(settings, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> "CTCTokens":
        """From the files of a folder. Raises InvalidArgument if `vocab.json` is missing or no JSON object."""
        folder = Path(folder)
        vocabulary, settings = read_json(folder / "vocab.json"), {}
        if (folder / "tokenizer_config.json").exists():
            settings = read_json(folder / "tokenizer_config.json")

        def token(name: str, usual: str) -> Any:
            given = settings.get(name, usual)
            return given.get("content") if isinstance(given, dict) else given

        return cls(
            vocabulary,
            token("pad_token", "<pad>"),
            token("word_delimiter_token", "|"),
            token("unk_token", "<unk>"),
            settings.get("separator", ""),
        )


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises InvalidArgument that names a missing or malformed file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidArgument(f"{path.parent}: expected a file {path.name}, found none") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidArgument(f"{path}: expected JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidArgument(f"{path}: expected a JSON object, got {type(found).__name__}")
    return found
