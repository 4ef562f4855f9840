"""A data set in miniature, in the official layout and with its card."""

import gzip
import hashlib

import numpy as np

from tests.datasets.idx import idx_bytes

CARD = """
name = "tiny"
title = "Tiny"
title_zh = "小"
about = "Made by a test."
origin = "made"
source = "tests"
licence = "Apache-2.0"
citation = "none"
scale = 255
classes = ["a", "b", "c"]
[schema]
images = "uint8 [N, 4, 4]"
[[layouts]]
reader = "idx"
title = "official"
train = 5
test = 3
"""


def miniature(folder, classes=3, packed=True, break_file=None):
    """A set in the official IDX layout with its card: `folder/tiny`. Returns the arrays."""
    generator = np.random.default_rng(7)
    arrays = {}
    for part, count in (("train", 5), ("test", 3)):
        arrays[f"{part}_images"] = generator.integers(0, 256, (count, 4, 4), dtype=np.uint8)
        arrays[f"{part}_labels"] = generator.integers(0, classes, count, dtype=np.uint8)
    (folder / "tiny").mkdir(parents=True)
    text = CARD
    for role, array in arrays.items():
        data = gzip.compress(idx_bytes(array)) if packed else idx_bytes(array)
        sha256 = hashlib.sha256(data).hexdigest()
        (folder / "tiny" / f"{role}.idx").write_bytes(data[:-3] if role == break_file else data)
        text += f'[layouts.files.{role}]\npath = "{role}.idx"\nbytes = {len(data)}\nsha256 = "{sha256}"\n'
    (folder / "tiny" / "card.toml").write_text(text)
    return arrays
