"""Training of embedding rows: words by skip-gram, films by two towers. Independent of widgets. Readers get a
`Table`, an immutable snapshot taken between two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.curves import Curve
from ..common.work import Work, one_core_less
from . import data

DIMS = (16, 32, 64, 100, 200)
SPEED_S = 0.15  # of training over which the speed is averaged
LOOK_S, LOOKS = 1.0, 12  # seconds between two snapshots at least, and about how many in total


@dataclass(frozen=True)
class Table:
    """A snapshot of the rows: `labels` [n], `vectors` float32 [n, dim], `counts` int64 [n], how often each was in
    the data. The most frequent come first."""

    labels: list[str]
    vectors: NDArray[np.float32]
    counts: NDArray[np.int64]

    def number(self, label: str) -> int | None:
        """The number of the row with this label."""
        return self._numbers.get(label)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        last = len(self.labels) - 1  # of two with the same label, the more frequent one
        return {label: last - number for number, label in enumerate(reversed(self.labels))}

    def nearest(self, number: int, most: int = 10) -> list[tuple[int, float]]:
        """(number, cosine) of the rows with the largest cosine to this one."""
        return self._nearest(self._unit[number], [number], most)

    def analogy(self, a: int, b: int, c: int, most: int = 10) -> list[tuple[int, float]]:
        """What is to row c as b is to a: the rows nearest to b - a + c, of rows of length 1, without the three."""
        return self._nearest(self._unit[b] - self._unit[a] + self._unit[c], [a, b, c], most)

    @cached_property
    def _unit(self) -> NDArray[np.float32]:
        return self.vectors / np.maximum(np.linalg.norm(self.vectors, axis=1, keepdims=True), 1e-12)

    def _nearest(self, vector: NDArray[np.float32], without: list[int], most: int) -> list[tuple[int, float]]:
        cosines = self._unit @ (vector / max(float(np.linalg.norm(vector)), 1e-12))
        cosines[without] = -np.inf
        order = np.argsort(-cosines, kind="stable")[: min(most, len(cosines) - len(set(without)))]
        return [(int(i), float(cosines[i])) for i in order]


class VectorRun(Work):
    """Trains rows on `source`. `on_change` is called a few times a second, `on_look` when `table` is new.

    `curves` are over seconds; `facts` has other figures of the present state.
    """

    lines: tuple[str, ...] = ()

    def __init__(
        self,
        source: str,
        dim: int,
        epochs: int,
        on_change: Callable[[Any], None] = lambda _: None,
        on_look: Callable[[Any], None] = lambda _: None,
    ) -> None:
        if dim < 1 or epochs < 1:
            raise ValueError(f"dim, epochs: expected 1 or more, got {dim} and {epochs}")
        super().__init__(type(self).__name__, on_change)
        self.source, self.dim, self.epochs = source, dim, epochs
        self.curves = {name: Curve() for name in self.lines}
        self.epoch = 0
        self.loss: float | None = None
        self.table: Table | None = None
        self._on_look = on_look
        self._share = 0.0

    @property
    def progress(self) -> float:
        return self._share

    def _steps(self) -> Generator[Any, None, None]:
        """The library's training steps, after the data are read."""
        raise NotImplementedError

    def _step(self, step: Any) -> None:
        """Records the figures of a step."""

    def _taken(self) -> Table:
        """The present rows."""
        raise NotImplementedError

    def _work(self) -> None:
        one_core_less()
        looked = 0.0
        with closing(self._steps()) as steps:
            for step in steps:
                self._share = step.done
                if not self._began and step.done > 0:  # the time before the first of them is compilation
                    self._running()
                if np.isfinite(
                    step.loss
                ):  # NaN before the first step and for a window without training pairs
                    self.loss = float(step.loss)
                    self.curves["loss"].add(self.seconds, self.loss)
                self._step(step)
                if self._cancel.is_set():
                    break
                whole = self.seconds + (self.seconds_left or 0.0)
                if self.seconds - looked >= max(LOOK_S, whole / LOOKS):
                    self._look()
                    looked = self.seconds
                self._tell(every=0.2)
        if self._began:
            self._look()

    def _look(self) -> None:
        table = self._taken()
        if not np.isfinite(table.vectors).all():
            raise FloatingPointError("the rows contain NaN or infinity")
        self.table = table
        self._on_look(self)


