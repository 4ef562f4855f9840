"""Numbers, dates and letters as they are said. Expected readings: the examples of GB/T 15835-2011 and of the
article 汉语数字 of the Chinese Wikipedia, and cn2an's published examples for large numbers."""

import pytest

from sampan.engine.errors import InvalidArgument
from sampan.speech.synthesis.readings import normalize, number_read


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("0", "零"),
        ("10", "十"),
        ("15", "十五"),
        ("110", "一百一十"),
        ("101", "一百零一"),
        ("1010", "一千零一十"),
        ("10000", "一万"),
        ("10500", "一万零五百"),
        ("100008000", "一亿零八千"),
        ("1002003", "一百万二千零三"),
        ("100110010", "一亿零一十一万零一十"),
        ("-3.14", "负三点一四"),
        ("007", "零零七"),
    ],
)
def test_a_number_by_value(written, said) -> None:
    assert number_read(written) == said


def test_numbers_spell_themselves() -> None:
    """Read back by an independent parser: the value of the characters is the number."""
    value = {c: n for n, c in enumerate("零一二三四五六七八九")}
    place = {"十": 10, "百": 100, "千": 1000}

    def parsed(said: str) -> int:
        total = section = digit = 0
        for char in said:
            if char in value:
                digit = value[char]
            elif char in place:
                section, digit = section + (digit or (1 if char == "十" else 0)) * place[char], 0
            else:
                size = 10**4 if char == "万" else 10**8
                total = (
                    (total + section + digit) * size if size == 10**8 else total + (section + digit) * size
                )
                section = digit = 0
        return total + section + digit

    for number in [*range(0, 2000, 7), 99999, 100000, 12345678, 20000001, 305000000, 987654321]:
        assert parsed(number_read(str(number))) == number, number


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("2026年11月25日", "二零二六年十一月二十五日"),
        ("2026-11-05", "二零二六年十一月五日"),
        ("25%", "百分之二十五"),
        ("3.5‰", "千分之三点五"),
        ("10:05", "十点零五分"),
        ("下午2:30", "下午两点三十分"),
        ("8:00", "八点整"),
        ("3/4", "四分之三"),
        ("3-5天", "三到五天"),
        ("2个", "两个"),
        ("12个", "十二个"),
        ("1,234,567", "一百二十三万四千五百六十七"),
        ("¥100", "一百元"),
        ("-3.5℃", "负三点五摄氏度"),
        ("5km", "五公里"),
        ("13812345678", "一三八一二三四五六七八"),
        ("３月", "三月"),
        ("1年", "一年"),
        ("A", "诶"),
    ],
)
def test_what_is_written_in_digits(written, said) -> None:
    assert normalize(written) == said


def test_what_is_no_text() -> None:
    with pytest.raises(InvalidArgument, match="text: expected a string, got int"):
        normalize(5)  # type: ignore[arg-type]  # what is tested
