"""Which samples each process takes, however many processes there are.

The position in the data is one number: how many samples all processes together have taken. So training that
stops at some number of processes goes on with another one, in the middle of an epoch, and neither repeats nor
leaves out a sample.
"""

import numpy as np

from ...engine.errors import InvalidArgument


class Samples:
    """Numbers of samples, in batches that all processes share.

    count: how many samples there are. batch: samples in a step of all processes together; the last batch of
    an epoch may be smaller, or is left out with `drop_last`. seed: of the order, a new one in each epoch;
    None keeps the order 0, 1, 2, ...

    >>> from sampan.distributed.elastic import Samples
    >>> data = Samples(5, batch=4, seed=None)
    >>> data.part(0, rank=0, world=2).tolist(), data.part(0, rank=1, world=2).tolist()
    ([0, 1], [2, 3])
    >>> data.part(1, rank=0, world=2).tolist(), data.part(1, rank=1, world=2).tolist()
    ([4], [])
    """

    def __init__(self, count: int, batch: int, seed: int | None = 0, drop_last: bool = False) -> None:
        for name, value in {"count": count, "batch": batch}.items():
            if type(value) is not int or value < 1:
                raise InvalidArgument(f"{name}: expected a whole number of at least 1, got {value!r}")
        if drop_last and batch > count:
            raise InvalidArgument(f"batch: expected at most the {count} samples with drop_last, got {batch}")
        self.count, self.batch, self.seed, self.drop_last = count, batch, seed, drop_last
        self._epoch, self._order = -1, np.empty(0, np.int64)

    @property
    def steps_per_epoch(self) -> int:
        return self.count // self.batch if self.drop_last else -(-self.count // self.batch)

    def of_step(self, step: int) -> np.ndarray:
        """The samples of all processes in step 0, 1, 2, ...: int64 [batch or fewer]."""
        epoch, number = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            ordered = np.arange(self.count)
            if self.seed is not None:
                ordered = np.random.default_rng([self.seed, epoch]).permutation(self.count)
            self._epoch, self._order = epoch, ordered
        return self._order[number * self.batch : (number + 1) * self.batch]

    def part(self, step: int, rank: int, world: int) -> np.ndarray:
        """The samples of process `rank` of `world`: a contiguous part, of sizes that differ by one at most.
        It is empty where a batch has fewer samples than there are processes."""
        return np.array_split(self.of_step(step), world)[rank]

    def form(self) -> dict[str, object]:
        """What must be the same for a run to go on."""
        return {name: getattr(self, name) for name in ("count", "batch", "seed", "drop_last")}
