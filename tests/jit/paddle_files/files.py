"""The recorded files of PaddlePaddle (record.py)."""

import zipfile
from pathlib import Path

import numpy as np


def unpacked(folder: Path) -> None:
    """Put all files into a folder."""
    with zipfile.ZipFile(Path(__file__).with_name("recorded.zip")) as held:
        held.extractall(folder)


def answers(folder: Path, name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs and what PaddlePaddle answered."""
    with np.load(folder / f"{name}.npz") as held:
        found = {key: held[key] for key in held.files}
    return tuple([found[f"{kind}{i}"] for i in range(sum(k[0] == kind for k in found))] for kind in "xy")  # type: ignore[return-value]  # of two lists
