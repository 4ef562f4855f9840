"""Short Chinese reviews of hotels that a grammar makes, each with its English, and English for single words of any review.

The verdict is not in one word: a negation turns it round, and of two clauses that are opposed the last one decides.
Independent of widgets and of the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

SEED = 1911
BAD, GOOD = 0, 1

# A thing, its English, then what it can be: two bad words and two good ones.
THINGS = """
房间 room | 脏 dirty | 狭小 cramped | 干净 clean | 宽敞 spacious
床 bed | 硬 hard | 破旧 worn | 舒服 comfortable | 柔软 soft
早餐 breakfast | 难吃 awful | 单调 monotonous | 好吃 tasty | 丰富 varied
服务 service | 冷淡 cold | 差 poor | 热情 warm | 好 good
前台 reception | 慢 slow | 粗鲁 rude | 友好 friendly | 专业 professional
位置 location | 偏僻 remote | 吵闹 noisy | 方便 convenient | 安静 quiet
价格 price | 贵 high | 离谱 outrageous | 便宜 low | 合理 reasonable
浴室 bathroom | 潮湿 damp | 难闻 smelly | 明亮 bright | 漂亮 beautiful
网络 network | 卡 sluggish | 落后 outdated | 快 fast | 稳定 stable
空调 air conditioner | 旧 old | 刺耳 shrill | 新 new | 好用 handy
大堂 lobby | 昏暗 dim | 混乱 chaotic | 气派 grand | 温馨 cosy
窗外的风景 view from the window | 难看 ugly | 乏味 dull | 美 lovely | 迷人 charming
"""
MUCH = (
    ("很{}", "very {}"),
    ("非常{}", "extremely {}"),
    ("特别{}", "particularly {}"),
    ("比较{}", "rather {}"),
)
NOT = (("不{}", "not {}"), ("不太{}", "not very {}"), ("一点也不{}", "not {} at all"))
MORE = {BAD: (*MUCH, ("太{}", "too {}")), GOOD: MUCH}
CLOSING = {
    BAD: (("再也不来了", "never again"), ("很失望", "a disappointment"), ("不推荐", "not recommended")),
    GOOD: (("下次还会来", "I will come again"), ("很满意", "satisfied"), ("值得推荐", "worth recommending")),
}
# More words of real reviews.
WORDS = """
酒店 hotel | 宾馆 guesthouse | 饭店 hotel | 入住 check in | 出差 business trip | 退房 check out | 住 stay | 晚 night | 次 time | 人 person | 服务员 staff
态度 attitude | 环境 surroundings | 设施 facilities | 卫生 hygiene | 卫生间 bathroom | 隔音 soundproofing | 电视 television | 电梯 lift
热水 hot water | 味道 smell | 噪音 noise | 交通 transport | 地铁 metro | 火车站 railway station | 机场 airport | 市中心 city centre
餐厅 restaurant | 携程 Ctrip | 预订 book | 感觉 feel | 觉得 think | 总体 overall | 性价比 value for money | 星级 stars | 标准 standard
好 good | 不错 not bad | 还可以 all right | 一般 average | 差 bad | 太差 too bad | 失望 disappointed | 满意 satisfied | 推荐 recommend
不好 not good | 不会 will not | 没有 there is no | 再也 ever again | 下次 next time | 还是 still | 有点 a little | 太 too | 最 most | 都 all
大 large | 小 small | 近 near | 远 far | 老 old | 虽然 although | 但是 but | 但 but | 不过 however | 而且 and | 很 very | 非常 extremely
特别 particularly | 比较 rather | 不太 not very | 一点也不 not at all | 不 not | 和 and | 是 is | 我 I | 我们 we | 窗 window | 风景 view
"""


class Review(NamedTuple):
    """A review, its English, and the verdict, 1 for a good one."""

    text: str
    english: str
    verdict: int


def reviews(count: int, seed: int = SEED) -> list[Review]:
    """Different reviews, in a random order that the seed decides; as many good ones as bad ones, up to one."""
    rng = np.random.default_rng(seed)
    found: dict[str, Review] = {}
    while len(found) < count:
        review = _review(rng, len(found) % 2)
        found.setdefault(review.text, review)
    made = list(found.values())
    return [made[i] for i in rng.permutation(count)]


def gloss(text: str) -> list[tuple[str, str]]:
    """The known words of a text with their English, from left to right, the longest one at each place."""
    known, found, at = _dictionary(), [], 0
    longest = max(map(len, known))
    while at < len(text):
        word = next((text[at : at + n] for n in range(longest, 0, -1) if text[at : at + n] in known), "")
        if word:
            found.append((word, known[word]))
        at += max(len(word), 1)
    return found


# --- the grammar ----------------------------------------------------------------------------------------------


@cache
def _things() -> list[tuple[tuple[str, str], dict[int, list[tuple[str, str]]]]]:
    """(thing, what it can be by verdict), each word with its English."""
    rows = [[_pair(cell) for cell in line.split(" | ")] for line in THINGS.strip().splitlines()]
    return [(row[0], {BAD: row[1:3], GOOD: row[3:5]}) for row in rows]


def _pair(cell: str) -> tuple[str, str]:
    word, _, english = cell.partition(" ")
    return word, english


def _review(rng: np.random.Generator, verdict: int) -> Review:
    """One of five forms: a clause, two that agree, a clause with a closing word, and two with opposed clauses."""
    one, two = rng.choice(len(_things()), 2, replace=False)
    form = int(rng.integers(5))
    opposed = form > 2
    first, last = _clause(rng, int(one), 1 - verdict if opposed else verdict), _clause(rng, int(two), verdict)
    closing = CLOSING[verdict][int(rng.integers(3))]
    text, english = (
        ("{0}。", "{0}."),
        ("{0}，{1}。", "{0}, and {1}."),
        ("{0}，{2}。", "{0}; {2}."),
        ("虽然{0}，但是{1}。", "although {0}, {1}."),
        ("{0}，不过{1}。", "{0}, but {1}."),
    )[form]
    said = english.format(first[1], last[1], closing[1])
    return Review(text.format(first[0], last[0], closing[0]), said[0].upper() + said[1:], verdict)


def _clause(rng: np.random.Generator, thing: int, verdict: int) -> tuple[str, str]:
    """What one thing is: a word of this verdict, or the negation of one of the other."""
    (name, english), words = _things()[thing]
    forms, other = (NOT, 1 - verdict) if rng.random() < 0.4 else (MORE[verdict], verdict)
    form, word = forms[int(rng.integers(len(forms)))], words[other][int(rng.integers(2))]
    return name + form[0].format(word[0]), f"the {english} is {form[1].format(word[1])}"


@cache
def _dictionary() -> dict[str, str]:
    return dict(_known())


def _known() -> Iterator[tuple[str, str]]:
    yield from (_pair(cell) for line in WORDS.strip().splitlines() for cell in line.split(" | "))
    for thing, words in _things():
        yield thing
        yield from (*words[BAD], *words[GOOD])
    for closings in CLOSING.values():
        yield from closings
