"""From a Chinese text to syllables as they are said: words, readings, tone changes, pauses.

`phrases("你好，世界。")` gives two phrases, ni2 hao3 and shi4 jie4, with a short and a long pause. Words
are cut by jieba and read by pypinyin (the extras `chinese` and `speech`). Changes of tone: Chao, A Grammar
of Spoken Chinese, 1968, sections 1.3.4 and 1.3.5: third tones before third tones, 一 and 不 by what follows;
erhua.
"""

import functools
import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ...engine.tensor import InvalidArgument
from .readings import normalize

__all__ = ["Phrase", "phrases", "word_syllables"]

SHORT_PAUSE, LONG_PAUSE = 0.2, 0.45  # seconds
PAUSES = dict.fromkeys("，、；：,;:—–…·-~～", SHORT_PAUSE) | dict.fromkeys("。！？!?.\n", LONG_PAUSE)
SILENT = set("“”‘’\"'()（）《》〈〉【】[]「」『』{}*_#`|/\\ \t\r\u3000\u200b\ufeff\ufe0f")
DIGITS = set("零一二三四五六七八九十百千万亿〇")
# Ends of words in which 儿 is a syllable of its own.
NOT_ERHUA = tuple(f"{first}儿" for first in "女婴幼孤少胎健男孩宠生血妻小育托患弃乳")
RELATIVES = set("爸妈爷奶哥姐弟妹叔伯姑舅姨公婆宝娃")  # named twice, the second time without a tone


class Phrase(NamedTuple):
    """Words without a pause between them. words: the syllables of each, pinyin with tones, such as [["ni2",
    "hao3"]]; short words are joined. text: what was read, in characters. pause: seconds of silence after
    it."""

    words: list[list[str]]
    text: str
    pause: float


def _needed(name: str, extra: str) -> Any:
    """The package of this name, without the warnings that its import brings up in packages of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError as error:
        raise ImportError(f"synthesis needs the package {name}: pip install sampan[{extra}]") from error


@functools.cache
def _cutter() -> Any:
    made = _needed("jieba", "chinese").Tokenizer()
    made.initialized = True  # filled here, so that it neither reads a cache nor logs
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    return made


@functools.cache
def neutral_words() -> frozenset[str]:
    """Words whose last syllable has the neutral tone, where the dictionary of readings gives it another
    one."""
    lines = Path(__file__).with_name("neutral.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _pinyin(word: str) -> list[str]:
    """The dictionary's reading of each character of a word."""
    pypinyin = _needed("pypinyin", "speech")
    read: list[str] = pypinyin.lazy_pinyin(
        word, style=pypinyin.Style.TONE3, neutral_tone_with_five=True, errors=lambda _: [""], v_to_u=False
    )
    return read


def _is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" or char == "〇"


def _third_tones(tones: list[int], sizes: list[int]) -> None:
    """Third tones before third tones become second, in place: first inside each part of `sizes` syllables,
    then where parts meet, from the end on."""
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    for end, size in zip(ends, sizes, strict=True):
        for at in range(end - 2, end - size - 1, -1):
            if tones[at] == tones[at + 1] == 3:
                tones[at] = 2
    for end in ends[-2::-1]:
        if tones[end - 1] == 3 and tones[end] == 3:
            tones[end - 1] = 2


def _yi_bu(chars: str, tones: list[int]) -> None:
    """The tones of 一 and 不 by their neighbours, in place."""
    for at, char in enumerate(chars):
        before, after = chars[at - 1 : at], chars[at + 1 : at + 2]
        if char not in "一不" or not (before or after):
            continue
        if before and before == after:
            tones[at] = 5  # 看一看, 好不好
        elif char == "不":
            tones[at] = 2 if after and tones[at + 1] == 4 else 4
        elif not after or before in {"第", "初", *DIGITS} or (after in DIGITS and after not in "百千万亿"):
            tones[at] = 1  # 第一, 十一, 一九九八
        elif after == "点" and chars[at + 2 : at + 3] in DIGITS:
            tones[at] = 1  # 一点五
        else:
            tones[at] = 2 if tones[at + 1] == 4 or chars[at : at + 2] == "一个" else 4


