"""Syllables in pinyin as an initial and a tonal final, the units of the acoustic model.

"zhuang1" is zh + uang1, "yu2" is v2, "hua1r" (erhua) h + ua1 + r. Source: Hanyu Pinyin (ISO 7098), and
its rules for y, w, and ü after j, q, x.
"""

import re
from typing import NamedTuple

from ...engine.tensor import InvalidArgument
from ..pinyin import FINALS, INITIALS, split_syllable

__all__ = ["UNITS", "Syllable", "syllable"]

SILENCE, ERHUA = "<sil>", "<r>"
# 0 is the silence before and after a word. The tone is not part of a unit: it is said beside it.
UNITS = [SILENCE, *INITIALS, ERHUA, *("=" + final for final in FINALS)]
NUMBER_OF = {unit: number for number, unit in enumerate(UNITS)}
INTERJECTIONS = {"ê": "ei", "n": "en", "ng": "en"}
_SYLLABLE = re.compile(r"([a-zêü]+)([1-5])(r?)")


class Syllable(NamedTuple):
    """initial: "" if there is none. final: without its tone. tone: 1 to 4, 5 for the neutral tone. erhua:
    whether its final ends in a curled tongue."""

    initial: str
    final: str
    tone: int
    erhua: bool

    @property
    def units(self) -> list[str]:
        """Its units without the tone, in order: members of UNITS."""
        return [*([self.initial] if self.initial else []), "=" + self.final, *([ERHUA] if self.erhua else [])]

    @property
    def spelled(self) -> str:
        """Initial and tonal final, such as "zh uang1"."""
        return f"{self.initial} {self.final}{self.tone}{'r' if self.erhua else ''}".strip()


def syllable(pinyin: str) -> Syllable:
    """The parts of a syllable such as "ni3", "lv4" (or "lü4"), "hua1r".

    Raises InvalidArgument for what is not a syllable of Mandarin with its tone.
    """
    found = _SYLLABLE.fullmatch(pinyin)
    if not found:
        raise InvalidArgument(f"pinyin: expected a syllable and its tone such as 'ni3', got {pinyin!r}")
    letters, tone, erhua = found[1].replace("ü", "v"), found[2], bool(found[3])
    try:
        *initial, final = split_syllable(INTERJECTIONS.get(letters, letters) + tone)
    except InvalidArgument:
        raise InvalidArgument(f"pinyin: expected a syllable of Mandarin, got {pinyin!r}") from None
    return Syllable(initial[0] if initial else "", final[:-1], int(tone), erhua)
