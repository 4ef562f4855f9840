"""Syllables of Mandarin as initial and final: "xue2" is "x" and "ve2", and back.

A syllable is written in pinyin with its tone, 1 to 4, or 5 for the neutral one; `v` stands for ü. The units
of a recogniser are the 21 initials, and the 39 finals with a tone, which share their sound between syllables:
yuan, juan and xuan have the final van. Source: Hanyu Pinyin (ISO 7098), its rules for y, w, and ü after j, q
and x.
"""

import re

from ..engine.errors import InvalidArgument

__all__ = ["join_units", "pinyin_units", "split_syllable"]

_INITIALS = "b p m f d t n l g k h j q x zh ch sh r z c s"
# "ih" is the vowel of zhi, chi, shi, ri, zi, ci, si.
_FINALS = (
    "a o e ai ei ao ou an en ang eng er ong i ih ia ie iao iou ian in iang ing iong io iai "
    "u ua uo uai uei uan uen uang ueng v ve van vn"
)
INITIALS, FINALS, TONES = _INITIALS.split(), _FINALS.split(), "12345"
_SYLLABLE = re.compile(r"(zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw]?)([a-z]+)([1-5])")
_WRITTEN = {"iou": "iu", "uei": "ui", "uen": "un"}  # after an initial
_SPELLED = {written: final for final, written in _WRITTEN.items()}
_PALATAL, _SIBILANT = ("j", "q", "x"), ("zh", "ch", "sh", "r", "z", "c", "s")


def pinyin_units() -> list[str]:
    """All initials, and all finals with each tone: the units, in a fixed order."""
    return [*INITIALS, *(final + tone for final in FINALS for tone in TONES)]


def split_syllable(syllable: str) -> list[str]:
    """The one or two units of a syllable with its tone, such as "xue2" -> ["x", "ve2"].

    Raises InvalidArgument for what is no syllable, such as the interjections hm and ng.
    """
    found = _SYLLABLE.fullmatch(syllable)
    if found is None:
        raise InvalidArgument(f"syllable: expected pinyin with a tone 1 to 5, got {syllable!r}")
    initial, final, tone = found.groups()
    if initial == "y":
        if final.startswith("u"):
            final = "v" + final[1:]
        elif not final.startswith("i"):
            final = "i" + final
        initial = ""
        final = {"iu": "iou"}.get(final, final)
    elif initial == "w":
        initial, final = "", final if final.startswith("u") else "u" + final
    elif initial in _PALATAL and final.startswith("u"):
        final = "v" + final[1:]
    elif initial in _SIBILANT and final == "i":
        final = "ih"
    elif initial:
        final = _SPELLED.get(final, final)
    if final not in FINALS:
        raise InvalidArgument(f"syllable: expected pinyin with a tone 1 to 5, got {syllable!r}")
    return [initial, final + tone] if initial else [final + tone]


def _written(initial: str, final: str) -> str:
    """The spelling of an initial, or "", and a final without tone."""
    if initial:
        if initial in _PALATAL and final.startswith("v"):
            final = "u" + final[1:]
        return initial + ("i" if final == "ih" else _WRITTEN.get(final, final))
    if final.startswith("v"):
        return "yu" + final[1:]
    if final.startswith("i"):
        return "y" + final if final in ("i", "in", "ing", "ih") else "y" + final[1:]
    if final.startswith("u"):
        return "wu" if final == "u" else "w" + final[1:]
    return final


def join_units(units: list[str]) -> list[str]:
    """The syllables of a sequence of units; an initial without a final after it is dropped.

    Example: ["n", "i3", "h", "ao3"] -> ["ni3", "hao3"].
    """
    made, initial = [], ""
    for unit in units:
        if unit in INITIALS:
            initial = unit
            continue
        made.append(_written(initial, unit[:-1]) + unit[-1])
        initial = ""
    return made
