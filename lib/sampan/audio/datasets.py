"""Paddle's data sets of sounds, from local folders: nothing is downloaded."""

import csv
from pathlib import Path
from typing import Any, ClassVar

from ..datasets import places
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..io import Dataset
from ..speech.files import load
from .features import MFCC, LogMelSpectrogram, MelSpectrogram, Spectrogram

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

__all__ = ["ESC50", "TESS"]

_FEATURES: dict[str, Any] = {
    "raw": None,
    "melspectrogram": MelSpectrogram,
    "mfcc": MFCC,
    "logmelspectrogram": LogMelSpectrogram,
    "spectrogram": Spectrogram,
}


def _folder(name: str, source: str) -> Path:
    """The folder of an unpacked archive, in `SAMPAN_DATA`, the user's cache, or where Paddle keeps its
    own."""
    searched = [*places.folders(), Path.home() / ".cache" / "paddle" / "dataset"]
    found = next((place / name for place in searched if (place / name).is_dir()), None)
    if found is None:
        raise FileNotFoundError(
            f"there is no folder {name} in {', '.join(map(str, searched))}; unpack {source} in one of them"
        )
    return found


class AudioClassificationDataset(Dataset):
    """Sound files with labels: item i is (waveform [samples] or features [columns, frames], label).

    files: paths of recordings of one channel. labels: ints. feat_type: "raw", "spectrogram",
    "melspectrogram", "logmelspectrogram" or "mfcc"; kwargs: settings of that layer. Raises ValueError for
    another feat_type.
    """

    def __init__(
        self, files: Any, labels: Any, feat_type: str = "raw", sample_rate: int | None = None, **kwargs: Any
    ) -> None:
        if feat_type not in _FEATURES:
            raise InvalidArgument(f"feat_type: expected one of {', '.join(_FEATURES)}, got {feat_type!r}")
        self.files, self.labels = files, labels
        self.feat_type, self.sample_rate, self.feat_config = feat_type, sample_rate, kwargs

    def __getitem__(self, idx: int) -> tuple[Tensor, int]:
        waveform, self.sample_rate = load(self.files[idx])
        if waveform.shape[0] != 1:
            raise InvalidArgument(f"{self.files[idx]}: expected one channel, got {waveform.shape[0]}")
        layer = _FEATURES[self.feat_type]
        if layer is None:
            return waveform.squeeze(0), self.labels[idx]
        rate = {} if self.feat_type == "spectrogram" else {"sr": self.sample_rate}
        return layer(**rate, **self.feat_config)(waveform).squeeze(0), self.labels[idx]

    def __len__(self) -> int:
        return len(self.files)


class ESC50(AudioClassificationDataset):
    """2,000 recordings of 5 s at 44.1 kHz in 50 classes of sounds of the environment (K. J. Piczak, 2015).

    Read from a folder `ESC-50-master` (meta/esc50.csv, audio/*.wav). mode: "train" for four folds, anything
    else for fold `split`, 1 to 5. feat_type, kwargs: see `AudioClassificationDataset`. Raises
    FileNotFoundError without the folder.
    """

    archive: ClassVar[dict[str, str]] = {
        "url": "https://paddleaudio.bj.bcebos.com/datasets/ESC-50-master.zip"
    }
    # fmt: off
    label_list: ClassVar[list[str]] = [
        "Dog", "Rooster", "Pig", "Cow", "Frog", "Cat", "Hen", "Insects (flying)", "Sheep", "Crow", "Rain",
        "Sea waves", "Crackling fire", "Crickets", "Chirping birds", "Water drops", "Wind", "Pouring water",
        "Toilet flush", "Thunderstorm", "Crying baby", "Sneezing", "Clapping", "Breathing", "Coughing",
        "Footsteps", "Laughing", "Brushing teeth", "Snoring", "Drinking, sipping", "Door knock",
        "Mouse click", "Keyboard typing", "Door, wood creaks", "Can opening", "Washing machine",
        "Vacuum cleaner", "Clock alarm", "Clock tick", "Glass breaking", "Helicopter", "Chainsaw", "Siren",
        "Car horn", "Engine", "Train", "Church bells", "Airplane", "Fireworks", "Hand saw",
    ]
    # fmt: on

    def __init__(
        self, mode: str = "train", split: int = 1, feat_type: str = "raw", archive: Any = None, **kwargs: Any
    ) -> None:
        if split not in range(1, 6):
            raise InvalidArgument(f"split: expected an integer from 1 to 5, got {split}")
        folder = _folder("ESC-50-master", (archive or self.archive)["url"])
        with (folder / "meta" / "esc50.csv").open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if (int(row["fold"]) != split) == (mode == "train")]
        files = [str(folder / "audio" / row["filename"]) for row in rows]
        super().__init__(files, [int(row["target"]) for row in rows], feat_type, **kwargs)


class TESS(AudioClassificationDataset):
    """2,800 recordings "Say the word ..." by two actresses in seven emotions (Toronto emotional speech set,
    2010).

    Read from a folder `TESS_Toronto_emotional_speech_set` with files such as `OAF_back_angry.wav` at any
    depth, in the order of their paths. mode: "train" for all folds but `split`, anything else for fold
    `split`, 1 to n_folds. Raises FileNotFoundError without the folder.
    """

    archive: ClassVar[dict[str, str]] = {
        "url": "https://bj.bcebos.com/paddleaudio/datasets/TESS_Toronto_emotional_speech_set.zip"
    }
    label_list: ClassVar[list[str]] = [
        "angry",
        "disgust",
        "fear",
        "happy",
        "neutral",
        "ps",
        "sad",
    ]  # ps: pleasant surprise

    def __init__(
        self,
        mode: str = "train",
        n_folds: int = 5,
        split: int = 1,
        feat_type: str = "raw",
        archive: Any = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(n_folds, int) or n_folds < 1:
            raise InvalidArgument(f"n_folds: expected an integer of at least 1, got {n_folds}")
        if split not in range(1, n_folds + 1):
            raise InvalidArgument(f"split: expected an integer from 1 to {n_folds}, got {split}")
        folder = _folder("TESS_Toronto_emotional_speech_set", (archive or self.archive)["url"])
        paths = sorted(folder.rglob("*.wav"))
        chosen = [p for i, p in enumerate(paths) if (i % n_folds + 1 != split) == (mode == "train")]
        labels = [self.label_list.index(path.stem.split("_")[2]) for path in chosen]
        super().__init__([str(path) for path in chosen], labels, feat_type, **kwargs)
