"""Syllables as units: the table of Hanyu Pinyin by hand, and every syllable both ways."""

import pytest

from sampan.engine.errors import InvalidArgument
from sampan.speech.pinyin import FINALS, INITIALS, join_units, pinyin_units, split_syllable

# The rules of spelling (ISO 7098): zero initials, u for ü after j, q, x, and iu, ui, un.
SPELLED = {
    "xue2": ["x", "ve2"],
    "yue4": ["ve4"],
    "yuan3": ["van3"],
    "juan1": ["j", "van1"],
    "jun1": ["j", "vn1"],
    "lun2": ["l", "uen2"],
    "lv4": ["l", "v4"],
    "lve4": ["l", "ve4"],
    "ju4": ["j", "v4"],
    "yi1": ["i1"],
    "you3": ["iou3"],
    "jiu3": ["j", "iou3"],
    "ying2": ["ing2"],
    "wu3": ["u3"],
    "wei4": ["uei4"],
    "gui4": ["g", "uei4"],
    "wen1": ["uen1"],
    "weng1": ["ueng1"],
    "zhi1": ["zh", "ih1"],
    "si4": ["s", "ih4"],
    "ji4": ["j", "i4"],
    "zun1": ["z", "uen1"],
    "er2": ["er2"],
    "me5": ["m", "e5"],
}


@pytest.mark.parametrize("syllable", SPELLED)
def test_the_rules_of_spelling(syllable):
    assert split_syllable(syllable) == SPELLED[syllable]
    assert join_units(SPELLED[syllable]) == [syllable]


def test_every_spelling_is_read_as_the_units_that_it_was_made_of():
    kept = 0
    for initial in ["", *INITIALS]:
        for final in FINALS:
            (written,) = join_units([*([initial] if initial else []), final + "1"])
            try:
                units = split_syllable(written)
            except InvalidArgument:
                continue
            if units == [*([initial] if initial else []), final + "1"]:
                kept += 1
            assert join_units(units) == [written]  # one spelling for one syllable
    assert kept > 500


def test_the_units_are_distinct_and_cover_the_table():
    units = pinyin_units()
    assert len(units) == len(set(units)) == 21 + 39 * 5
    assert {unit for spelled in SPELLED.values() for unit in spelled} <= set(units)


def test_a_sequence_that_is_cut_or_has_two_initials():
    assert join_units([]) == []
    assert join_units(["n", "i3", "h"]) == ["ni3"]
    assert join_units(["n", "h", "ao3"]) == ["hao3"]


@pytest.mark.parametrize("wrong", ["hm1", "ng2", "xue", "xue6", "", "学", "xyz1", "XUE2"])
def test_what_is_no_syllable(wrong):
    with pytest.raises(InvalidArgument, match="syllable: expected pinyin with a tone 1 to 5"):
        split_syllable(wrong)
