"""Initials and finals. Oracle: pypinyin's strict initials and finals, another implementation of the same
scheme."""

import pytest

from sampan.engine.errors import InvalidArgument
from sampan.speech.synthesis.units import NUMBER_OF, UNITS, syllable


@pytest.mark.parametrize(
    ("pinyin", "spelled"),
    [
        ("zhuang1", "zh uang1"),
        ("yu2", "v2"),
        ("lü4", "l v4"),
        ("xue2", "x ve2"),
        ("liu2", "l iou2"),
        ("gui4", "g uei4"),
        ("zi5", "z ih5"),
        ("shi4", "sh ih4"),
        ("er4", "er4"),
        ("weng1", "ueng1"),
        ("hua1r", "h ua1r"),
        ("a1", "a1"),
    ],
)
def test_the_parts_of_a_syllable(pinyin, spelled) -> None:
    said = syllable(pinyin)
    assert said.spelled == spelled
    assert all(unit in NUMBER_OF for unit in said.units)


def test_pypinyin_cuts_the_same() -> None:
    pypinyin = pytest.importorskip("pypinyin")
    chars = [chr(c) for c in range(0x4E00, 0x9FA6)][::3]
    styles = (pypinyin.Style.TONE3, pypinyin.Style.INITIALS, pypinyin.Style.FINALS)
    seen = set()
    for char in chars:
        whole, initial, final = (
            pypinyin.pinyin(char, style=style, neutral_tone_with_five=True, strict=True)[0][0]
            for style in styles
        )
        if whole in seen or whole[:-1] in ("hm", "hng", "m", "n", "ng", "ê") or not whole[0].isascii():
            continue
        seen.add(whole)
        said = syllable(whole)
        plain = "i" if said.final == "ih" else said.final
        assert (said.initial, plain) == (initial, final.replace("ü", "v")), whole
    assert len(seen) > 900


def test_numbers_count_from_the_silence() -> None:
    assert UNITS[0] == "<sil>" and len(set(UNITS)) == len(UNITS)
    assert (len(UNITS), UNITS[22], UNITS[-1]) == (62, "<r>", "=vn")  # shipped weights are by these numbers


@pytest.mark.parametrize("wrong", ["", "ni", "ni6", "xyz1", "3", "NI3", "bb1"])
def test_what_is_no_syllable(wrong) -> None:
    with pytest.raises(InvalidArgument, match="pinyin: expected a syllable"):
        syllable(wrong)
