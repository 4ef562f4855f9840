"""One pass over a data set: fetch, collate, hand over. 8,000 images of 28 x 28 in batches of 64, shuffled.

A second pair of rows unpacks items and computes with the batches, for about equal times: a worker that loads while the
network computes saves up to half of the time.
"""

from __future__ import annotations

import zlib
from functools import partial

import numpy as np

from . import Row

ITEMS, BATCH = 8000, 64


def stored():
    generator = np.random.default_rng(3)
    return generator.random((ITEMS, 1, 28, 28), dtype=np.float32), generator.integers(0, 10, (ITEMS, 1))


def data_set(base):
    """The same map-style data set on each framework's base class; an item is (float32 [1, 28, 28], int64 [1])."""

    class Images(base):
        def __init__(self):
            super().__init__()
            self.images, self.labels = stored()

        def __len__(self):
            return ITEMS

        def __getitem__(self, index):
            return self.images[index], self.labels[index]

    return Images()


def pass_paddle(fw, workers):
    loader = fw.io.DataLoader(data_set(fw.io.Dataset), batch_size=BATCH, shuffle=True, num_workers=workers)

    def step():
        return sum(images.shape[0] + labels.shape[0] for images, labels in loader)

    return step


def pass_torch(fw, workers):
    from torch.utils.data import DataLoader, Dataset

    loader = DataLoader(data_set(Dataset), batch_size=BATCH, shuffle=True, num_workers=workers)

    def step():
        return sum(images.shape[0] + labels.shape[0] for images, labels in loader)

    return step


PACKED, SIDE = 256, 64


def packed_set(base):
    """Compressed images that are decompressed on access, like files."""

    class Packed(base):
        def __init__(self):
            super().__init__()
            pixels = np.random.default_rng(4).integers(0, 16, (PACKED, SIDE * SIDE * 3), np.uint8)
            self.images = [zlib.compress(image.tobytes(), 6) for image in pixels]

        def __len__(self):
            return PACKED

        def __getitem__(self, index):
            return np.frombuffer(zlib.decompress(self.images[index]), np.uint8).astype(np.float32) / 255

    return Packed()


def overlap_paddle(fw, workers):
    loader = fw.io.DataLoader(
        packed_set(fw.io.Dataset), batch_size=32, num_workers=workers, persistent_workers=workers > 0
    )
    return computing(fw, loader, fw.to_tensor(projection()))


def overlap_torch(fw, workers):
    from torch.utils.data import DataLoader

    data = packed_set(fw.utils.data.Dataset)
    loader = DataLoader(data, batch_size=32, num_workers=workers, persistent_workers=workers > 0)
    return computing(fw, loader, fw.from_numpy(projection()))


def projection():
    return np.random.default_rng(5).standard_normal((SIDE * SIDE * 3, 256), dtype=np.float32) / SIDE


def computing(fw, loader, weight):
    def step():
        total = 0.0
        for batch in loader:
            images = batch[0] if isinstance(batch, list | tuple) else batch
            for _ in range(3):
                total += float(fw.tanh(fw.matmul(images, weight)).sum())
        return total

    return step


ROWS = [
    Row(
        f"DataLoader, {ITEMS} images, batch {BATCH}, {workers} workers",
        paddle=partial(pass_paddle, workers=workers),
        torch=partial(pass_torch, workers=workers),
        moved=0,
    )
    for workers in (0, 2)
] + [
    Row(
        f"DataLoader, {PACKED} packed images and a product, {workers} workers",
        paddle=partial(overlap_paddle, workers=workers),
        torch=partial(overlap_torch, workers=workers),
        moved=0,
    )
    for workers in (0, 1)
]
