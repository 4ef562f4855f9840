"""What is written in digits, letters and signs, as it is said: "2026年" is 二零二六年, "25%" 百分之二十五.

Numbers follow the national standard GB/T 15835-2011 and the usual reading of each: digit by digit for years
and for telephone numbers, by value otherwise. Latin letters get the Chinese spelling of their English names.
"""

import re
import unicodedata
from collections.abc import Callable

from ...engine.tensor import InvalidArgument

__all__ = ["digits_read", "normalize", "number_read"]

DIGITS = "零一二三四五六七八九"
UNITS = ("", "十", "百", "千")
LARGE = ("", "万", "亿", "万亿")
# Signs and units that follow a number. Longer ones first.
AFTER = {
    "km/h": "公里每小时",
    "km": "公里",
    "kg": "公斤",
    "cm": "厘米",
    "mm": "毫米",
    "ml": "毫升",
    "m": "米",
    "g": "克",
    "℃": "摄氏度",
    "°C": "摄氏度",
    "°": "度",
    "元": "元",
}
MONEY = {"¥": "元", "￥": "元", "$": "美元", "€": "欧元", "£": "英镑"}
SIGNS = {"+": "加", "=": "等于", "×": "乘以", "÷": "除以", "&": "和", "@": "艾特", "<": "小于", ">": "大于"}
# 2 is 两 before these measure words.
MEASURES = "个只位次本张条件天年周岁家块点座辆台双份名句遍场层间群杯瓶种倍百千万亿小"
_LETTERS = "诶 必 西 弟 伊 艾弗 计 艾尺 爱 杰 开 艾勒 艾姆 恩 欧 批 扣 阿 艾斯 提 优 维 达布流 艾克斯 歪 贼"
LETTERS = dict(zip("abcdefghijklmnopqrstuvwxyz", _LETTERS.split(), strict=True))


def digits_read(text: str) -> str:
    """Digit by digit: "2026" is 二零二六."""
    return "".join(DIGITS[int(d)] for d in text)


def _group(number: int) -> str:
    """0 to 9999 without a leading 零."""
    said, gap = "", False
    for place in (3, 2, 1, 0):
        digit = number // 10**place % 10
        if digit:
            said += ("零" if gap and said else "") + DIGITS[digit] + UNITS[place]
        gap = digit == 0
    return said


def number_read(text: str) -> str:
    """By value: "10500" is 一万零五百, "-3.14" 负三点一四. text: digits, with a sign and a point or without.

    Numbers of more than 16 digits, and those that begin with 0, are read digit by digit.
    """
    sign = "负" if text[:1] in "-−" else ""
    whole, _, part = text.lstrip("-−+").partition(".")
    after = "点" + digits_read(part) if part else ""
    if len(whole) > 16 or (len(whole) > 1 and whole[0] == "0"):
        return sign + digits_read(whole) + after
    number, said, skipped = int(whole), "", False
    for level in (3, 2, 1, 0):
        group = number // 10 ** (4 * level) % 10000
        if group:
            linked = said and (skipped or group < 1000)
            said += ("零" if linked else "") + _group(group) + LARGE[level]
        skipped = group == 0
    if 10 <= number < 20:
        said = said[1:]  # 十五, not 一十五
    return sign + (said or "零") + after


def _date(m: re.Match[str]) -> str:
    return f"{digits_read(m[1])}年{number_read(m[2].lstrip('0'))}月{number_read(m[3].lstrip('0'))}日"


def _clock(m: re.Match[str]) -> str:
    hour = "两" if int(m[1]) == 2 else number_read(str(int(m[1])))
    minute = int(m[2])
    said = "整" if minute == 0 else ("零" if minute < 10 else "") + number_read(str(minute)) + "分"
    seconds = number_read(str(int(m[3]))) + "秒" if m[3] else ""
    return f"{hour}点{said if minute or not seconds else '零分'}{seconds}"


def _two(m: re.Match[str]) -> str:
    return "两" + m[1]


def _after(m: re.Match[str]) -> str:
    return number_read(m[1]) + AFTER[m[2]]


NUMBER = r"(?<![\d.])([-−]?\d+(?:\.\d+)?)"
RULES: list[tuple[str, Callable[[re.Match[str]], str]]] = [
    (r"(?<=\d),(?=\d{3}(?!\d))", lambda m: ""),  # 1,234
    (r"(?<!\d)(\d{4})[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12]\d|3[01])(?!\d)", _date),
    (r"(\d{4}|(?<!\d)\d{2})(?=年(?!级|代?前|后|内|间|多|来))", lambda m: digits_read(m[1])),
    (r"(?<!\d)([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?!\d)", _clock),
    (r"(?<!\d)(1[3-9]\d{9}|0\d{2,3}-?\d{7,8})(?!\d)", lambda m: digits_read(m[1].replace("-", ""))),
    (NUMBER + "%", lambda m: "百分之" + number_read(m[1])),
    (NUMBER + "‰", lambda m: "千分之" + number_read(m[1])),
    (f"([{''.join(map(re.escape, MONEY))}])" + NUMBER, lambda m: number_read(m[2]) + MONEY[m[1]]),
    (r"(?<![\d/])(\d+)/(\d+)(?![\d/])", lambda m: f"{number_read(m[2])}分之{number_read(m[1])}"),
    (r"(?<=\d)\s?[-~～—–]\s?(?=\d)", lambda m: "到"),
    (NUMBER + f"({'|'.join(map(re.escape, AFTER))})(?![a-zA-Z])", _after),
    (rf"(?<![\d.])2([{MEASURES}])", _two),
    (NUMBER, lambda m: number_read(m[1])),
    (r"\d+(?:\.\d+)*", lambda m: "点".join(digits_read(p) for p in m[0].split("."))),  # 3.11.2
    (f"[{''.join(map(re.escape, SIGNS))}]", lambda m: SIGNS[m[0]]),
    (r"[a-zA-Z]", lambda m: LETTERS[m[0].lower()]),
]


def normalize(text: str) -> str:
    """The text with full-width letters and digits made plain, and with numbers, dates, times, money, percent,
    measures and Latin letters written out in characters. Everything else stays."""
    if not isinstance(text, str):
        raise InvalidArgument(f"text: expected a string, got {type(text).__name__}")
    plain = (
        unicodedata.normalize("NFKC", c) if "\uff10" <= c <= "\uff5a" and c.isalnum() else c for c in text
    )
    said = "".join(plain).replace("％", "%")
    for pattern, read in RULES:
        said = re.sub(pattern, read, said)
    return said
