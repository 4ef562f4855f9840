"""Edits and rates beside a table of distances filled by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampan.speech import cer, edits, error_rate, wer
from sampan.speech.error_rates import units


def distance(a: list[str], b: list[str]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y)))
    return row[-1]


TEXTS = st.text("ab 一二", max_size=12)


@given(TEXTS, TEXTS, st.sampled_from(["character", "word", "mixed"]))
def test_the_path_turns_one_text_into_the_other(reference: str, hypothesis: str, by: str) -> None:
    a, b = units(reference, by), units(hypothesis, by)
    path = edits(reference, hypothesis, by)
    assert [e.reference for e in path if e.reference is not None] == a
    assert [e.hypothesis for e in path if e.hypothesis is not None] == b
    assert all((e.kind == "equal") == (e.reference == e.hypothesis) for e in path)
    assert (
        sum(e.kind != "equal" for e in path) == distance(a, b) == error_rate(reference, hypothesis, by).errors
    )


def test_units() -> None:
    assert units("ab c\n一", "character") == ["a", "b", "c", "一"]
    assert units(" ab  c\n一二 ", "word") == ["ab", "c", "一二"]
    assert units("我有iPhone 15 手机", "mixed") == ["我", "有", "iPhone", "15", "手", "机"]
    with pytest.raises(ValueError, match="by: expected character, word or mixed, got 'line'"):
        units("a", "line")
    with pytest.raises(ValueError, match="text: expected a text, got int"):
        units(3)


def test_rates_of_a_corpus() -> None:
    path = edits("一二三四五六", "一二四五六七")
    assert [e for e in path if e.kind != "equal"] == [("deletion", "三", None), ("insertion", None, "七")]
    assert wer("the cat sat", "the bat sat down") == pytest.approx(2 / 3)
    assert cer("北京 大学", "北京大") == pytest.approx(1 / 4)
    found = error_rate(["abcd", "x"], ["abc", "yy"])
    assert (found.substitutions, found.deletions, found.insertions, found.units) == (1, 1, 1, 5)
    assert found.rate == pytest.approx(3 / 5)
    assert cer(["abcd", "x"], ["abc", "yy"]) == found.rate  # not the mean of 1/4 and 2
    assert cer(["", "ab"], ["a", "ab"]) == pytest.approx(1 / 2)
    with pytest.raises(ValueError, match="at least one character or word"):
        cer([""], ["a"])
    with pytest.raises(ValueError, match="hypotheses: expected 2 as there are references, got 1"):
        wer(["a", "b"], ["a"])
