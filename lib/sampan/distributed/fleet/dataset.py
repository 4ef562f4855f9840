"""Files of samples for `static.Executor.train_from_dataset` (Paddle's modules `fleet.dataset` and
`paddle.distributed`).

A line is a sample: for each slot, in the order of `use_var`, how many values it has, then the values. Such
lines are what a `MultiSlotDataGenerator` writes; `pipe_command` makes them from files of another form.

A slot has as many values in each sample. PaddlePaddle 3.3.1 takes other counts (`lod_level=1`) only in its
old static mode (`FLAGS_enable_pir_api=0`): in the usual one neither its data sets nor its sequence layers,
such as `static.nn.sequence_pool`, run. These layers, which are to be removed there, do not exist here.
"""

from __future__ import annotations

import math
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ...engine.errors import InvalidArgument
from ..environment import get_rank, get_world_size, is_initialized
from ..objects import all_gather_object

__all__ = ["DatasetBase", "InMemoryDataset", "QueueDataset"]

Sample = list[np.ndarray]  # by slot
_DEFAULTS: dict[str, Any] = {
    "batch_size": 1, "thread_num": 1, "use_var": (), "pipe_command": "cat", "input_type": 0, "fs_name": "",
    "fs_ugi": "", "download_cmd": "cat", "queue_num": -1,
}  # fmt: skip  # a table
_KINDS: dict[Any, np.dtype[Any]] = {torch.float32: np.dtype("float32"), torch.int64: np.dtype("int64")}


class DatasetBase:
    """Samples of files, in the order of the files: `init`, then `set_filelist`. One thread reads, whatever
    `thread_num` is."""

    def __init__(self) -> None:
        self._settings = dict(_DEFAULTS)
        self.thread_num, self.filelist = 1, list[str]()
        self._slots: list[tuple[str, np.dtype[Any]]] = []

    def init(self, **settings: Any) -> None:
        """batch_size; use_var: variables of `static.data`, float32 or int64; pipe_command: a shell command
        that gets a file and writes samples. ValueError for another dtype, InvalidArgument for another
        setting."""
        self._settings = dict(_DEFAULTS)
        self._take(settings)

    def _take(self, settings: dict[str, Any]) -> None:
        if unknown := sorted(set(settings) - set(_DEFAULTS)):
            raise InvalidArgument(f"init: expected one of {', '.join(_DEFAULTS)}, got {unknown[0]!r}")
        self._settings.update(settings)
        self.thread_num = self._settings["thread_num"]
        self._slots = []
        for variable in self._settings["use_var"]:
            kind = _KINDS.get(variable.data.dtype)
            if kind is None:
                raise ValueError(
                    "Currently, paddle.distributed.fleet.dataset only supports dtype=float32 and dtype=int64"
                )
            self._slots.append((variable.name, kind))

    def set_filelist(self, filelist: Sequence[str]) -> None:
        """The files to read."""
        self.filelist = list(filelist)

    def feeds(self, specs: Iterable[Any]) -> Iterator[dict[str, np.ndarray]]:
        """What `Executor.run` is fed, batch by batch. specs: the inputs of a Program; slots that it does not
        have are left out."""
        shapes = {spec.name: list(spec.shape) for spec in specs}
        batch: list[Sample] = []
        for sample in self._samples():
            batch.append(sample)
            if len(batch) == self._settings["batch_size"]:
                yield self._feed(batch, shapes)
                batch = []
        if batch:
            yield self._feed(batch, shapes)

    def _feed(self, batch: list[Sample], shapes: dict[str, list[int]]) -> dict[str, np.ndarray]:
        fed = {}
        for place, (name, _) in enumerate(self._slots):
            if name not in shapes:
                continue
            each, shape = [sample[place] for sample in batch], shapes[name][1:]
            counts = {len(values) for values in each}
            known = math.prod(length for length in shape if length != -1)
            if len(counts) > 1 or (max(counts) != known if -1 not in shape else max(counts) % known):
                raise InvalidArgument(
                    f"slot {name!r}: its samples have {', '.join(map(str, sorted(counts)))} values, and its "
                    f"variable has the shape {shapes[name]}; let pipe_command fill samples up to one "
                    "length, with an id that is the embedding's padding_idx"
                )
            fed[name] = np.stack(each).reshape(len(batch), *shape)
        return fed

    def _samples(self) -> Iterator[Sample]:
        return self._read()

    def _read(self) -> Iterator[Sample]:
        """The samples of the files. CalledProcessError where the command fails."""
        command = self._settings["pipe_command"]
        for path in self.filelist:
            with open(path, "rb") as file:
                if command == "cat":
                    yield from map(self._parsed, file, _places(path))
                    continue
                with subprocess.Popen(command, shell=True, stdin=file, stdout=subprocess.PIPE) as process:
                    assert process.stdout is not None
                    yield from map(self._parsed, process.stdout, _places(f"{path} | {command}"))
                if process.returncode:
                    raise subprocess.CalledProcessError(process.returncode, command)

    def _parsed(self, line: bytes, place: str) -> Sample:
        words, at, sample = line.split(), 0, []
        for name, kind in self._slots:
            try:
                count = int(words[at])
                values = words[at + 1 : at + 1 + count]
                if len(values) != count or count < 1:
                    raise ValueError
                if kind.kind == "f":
                    sample.append(np.array(values, kind))
                else:  # an id is a number of 64 bits, without a sign in Paddle's files
                    sample.append(np.array([int(word) % 2**64 for word in values], np.uint64).view(np.int64))
            except (ValueError, IndexError):
                raise InvalidArgument(
                    f"{place}: slot {name!r}: expected how many values it has (at least 1) and the values, "
                    f"got {b' '.join(words[at : at + 8]).decode(errors='replace')!r}"
                ) from None
            at += 1 + count
        if at < len(words):
            raise InvalidArgument(
                f"{place}: {len(words) - at} words follow the slots {[name for name, _ in self._slots]}: "
                "use_var: expected a variable for each slot of a line"
            )
        return sample


