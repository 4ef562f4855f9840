"""How often a cache of rows has the row that is asked for, measured on HybridEmbedding itself. No widget is known here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.work import Work, one_core_less

ROWS, DIM = 20_000, 16
LOOKUPS, WARM_UP, BATCH = 60_000, 20_000, 128  # look-ups measured, those before them, those of one call
SKEWS = tuple(k / 20 for k in range(41))  # 0 to 2
SHARES = (1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)  # per cent of the rows are at hand


@dataclass(frozen=True)
class Hits:
    """Of one size of the cache: `share` of the rows at hand, 0..1; `lru` the share of look-ups that found their row there;
    `best` what it would be if always the most frequent rows were at hand; `evicted` rows that gave way."""

    share: float
    lru: float
    best: float
    evicted: int


class HitMeasurement(Work):
    """Measures each of `shares` on one stream of ids, drawn by Zipf's law with this skew; `rows` grows meanwhile."""

    def __init__(
        self,
        skew: float,
        on_change: Callable[[Any], None] = lambda _: None,
        shares: tuple[int, ...] = SHARES,
    ) -> None:
        if skew < 0:
            raise ValueError(f"skew: expected 0 or more, got {skew}")
        super().__init__("hits", on_change)
        self.skew = skew
        self.rows: list[Hits] = []
        self._shares = shares

    @property
    def progress(self) -> float:
        return len(self.rows) / len(self._shares)

    def _work(self) -> None:
        from sampan.datasets.interactions import zipf

        self._running()
        one_core_less()
        ranks = zipf(WARM_UP + LOOKUPS, ROWS, self.skew, np.random.default_rng(0))
        spread = np.random.default_rng(1).permutation(ROWS)[
            ranks
        ]  # which row is frequent says nothing of where it lies
        for share in self._shares:
            row = self._measured(spread, ranks, share)
            if row is None:
                return
            self.rows.append(row)
            self._tell(every=0.1)

    def _measured(self, ids: Any, ranks: Any, share: int) -> Hits | None:
        import sampan
        from sampan.embedding import HybridEmbedding

        kept = ROWS * share // 100
        table = HybridEmbedding(ROWS, DIM, kept)
        table.eval()
        before = table.statistics()
        with sampan.no_grad():
            for begin in range(0, len(ids), BATCH):
                if self._cancel.is_set():
                    return None
                if begin <= WARM_UP < begin + BATCH:
                    before = table.statistics()
                table(sampan.to_tensor(ids[begin : begin + BATCH]))
        after = table.statistics()
        found, missed = (after[key] - before[key] for key in ("hits", "misses"))
        best = float((ranks[WARM_UP:] < kept).mean())
        return Hits(share / 100, found / (found + missed), best, int(after["evicted"] - before["evicted"]))
