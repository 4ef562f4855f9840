"""Programs that write samples for data sets (Paddle's module `fleet.data_generator`): a subclass says what a
line of a file becomes, and is the `pipe_command` of a `DatasetBase`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]

Slots = Iterable[tuple[str, Iterable[Any]]]  # (name, values)


class DataGenerator:
    """Writes samples to the output. A subclass has `generate_sample`, perhaps `generate_batch`, and
    `_gen_str`."""

    def __init__(self) -> None:
        self.batch_size_ = 32

    def set_batch(self, batch_size: int) -> None:
        """How many samples `generate_batch` gets."""
        self.batch_size_ = batch_size

    def generate_sample(self, line: str | None) -> Callable[[], Iterator[Slots | None]]:
        """A function that gives the samples of a line, [(name, values), ...] each; None is left out."""
        raise NotImplementedError(f"{type(self).__name__}.generate_sample: write it in the subclass")

    def generate_batch(self, samples: list[Slots]) -> Callable[[], Iterator[Slots]]:
        """A function that gives the samples to write, for those of a batch: they themselves."""
        return lambda: iter(samples)

    def run_from_stdin(self) -> None:
        """Write the samples of the lines of the input."""
        self._write(sample for line in sys.stdin for sample in self.generate_sample(line)())

    def run_from_memory(self) -> None:
        """Write the samples of `generate_sample(None)`."""
        self._write(self.generate_sample(None)())

    def _write(self, samples: Iterable[Slots | None]) -> None:
        batch: list[Slots] = []
        for sample in samples:
            if sample is not None:
                batch.append(sample)
            if len(batch) == self.batch_size_:
                self._write_batch(batch)
                batch = []
        self._write_batch(batch)

    def _write_batch(self, batch: list[Slots]) -> None:
        for sample in self.generate_batch(batch)() if batch else ():
            sys.stdout.write(self._gen_str(sample))

    def _gen_str(self, line: Any) -> str:
        raise NotImplementedError(
            "pls use MultiSlotDataGenerator or MultiSlotStringDataGenerator, which have a form of lines"
        )


class MultiSlotDataGenerator(DataGenerator):
    """Lines that `DatasetBase` reads: for each slot how many values it has, then the values."""

    def _gen_str(self, line: Any) -> str:
        if not isinstance(line, list | tuple):
            raise ValueError(f"generate_sample: expected a list of (name, values), got {type(line).__name__}")
        slots = [[len(values), *values] for _, values in line]
        return " ".join(str(v) for slot in slots for v in slot) + "\n"


class MultiSlotStringDataGenerator(MultiSlotDataGenerator):
    """`MultiSlotDataGenerator` of strings, which are written as they are."""