def _places(path: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{path}:{number}"


class QueueDataset(DatasetBase):
    """Samples that are read while a Program trains, and not kept."""


class InMemoryDataset(DatasetBase):
    """Samples in memory, which can be shuffled, by NumPy's generator: `load_into_memory` reads the files."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[Sample] = []
        self._reader: threading.Thread | None = None
        self._failed: list[BaseException] = []

    def update_settings(self, **settings: Any) -> None:
        """Change settings of `init`."""
        self._take(settings)

    def load_into_memory(self, is_shuffle: bool = False) -> None:
        """Read all files."""
        self._kept = list(self._read())
        if is_shuffle:
            self.local_shuffle()

    def preload_into_memory(self, thread_num: int | None = None) -> None:
        """`load_into_memory` in another thread, until `wait_preload_done`."""

        def read() -> None:
            try:
                self.load_into_memory()
            except BaseException as error:  # raised by wait_preload_done
                self._failed.append(error)

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()

    def wait_preload_done(self) -> None:
        """Wait for `preload_into_memory`, and raise its error."""
        if self._reader is not None:
            self._reader.join()
            self._reader = None
        if self._failed:
            raise self._failed.pop()

    def local_shuffle(self) -> None:
        """Shuffle the samples of this process."""
        self._kept = [self._kept[place] for place in np.random.permutation(len(self._kept))]

    def global_shuffle(self, fleet: Any = None, thread_num: int = 12) -> None:
        """Shuffle the samples of all connected processes, which all must call it. Each then has an equal
        part."""
        if not is_initialized():
            return self.local_shuffle()
        parts: list[Any] = _everyones((np.random.randint(2**31), self._kept))
        every = [sample for _, kept in parts for sample in kept]
        order = np.random.RandomState(parts[0][0]).permutation(len(every))
        self._kept = [every[place] for place in order[get_rank() :: get_world_size()]]

    def slots_shuffle(self, slots: Sequence[str]) -> None:
        """Give the values of each of these slots to other samples, to see what the slot is worth."""
        names = [name for name, _ in self._slots]
        for slot in slots:
            if slot not in names:
                raise InvalidArgument(f"slots_shuffle: slots: expected some of {names}, got {slot!r}")
            place = names.index(slot)
            order = np.random.permutation(len(self._kept))
            values = [self._kept[other][place] for other in order]
            self._kept = [
                [*sample[:place], value, *sample[place + 1 :]]
                for sample, value in zip(self._kept, values, strict=True)
            ]

    def get_memory_data_size(self, fleet: Any = None) -> int:
        """How many samples are in memory; those of all connected processes where `fleet` is given."""
        if fleet is None or not is_initialized():
            return len(self._kept)
        return sum(_everyones(len(self._kept)))

    get_shuffle_data_size = get_memory_data_size

    def release_memory(self) -> None:
        """Forget the samples."""
        self._kept = []

    def set_date(self, date: str) -> None:
        """The day of the samples, such as "20261126": it is kept in `date`."""
        self.date = date

    def _samples(self) -> Iterator[Sample]:
        self.wait_preload_done()
        return iter(self._kept)


def _everyones(value: Any) -> list[Any]:
    """The values of all processes, by rank. The exchange is not recorded in the Program being built."""
    found: list[Any] = []
    with torch._C.DisableTorchFunction():
        all_gather_object(found, value)
    return found
