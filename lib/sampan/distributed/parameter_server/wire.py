"""Rows in messages: float32, or bfloat16 in half as many bytes."""

import numpy as np
import torch


def narrow(rows: np.ndarray) -> np.ndarray:
    """float32 rows as bfloat16, rounded to nearest; NumPy has no such dtype: int16 with its bits."""
    return torch.from_numpy(np.ascontiguousarray(rows)).to(torch.bfloat16).view(torch.int16).numpy()


def wide(rows: np.ndarray) -> np.ndarray:
    """What was sent as float32 [n, dim] that may be written to."""
    rows = np.ascontiguousarray(rows) if rows.flags.writeable else rows.copy()
    if rows.dtype == np.int16:
        return torch.from_numpy(rows).view(torch.bfloat16).float().numpy()
    return rows.astype(np.float32, copy=False)
