"""Compile every loop once, so that no first use waits: `python -m sampan.kernels.warmup`."""

import importlib
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

# The longest first. Each is compiled in one process: two would overwrite each other's index of the cache.
MODULES = ("speech", "graph", "sparse", "cpu_optimizer", "cpu_embedding_words", "fused")


def warm_up(name: str) -> None:
    importlib.import_module(f"sampan.kernels.{name}").warm_up()


def main() -> None:
    started = time.perf_counter()
    with ProcessPoolExecutor(min(4, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        list(pool.map(warm_up, MODULES))
    print(f"kernels ready: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
