"""Samples in files, and what processes do with them."""

import numpy as np

import sampan as paddle
import sampan.distributed as dist
from sampan import static

SLOTS = ("id", 1, "int64"), ("x", 2, "float32"), ("y", 1, "float32")
_random = np.random.default_rng(2)
SAMPLES = np.arange(11, 18), _random.random((7, 2)).astype("float32"), np.arange(7).astype("float32")


def write(folder):
    """Two files with three and four samples; their paths."""
    lines = [f"1 {i} 2 {x[0]!s} {x[1]!s} 1 {y}" for i, x, y in zip(*SAMPLES, strict=True)]
    paths = [folder / "a", folder / "b"]
    paths[0].write_text("\n".join(lines[:3]) + "\n")
    paths[1].write_text("\n".join(lines[3:]) + "\n")
    return [str(path) for path in paths]


def shuffled(files):
    """((samples of this process, of all), its ids) after a shuffle of all; each process read one file."""
    paddle.enable_static()
    try:
        with static.program_guard(static.Program()):
            variables = [static.data(name, [None, width], kind) for name, width, kind in SLOTS]
        data = dist.InMemoryDataset()
        data.init(batch_size=9, use_var=variables)
        data.set_filelist([files[dist.get_rank()]])
        data.load_into_memory()
        data.global_shuffle(dist.fleet)
        (feed,) = data.feeds([static.InputSpec([-1, 1], "int64", "id")])
        counts = data.get_memory_data_size(), data.get_memory_data_size(dist.fleet)
        return counts, feed["id"][:, 0].tolist()
    finally:
        paddle.disable_static()