class WordRun(VectorRun):
    """Skip-gram with negative sampling on a text's words; `model` is the library's WordVectors."""

    lines = ("loss", "speed")

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.model: Any = None
        self.words_per_second: float | None = None
        self._words = self._window = 0  # words trained on so far, and since the last point of the curve
        self._spent = 0.0  # seconds of training in that window

    def _steps(self) -> Generator[Any, None, None]:
        from sampan.text.word_vectors import WordVectors

        sentences = data.sentences(self.source)
        if self._cancel.is_set():
            return
        self.model = WordVectors(dim=self.dim, epochs=self.epochs)
        yield from self.model.train(sentences)

    def _step(self, step: Any) -> None:
        self.epoch = min(step.epoch + 1, self.epochs)
        count, self._words = step.words - self._words, step.words
        self._window, self._spent = self._window + count, self._spent + count / step.words_per_second
        short = self._spent < SPEED_S  # too few sentences are left in an epoch for a measurement
        if short and (step.done < 1 or self.words_per_second is not None):
            return
        self.words_per_second = self._window / max(self._spent, 1e-9)
        self.curves["speed"].add(self.seconds, self.words_per_second / 1000)
        self._window, self._spent = 0, 0.0

    def _taken(self) -> Table:
        return Table(list(self.model.words), np.array(self.model.vectors), np.array(self.model.counts))


class FilmRun(VectorRun):
    """Two towers, of people and of films; `model` is the library's TwoTower.

    `order` is the film of each row of the table, `updates` how often that row was updated. title_of: the label of a
    film without a title.
    """

    lines = ("loss", "hit_rate")

    def __init__(self, *given: Any, title_of: Callable[[int], str] = str, **named: Any) -> None:
        super().__init__(*given, **named)
        self.model: Any = None
        self.ratings: Any = None
        self.held: Any = None
        self.hit_rate: float | None = None
        self.popular: float | None = None  # HitRate@10 of always recommending the films with the most ratings
        self.order: NDArray[np.int64] = np.empty(0, np.int64)
        self.updates: NDArray[np.int64] = np.empty(0, np.int64)
        self._title_of = title_of
        self._labels: list[str] = []
        self._counts: NDArray[np.int64] = np.empty(0, np.int64)
        self._watch: Any = None

    def _steps(self) -> Generator[Any, None, None]:
        import sampan
        from sampan.datasets.interactions import leave_last_out
        from sampan.embedding.monitor import monitor
        from sampan.models.recommender import TwoTower, train_two_tower

        ratings = self.ratings = data.ratings(self.source)
        train, self.held = leave_last_out(ratings)
        counts = np.bincount(train.items, minlength=ratings.num_items)
        self.order = np.argsort(-counts, kind="stable")
        self._counts = counts[self.order]
        self.popular = popular_hit_rate(train, self.held, counts)
        self._labels = [ratings.titles[i] if ratings.titles else self._title_of(int(i)) for i in self.order]
        sampan.seed(0)
        self.model = TwoTower(ratings.num_users, ratings.num_items, self.dim)
        if self._cancel.is_set():
            return
        with monitor(self.model.items) as self._watch:
            yield from train_two_tower(train, self.epochs, self.model, self.held)

    def _step(self, step: Any) -> None:
        self.epoch = min(step.epoch + 1, self.epochs)
        if self.hit_rate != step.hit_rate or step.done == 1:  # it is measured after each epoch
            self.curves["hit_rate"].add(self.seconds, step.hit_rate)
        self.hit_rate = float(step.hit_rate)

    def _taken(self) -> Table:
        self.updates = np.asarray(self._watch.updates)[self.order].astype(np.int64)
        return Table(self._labels, self.model.item_vectors()[self.order], self._counts)


def popular_hit_rate(train: Any, held: Any, counts: NDArray[np.int64]) -> float:
    """HitRate@10 on the held-out films of the same advice for everyone: the films with the most ratings (`counts`), without
    those that the person has rated. Ties count against the target, as in `sampan.models.recommender.ranks`."""
    from sampan.models.recommender import hit_rate, ranks

    row = np.full(int(max(train.users.max(), held.users.max())) + 1, -1)
    row[held.users] = np.arange(len(held))
    seen = row[train.users] >= 0
    scores = np.broadcast_to(counts, (len(held), len(counts)))
    return hit_rate(ranks(scores, held.items, (row[train.users[seen]], train.items[seen])))
