"""How wide a table has to be: the same training at several widths and seeds, and the score of each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..random import seed as seed_all


class Run(NamedTuple):
    """One training. seconds: what it took; facts: the other numbers that came with the score."""

    dim: int
    seed: int
    score: float
    seconds: float
    facts: dict[str, float]


class Ablation:
    """The runs of `ablate_dimension`, in the order in which they ran."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = list(runs)

    def curve(self) -> dict[str, np.ndarray]:
        """Columns with one entry a width, ascending: dim, runs, mean, std (of the sample, 0 for one run),
        least, most of the scores, and seconds (mean). A run that ended in NaN makes its width's numbers
        NaN."""
        dims = sorted({run.dim for run in self.runs})
        groups = [[run for run in self.runs if run.dim == dim] for dim in dims]
        scores = [np.array([run.score for run in group]) for group in groups]
        return {
            "dim": np.array(dims),
            "runs": np.array([len(s) for s in scores]),
            "mean": np.array([s.mean() for s in scores]),
            "std": np.array([s.std(ddof=1) if len(s) > 1 else 0.0 for s in scores]),
            "least": np.array([s.min() for s in scores]),
            "most": np.array([s.max() for s in scores]),
            "seconds": np.array([np.mean([run.seconds for run in group]) for group in groups]),
        }

    def table(self) -> list[dict[str, float]]:
        """The curve as rows, with the mean of each of the runs' other numbers."""
        columns = self.curve()
        rows = [
            {key: column[i].item() for key, column in columns.items()} for i in range(len(columns["dim"]))
        ]
        for row in rows:
            facts = [run.facts for run in self.runs if run.dim == row["dim"]]
            # Facts that only some runs returned are left out: their mean would not be comparable.
            common = [key for key in facts[0] if all(key in other for other in facts)]
            row.update({key: float(np.mean([other[key] for other in facts])) for key in common})
        return rows

    def best(self) -> int:
        """The narrowest width that is as good as the best one: its mean is at most one standard error of the
        best mean below it (Breiman et al. 1984, "Classification and Regression Trees", section 3.4.3).
        ValueError where every width has a run that ended in NaN."""
        found = self.curve()
        usable = np.flatnonzero(~np.isnan(found["mean"]))
        if not usable.size:
            raise ValueError("best: expected a width whose runs all have a score, every one has a NaN")
        top = usable[np.argmax(found["mean"][usable])]
        enough = found["mean"][top] - found["std"][top] / math.sqrt(found["runs"][top])
        return int(found["dim"][usable[found["mean"][usable] >= enough][0]])

    def __repr__(self) -> str:
        return "\n".join(
            f"dim {row['dim']:>5}  {row['mean']:.4f} ± {row['std']:.4f}  ({row['runs']} runs, "
            f"{row['seconds']:.1f} s each)"
            for row in self.table()
        )


def ablate_dimension(
    build_and_score: Callable[[int, int], Any],
    dims: Sequence[int],
    seeds: Sequence[int] = (0, 1, 2),
    progress: Callable[[Run, int, int], None] | None = None,
) -> Ablation:
    """Call `build_and_score(dim, seed)` for every width and seed, and collect what it returns.

    build_and_score: builds and trains a model whose embeddings are `dim` wide; returns its score on data it
    was not trained on, a number of which more is better, or a dictionary with "score" and other numbers, such
    as the count of parameters. All generators are set to the seed before each call. The seeds are the outer
    loop, so that what is there after an interruption has every width. progress: called after each run with
    it, how many are done, and how many there will be.

    Raises ValueError for widths or seeds that repeat, widths below 1, and TypeError for a score that is no
    number.
    """
    for name, given in (("dims", dims), ("seeds", seeds)):
        if not given or len(set(given)) != len(given):
            raise ValueError(f"{name}: expected different integers, got {list(given)}")
        if any(isinstance(value, bool) or not isinstance(value, int | np.integer) for value in given):
            raise TypeError(f"{name}: expected integers, got {list(given)}")
    if min(dims) < 1:
        raise ValueError(f"dims: expected 1 or more, got {list(dims)}")
    runs: list[Run] = []
    for number in seeds:
        for dim in dims:
            seed_all(int(number))
            start = time.perf_counter()
            result = build_and_score(int(dim), int(number))
            score, facts = _score(result)
            runs.append(Run(int(dim), int(number), score, time.perf_counter() - start, facts))
            if progress is not None:
                progress(runs[-1], len(runs), len(dims) * len(seeds))
    return Ablation(runs)


def _score(result: Any) -> tuple[float, dict[str, float]]:
    if isinstance(result, Mapping) and "score" in result:
        facts = {str(key): float(value) for key, value in result.items() if key != "score"}
        return float(result["score"]), facts
    try:
        return float(result), {}
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"build_and_score: expected a number, or a dictionary with 'score', got {type(result).__name__}"
        ) from error
