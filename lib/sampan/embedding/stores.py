"""The store behind a cache: all rows of one array, in memory or in a file, in float32 or in fewer bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from ..kernels import cpu_embedding_cache as loops
from ..kernels.arena import reserved

# NumPy has no bfloat16: its bits are kept.
WORDS = {"float32": np.float32, "float16": np.float16, "bfloat16": np.int16, "int8": np.int8}
KINDS = tuple(WORDS)


def sizes(count: int, width: int, kind: str) -> dict[str, int]:
    """The endings of a store's files, and their bytes."""
    return {".bin": count * width * np.dtype(WORDS[kind]).itemsize} | (
        {".scale.bin": count * 4} if kind == "int8" else {}
    )


def array(path: Path | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory that is taken as it is written, or a file's, made now where there is none."""
    if path is None:
        return reserved(shape, dtype)
    return np.memmap(path, dtype, "r+" if path.exists() else "w+", shape=shape)


class Store:
    """Rows [count, width] of floats. kind: "float32", half as many bytes ("float16", "bfloat16"), or a
    quarter ("int8").

    int8: a row is round(127 x / m) and m, the largest of its absolute values (Guan et al. 2019, section 2.1).
    What is computed with is float32 in any case; a row is rounded only when it leaves.
    """

    def __init__(self, count: int, width: int, kind: str = "float32", path: Path | None = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"store: expected one of {', '.join(KINDS)}, got {kind!r}")
        self.kind = kind
        self.arrays = [array(path and path.with_suffix(".bin"), (count, width), np.dtype(WORDS[kind]))]
        self._rows = torch.from_numpy(self.arrays[0])
        if kind == "bfloat16":
            self._rows = self._rows.view(torch.bfloat16)
        if kind == "int8":
            self.arrays.append(array(path and path.with_suffix(".scale.bin"), (count,), np.dtype(np.float32)))

    def write(self, rows: np.ndarray, here: np.ndarray, places: np.ndarray) -> None:
        """Take the rows at `places` of `here`, float32."""
        if self.kind == "float32":
            loops.copy_rows(self.arrays[0], rows, here, places)
            return
        values, at = torch.from_numpy(here).index_select(0, torch.from_numpy(places)), torch.from_numpy(rows)
        if self.kind == "int8":
            largest = values.abs().amax(1) if values.numel() else values.new_zeros(len(values))
            self.arrays[1][rows] = largest.numpy()
            values = (values * (127 / largest.clamp(min=torch.finfo(torch.float32).tiny))[:, None]).round_()
        self._rows[at] = values.to(self._rows.dtype)

    def read(self, rows: np.ndarray, here: np.ndarray, places: np.ndarray) -> None:
        """Put rows where `places` of `here` are, as float32."""
        if self.kind == "float32":
            loops.copy_rows(here, places, self.arrays[0], rows)
            return
        values = self._rows.index_select(0, torch.from_numpy(rows)).float()
        if self.kind == "int8":
            values *= torch.from_numpy(self.arrays[1][rows] / 127)[:, None]
        here[places] = values.numpy()

    def flush(self) -> None:
        for kept in self.arrays:
            if isinstance(kept, np.memmap):
                kept.flush()
