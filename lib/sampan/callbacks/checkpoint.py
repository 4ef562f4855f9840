"""Checkpoints while training."""

import os
from pathlib import Path
from typing import Any

from ..optimizer.lr import _number
from .callback import Callback, Logs


class ModelCheckpoint(Callback):
    """Saves `save_dir/<epoch>.pdparams` and `.pdopt` every `save_freq` epochs, and `final` at the end.

    keep: how many of the numbered ones stay; older ones are removed after the new one is on the disk. None
    keeps all. A network with parameters that are not finite is never saved: FloatingPointError.
    """

    def __init__(
        self, save_freq: int = 1, save_dir: str | os.PathLike[str] | None = None, keep: int | None = None
    ) -> None:
        super().__init__()
        self.save_freq = _number(save_freq, "save_freq", 1, whole=True)
        self.keep = keep if keep is None else _number(keep, "keep", 1, whole=True)
        self.save_dir = None if save_dir is None else Path(save_dir)
        self._saved: list[int] = []

    def state_dict(self) -> dict[str, Any]:
        return {"saved": list(self._saved)}

    def set_state_dict(self, state: dict[str, Any]) -> None:
        self._saved = list(state["saved"])

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        if self.save_dir is None or (epoch + 1) % self.save_freq:
            return
        self.model.save(self.save_dir / str(epoch))
        self._saved = [e for e in self._saved if e != epoch] + [epoch]
        while self.keep is not None and len(self._saved) > self.keep:
            old = self._saved.pop(0)
            for suffix in (".pdparams", ".pdopt"):
                (self.save_dir / f"{old}{suffix}").unlink(missing_ok=True)

    def on_train_end(self, logs: Logs | None = None) -> None:
        if self.save_dir is not None:
            self.model.save(self.save_dir / "final")
