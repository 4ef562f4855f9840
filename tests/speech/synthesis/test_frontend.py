"""From texts to syllables. Expected tones: the examples of Chao, A Grammar of Spoken Chinese (1968), 1.3.4,
and of the articles 变调 and 普通话 of the Chinese Wikipedia; beside them pypinyin's own rules."""

import pytest

from sampan.engine.errors import InvalidArgument

pypinyin = pytest.importorskip("pypinyin")
pytest.importorskip("jieba")

from sampan.speech.synthesis.frontend import neutral_words, phrases, word_syllables  # noqa: E402  after the packages it needs


def said(text: str) -> str:
    return " ".join(s for phrase in phrases(text) for word in phrase.words for s in word)


@pytest.mark.parametrize(
    ("text", "syllables"),
    [
        ("你好", "ni2 hao3"),
        ("展览馆", "zhan2 lan2 guan3"),
        ("小老虎", "xiao3 lao2 hu3"),
        ("水果", "shui2 guo3"),
        ("我很好", "wo3 hen2 hao3"),
        ("一定", "yi2 ding4"),
        ("一天", "yi4 tian1"),
        ("一年", "yi4 nian2"),
        ("一起", "yi4 qi3"),
        ("一个", "yi2 ge4"),
        ("第一", "di4 yi1"),
        ("统一", "tong3 yi1"),
        ("看一看", "kan4 yi5 kan4"),
        ("不去", "bu2 qu4"),
        ("不好", "bu4 hao3"),
        ("不来", "bu4 lai2"),
        ("好不好", "hao3 bu5 hao3"),
        ("花儿", "hua1r"),
        ("女儿", "nv3 er2"),
        ("银行", "yin2 hang2"),
        ("行走", "xing2 zou3"),
        ("音乐", "yin1 yue4"),
        ("快乐", "kuai4 le4"),
        ("妈妈", "ma1 ma5"),
        ("一九九八年", "yi1 jiu2 jiu3 ba1 nian2"),
        ("朋友", "peng2 you5"),
        ("一点儿", "yi4 dian3r"),
        ("一点五", "yi1 dian2 wu3"),
        ("25%", "bai3 fen1 zhi1 er4 shi2 wu3"),
        ("2026年", "er4 ling2 er4 liu4 nian2"),
    ],
)
def test_known_readings(text, syllables) -> None:
    assert said(text) == syllables


def test_pypinyin_reads_plain_words_the_same() -> None:
    """Words without 一, 不, 儿 and without two third tones in a row have the dictionary's tones."""
    words = [w for w in pypinyin.phrases_dict.phrases_dict if len(w) == 2 and not set(w) & set("一不儿兒")]
    words = [w for w in words if w not in neutral_words() and w[0] != w[1]][::79]
    compared = 0
    for word in words:
        read = pypinyin.lazy_pinyin(word, style=pypinyin.Style.TONE3, neutral_tone_with_five=True)
        if [r[-1] for r in read] != ["3", "3"] and all(r[-1].isdigit() for r in read):
            assert word_syllables(word) == read, word
            compared += 1
    assert compared > 200


def test_pypinyin_changes_tones_the_same() -> None:
    for word in ("你好", "一定", "一起", "不是", "不好", "雨伞", "可以", "一半", "不怕"):
        read = pypinyin.lazy_pinyin(
            word, style=pypinyin.Style.TONE3, neutral_tone_with_five=True, tone_sandhi=True
        )
        assert word_syllables(word) == read, word


def test_punctuation_becomes_pauses() -> None:
    found = list(phrases("你好，世界！再见"))
    assert [(p.text, p.pause) for p in found] == [("你好", 0.2), ("世界", 0.45), ("再见", 0.0)]
    assert list(phrases("“《》”")) == [] and list(phrases("，。")) == []


@pytest.mark.parametrize(
    ("text", "named"), [("你好😀", "😀"), ("привет", "п"), ("한국", "한"), ("你\x00好", "x00")]
)
def test_a_character_that_cannot_be_read_is_named(text, named) -> None:
    with pytest.raises(InvalidArgument, match=f"text: expected Chinese.*got .*{named}"):
        list(phrases(text))


def test_a_character_without_a_known_reading_is_named() -> None:
    unread = next(c for c in map(chr, range(0x3400, 0x4DBF)) if pypinyin.lazy_pinyin(c)[0] == c)
    with pytest.raises(InvalidArgument, match=f"no reading is known for '{unread}'"):
        word_syllables(unread)
