"""The hit rate of a cache of rows, measured on HybridEmbedding. Independent of widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.work import Work, one_core_less

ROWS, DIM = 20_000, 16
LOOKUPS, WARM_UP, BATCH = 60_000, 20_000, 128  # look-ups measured, those before them, those of one call
SKEWS = tuple(k / 20 for k in range(41))  # 0 to 2
SHARES = (1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)  # per cent of the rows are cached


@dataclass(frozen=True)
class Hits:
    """One cache size: `share` of the rows that are cached, 0..1; `lru` the measured hit rate; `best` the hit rate
    if the most frequent rows were always cached; `evicted` the number of evictions."""

    share: float
    lru: float
    best: float
    evicted: int


class HitMeasurement(Work):
    """Measures each of `shares` on one stream of ids, drawn by Zipf's law with this skew; `rows` is filled
    meanwhile."""

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
        ]  # the frequency of a row must not depend on its position
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
