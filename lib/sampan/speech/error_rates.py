"""Error rates of recognised texts: edits by rapidfuzz, over characters or words, with the path of edits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..engine.errors import InvalidArgument

# Han, Hiragana, Katakana and Hangul: scripts written without spaces, or whose characters are counted one by
# one.
_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_MIXED = re.compile(f"[{_WIDE}]|[^\\s{_WIDE}]+")


class Edit(NamedTuple):
    """kind: equal, substitution, deletion or insertion; the unit of the reference and of the hypothesis, or
    None."""

    kind: str
    reference: str | None
    hypothesis: str | None


class ErrorRate(NamedTuple):
    """Counts of edits over a corpus; `rate` is their sum over the units of all references, 0.1 for 10 %."""

    substitutions: int
    deletions: int
    insertions: int
    units: int

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Above 1 where there are more insertions than units. ValueError for references without units."""
        if not self.units:
            raise InvalidArgument("references: expected at least one character or word, got none")
        return self.errors / self.units


def units(text: str, by: str = "character") -> list[str]:
    """What counts as one unit of a text.

    by: "character" (without white space), "word" (between white space), or "mixed": characters of Chinese,
    Japanese and Korean, and words of other scripts.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text: expected a text, got {type(text).__name__}")
    if by == "character":
        return list("".join(text.split()))
    if by == "word":
        return text.split()
    if by == "mixed":
        return _MIXED.findall(text)
    raise InvalidArgument(f"by: expected character, word or mixed, got {by!r}")


def edit_distance(reference: Sequence[str], hypothesis: Sequence[str]) -> int:
    """How many units are substituted, deleted or inserted at least (Levenshtein, 1966)."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(reference, hypothesis)


def edits(reference: str, hypothesis: str, by: str = "character") -> list[Edit]:
    """The shortest path of edits from one text to another (Levenshtein, 1966), in the order of the texts."""
    from rapidfuzz.distance import Levenshtein

    a, b = units(reference, by), units(hypothesis, by)
    path = []
    for step in Levenshtein.opcodes(a, b):
        pairs = max(step.src_end - step.src_start, step.dest_end - step.dest_start)
        kind = _KINDS[step.tag]
        for i in range(pairs):
            old = a[step.src_start + i] if kind != "insertion" else None
            new = b[step.dest_start + i] if kind != "deletion" else None
            path.append(Edit(kind, old, new))
    return path


_KINDS = {"equal": "equal", "replace": "substitution", "delete": "deletion", "insert": "insertion"}


def error_rate(
    references: str | Sequence[str], hypotheses: str | Sequence[str], by: str = "character"
) -> ErrorRate:
    """Edits of a corpus, summed before they are divided: a long text counts more than a short one.

    references, hypotheses: a text each, or as many texts. by: as in `units`.
    """
    from rapidfuzz.distance import Levenshtein

    given = [[texts] if isinstance(texts, str) else list(texts) for texts in (references, hypotheses)]
    if len(given[0]) != len(given[1]):
        raise InvalidArgument(
            f"hypotheses: expected {len(given[0])} as there are references, got {len(given[1])}"
        )
    counts = {"replace": 0, "delete": 0, "insert": 0}
    size = 0
    for old, new in zip(*given, strict=True):
        a = units(old, by)
        size += len(a)
        for step in Levenshtein.editops(a, units(new, by)):
            counts[step.tag] += 1
    return ErrorRate(counts["replace"], counts["delete"], counts["insert"], size)


def cer(references: str | Iterable[str], hypotheses: str | Iterable[str]) -> float:
    """The character error rate of a corpus, white space left out."""
    return error_rate(_listed(references), _listed(hypotheses)).rate


def wer(references: str | Iterable[str], hypotheses: str | Iterable[str]) -> float:
    """The word error rate of a corpus."""
    return error_rate(_listed(references), _listed(hypotheses), "word").rate


def _listed(texts: str | Iterable[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)
