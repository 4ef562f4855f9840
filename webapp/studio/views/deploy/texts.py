"""The reviews that a network of the page "Deploy" learns: real ones where their file is on this machine, and made ones
always. Independent of widgets; the library is imported by the calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import made_reviews
from .subject import Task

HOTEL = "hotel_reviews"  # the data set of the library
MOST = 2000  # characters of the real reviews; all others are one
LONGEST, MADE_LONGEST = 64, 28
MADE, MADE_TEST = 4000, 800


@dataclass(frozen=True)
class Reviews(Task):
    """letters: how a text becomes ids [longest]. texts: of the test part; english: the same where it is known, else empty."""

    letters: Any
    texts: tuple[str, ...]
    english: tuple[str, ...] = ()

    def beside(self) -> dict[str, str]:
        characters = ["", "", *self.letters.number]
        return {"characters.json": json.dumps(characters, ensure_ascii=False) + "\n"}

    def usage(self, folder: str) -> list[str]:
        return [
            "import json, pathlib",
            f'characters = json.loads(pathlib.Path("{folder}/characters.json").read_text("utf-8"))',
            "number = {character: i for i, character in enumerate(characters)}",
            f'ids = [number.get(character, 1) for character in "{self.texts[0][:12]}"]',
            f"ids += [0] * ({self.letters.longest} - len(ids))",
            "network(paddle.to_tensor([ids]))  # logits: bad, good",
        ]


@cache
def made() -> Reviews:
    """Reviews that a grammar makes; none of the test part is in the other one."""
    found = made_reviews.reviews(MADE + MADE_TEST)
    texts, labels = [one.text for one in found], np.array([one.verdict for one in found], np.int64)
    english = tuple(one.english for one in found[MADE:])
    return _task("made", texts[:MADE], labels[:MADE], texts[MADE:], labels[MADE:], MADE_LONGEST, english)


@cache
def hotel() -> Reviews:
    """The data set hotel_reviews. FileNotFoundError, which says how to get it, where it is not on this machine."""
    import sampan

    found = sampan.datasets.load_texts(HOTEL)
    train, test = found.train, found.test
    return _task(found.card.origin, train.texts, train.labels, test.texts, test.labels, LONGEST)


def _task(
    origin: str,
    train: list[str],
    train_labels: NDArray[np.int64],
    test: list[str],
    test_labels: NDArray[np.int64],
    longest: int,
    english: tuple[str, ...] = (),
) -> Reviews:
    from .reader import Letters

    letters = Letters(train, MOST, longest)
    ids = letters.ids(train), train_labels, letters.ids(test), test_labels
    return Reviews("reviews", origin, *ids, letters, tuple(test), english)


def network(task: Task) -> Any:
    """An encoder of characters with random weights, for the ids of these reviews."""
    import sampan

    from .reader import Reader

    assert isinstance(task, Reviews)
    sampan.seed(0)
    return Reader(len(task.letters), task.letters.longest)