def _neutral(words: list[str], tones: list[int]) -> None:
    """The neutral tones of words that have one, in place."""
    at = 0
    for word in words:
        if word in neutral_words() or (len(word) == 2 and word[0] == word[1] and word[0] in RELATIVES):
            tones[at + len(word) - 1] = 5
        at += len(word)


def _parts(word: str) -> list[int]:
    """How many syllables each part of a word has, for the third tones: 展览馆 is 2 + 1, 小老虎 1 + 2."""
    if len(word) <= 2:
        return [len(word)]
    known = _cutter().FREQ
    if len(word) == 3:
        return [1, 2] if known.get(word[1:], 0) > known.get(word[:2], 0) else [2, 1]
    return [2] * (len(word) // 2) + [1] * (len(word) % 2)


def _said(words: list[str]) -> list[list[str]]:
    """The syllables of words that follow each other without a pause."""
    chars, read = "".join(words), [p for word in words for p in _pinyin(word)]
    for char, p in zip(chars, read, strict=True):
        if not re.fullmatch(r"[a-zêü]+[1-5]", p):
            raise InvalidArgument(f"text: no reading is known for {char!r}")
    tones = [int(p[-1]) for p in read]
    _neutral(words, tones)
    _yi_bu(chars, tones)
    at = 0
    for word in words:  # inside words first
        inside = tones[at : at + len(word)]
        _third_tones(inside, _parts(word))
        tones[at : at + len(word)] = inside
        at += len(word)
    at = len(chars)
    for word, after in zip(words[-2::-1], words[:0:-1], strict=True):  # then where a short word meets another
        at -= len(after)
        if tones[at - 1] == tones[at] == 3 and 1 in (len(word), len(after)):
            tones[at - 1] = 2
    said, at = [], 0
    for word in words:
        row: list[str] = []
        for k, char in enumerate(word):
            if char == "儿" and k and not word[: k + 1].endswith(NOT_ERHUA) and row[-1][-1] != "r":
                row[-1] += "r"
            else:
                row.append(f"{read[at + k][:-1]}{tones[at + k]}")
        said.append(row)
        at += len(word)
    return said


def _grouped(words: list[list[str]]) -> list[list[str]]:
    """Words of one syllable joined with a neighbour, up to three syllables: what is said in one breath."""
    made: list[list[str]] = []
    for row in words:
        if made and 1 in (len(made[-1]), len(row)) and len(made[-1]) + len(row) <= 3:
            made[-1] = made[-1] + row
        else:
            made.append(row)
    return made


def word_syllables(word: str) -> list[str]:
    """The syllables of one word or short phrase, said without a pause: word_syllables("一个") is yi2 ge4.

    Raises InvalidArgument as `phrases` does.
    """
    text = "".join(c for c in normalize(word) if c not in SILENT and c not in PAUSES)
    _check(text)
    return _said([text])[0] if text else []


def _check(text: str) -> None:
    for char in text:
        if not _is_han(char) and char not in PAUSES and char not in SILENT:
            raise InvalidArgument(
                f"text: expected Chinese, Latin letters, digits and punctuation, got {char!r}"
            )


def phrases(text: str) -> Iterator[Phrase]:
    """What is to be said, phrase by phrase; nothing of a text without a character or digit.

    Raises InvalidArgument that names the first character that cannot be read, such as an emoji or another
    script.
    """
    said = normalize(text)
    _check(said)
    marks = "".join(map(re.escape, PAUSES))
    for piece in re.finditer(f"([^{marks}]*)([{marks}]*)", said):
        chars = "".join(c for c in piece[1] if c not in SILENT)
        if chars:
            words = [str(w) for w in _cutter().cut(chars, HMM=False)]
            pause = max((PAUSES[c] for c in piece[2]), default=0.0)
            yield Phrase(_grouped(_said(words)), chars, pause)
