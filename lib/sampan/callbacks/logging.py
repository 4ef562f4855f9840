"""Training written down for a page that draws it: TensorBoard's event files, or wandb."""

import os
import struct
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from .callback import Callback, Logs


@cache
def _table() -> list[int]:
    """CRC-32C (Castagnoli) of every byte."""
    made = list(range(256))
    for _ in range(8):
        made = [(c >> 1) ^ (0x82F63B78 if c & 1 else 0) for c in made]
    return made


def _masked_crc(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _table()[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer with a length: text, or a message."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


class EventFile:
    """A file that TensorBoard reads: records of length, checksum, `Event` message, checksum (TFRecord)."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns() // 1000:017d}.{os.getpid()}.sampan"
        self.file = open(Path(folder) / name, "wb")  # noqa: SIM115  closed at the end of training
        self._write(_field(3, b"brain.Event:2"))

    def _write(self, content: bytes) -> None:
        event = b"\x09" + struct.pack("<d", time.time()) + content
        length = struct.pack("<Q", len(event))
        self.file.write(length + _masked_crc(length) + event + _masked_crc(event))
        self.file.flush()

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        entry = _field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
        self._write(b"\x10" + _varint(step) + _field(5, _field(1, entry)))

    def close(self) -> None:
        self.file.close()


class _Writer(Callback):
    """Numbers in the logs, as train/loss by training step and eval/loss by epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.train_step = self.epoch = 0
        self.training = False

    def write(self, mode: str, numbers: dict[str, float], step: int) -> None:
        raise NotImplementedError("write: write it in the subclass")

    def finish(self) -> None:
        """Training, or an evaluation by itself, is over."""

    def state_dict(self) -> dict[str, Any]:
        return {"train_step": self.train_step}

    def set_state_dict(self, state: dict[str, Any]) -> None:
        self.train_step = state["train_step"]

    def _note(self, mode: str, logs: Logs | None, step: int) -> None:
        given = {k: v[0] if isinstance(v, list | tuple) and v else v for k, v in (logs or {}).items()}
        names = self.params.get("metrics") or given
        numbers = {k: float(v) for k, v in given.items() if k in names and isinstance(v, int | float)}
        self.write(mode, numbers, step)

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self.training, self.train_step = True, 0

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self.epoch = epoch

    def on_train_batch_end(self, step: int, logs: Logs | None = None) -> None:
        self.train_step += 1
        self._note("train", logs, self.train_step)

    def on_eval_end(self, logs: Logs | None = None) -> None:
        self._note("eval", logs, self.epoch)
        if not self.training:
            self.finish()

    def on_train_end(self, logs: Logs | None = None) -> None:
        self.training = False
        self.finish()


class VisualDL(_Writer):
    """Writes an event file into log_dir: `tensorboard --logdir` shows it, and VisualDL's importer reads
    it."""

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        super().__init__()
        self.log_dir = log_dir
        self._file: EventFile | None = None

    def write(self, mode: str, numbers: dict[str, float], step: int) -> None:
        self._file = self._file or EventFile(self.log_dir)
        for name, value in numbers.items():
            self._file.add_scalar(f"{mode}/{name}", value, step)

    def finish(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None


class WandbCallback(_Writer):
    """Sends the numbers to Weights and Biases. ModuleNotFoundError, with what to do, where wandb is not
    installed."""

    def __init__(self, project=None, entity=None, name=None, dir=None, mode=None, job_type=None, **kwargs):
        super().__init__()
        try:
            wandb = import_module("wandb")
        except ImportError as error:
            raise ModuleNotFoundError("WandbCallback needs wandb: pip install wandb") from error
        settings = dict(project=project, entity=entity, name=name, dir=dir, mode=mode, job_type=job_type)
        self.run = wandb.run or wandb.init(**settings, **kwargs)

    def write(self, mode: str, numbers: dict[str, float], step: int) -> None:
        place = {"train/step": step} if mode == "train" else {"epoch": step}
        self.run.log({**place, **{f"{mode}/{name}": value for name, value in numbers.items()}})

    def finish(self) -> None:
        self.run.finish()
