"""The settings of a run, and the parsing of typed text.

Nothing here imports the library, because the form is shown before the library is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MODELS = {"mlp": "MLP", "lenet": "LeNet"}
OPTIMIZERS = ("SGD", "Momentum", "Adam", "AdamW")
# Learning rates that work well on both data sets; the defaults of the form.
GOOD_RATES = {"SGD": 0.1, "Momentum": 0.03, "Adam": 0.001, "AdamW": 0.001}
# Data sets of handwritten digits for this page, largest first.
DATASETS = ("mnist", "digits")
DEVICES = ("cpu", "gpu")

MAX_BATCH = 4096
MAX_EPOCHS = 500


class SettingError(ValueError):
    """An invalid setting: its name, and the key of the sentence that says why."""

    def __init__(self, field: str, key: str, **values: object) -> None:
        super().__init__(f"{field}: {key.rpartition('.')[2]} {values}")
        self.field = field
        self.key = key
        self.values = values


@dataclass(frozen=True, slots=True)
class Settings:
    """One run: names as in the tables above, `device` "cpu" or "gpu"."""

    dataset: str
    model: str = "mlp"
    optimizer: str = "Adam"
    learning_rate: float = 0.001
    batch_size: int = 64
    epochs: int = 5
    device: str = "cpu"
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("dataset", self.dataset, DATASETS)
        _one_of("model", self.model, MODELS)
        _one_of("optimizer", self.optimizer, OPTIMIZERS)
        _one_of("device", self.device, DEVICES)
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise SettingError("learning_rate", "train.error.rate", got=self.learning_rate)
        _in_range("batch_size", self.batch_size, MAX_BATCH)
        _in_range("epochs", self.epochs, MAX_EPOCHS)

    @classmethod
    def from_text(cls, texts: Mapping[str, str]) -> Settings:
        """Settings from the texts of the form's fields. SettingError names the first field that is wrong."""
        return cls(
            dataset=texts["dataset"],
            model=texts["model"],
            optimizer=texts["optimizer"],
            learning_rate=_real("learning_rate", texts["learning_rate"]),
            batch_size=_whole("batch_size", texts["batch_size"], MAX_BATCH),
            epochs=_whole("epochs", texts["epochs"], MAX_EPOCHS),
            device=texts["device"],
        )


def errors_in(texts: Mapping[str, str]) -> list[SettingError]:
    """What is wrong with the texts of a form: an error for each field, in their order."""
    found = []
    for field, text in texts.items():
        try:
            Settings.from_text({**_FINE, field: text})
        except SettingError as error:
            found.append(error)
    return found


_FINE = {
    **{"dataset": DATASETS[0], "model": "mlp", "optimizer": "Adam", "device": "cpu"},
    **{"learning_rate": "0.001", "batch_size": "64", "epochs": "5"},
}


def _real(field: str, text: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise SettingError(field, "train.error.rate", got=text.strip()) from None


def _whole(field: str, text: str, most: int) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise SettingError(field, f"train.error.{field}", got=text.strip(), most=most) from None


def _in_range(field: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise SettingError(field, f"train.error.{field}", got=value, most=most)


def _one_of(field: str, value: str, allowed: Sequence[str] | Mapping[str, str]) -> None:
    if value not in allowed:
        raise SettingError(field, "train.error.choice", got=value, allowed=", ".join(allowed))
