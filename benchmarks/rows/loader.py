"""One pass over a data set: fetch, collate, hand over. 8,000 images of 28 x 28 in batches of 64, shuffled."""

from __future__ import annotations

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


ROWS = [
    Row(
        f"DataLoader, {ITEMS} images, batch {BATCH}, {workers} workers",
        paddle=partial(pass_paddle, workers=workers),
        torch=partial(pass_torch, workers=workers),
    )
    for workers in (0, 2)
]
