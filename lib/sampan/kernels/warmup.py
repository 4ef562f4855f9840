"""Compile loops once, so that no first use waits: `python -m sampan.kernels.warmup [MODULE ...]`."""

import importlib
import sys
import time

MODULES = ("cpu_optimizer", "sparse", "graph", "speech", "cpu_embedding_words", "fused")


def main() -> None:
    started = time.perf_counter()
    for name in sys.argv[1:] or MODULES:
        importlib.import_module(f"sampan.kernels.{name}").warm_up()
    print(f"kernels ready: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
