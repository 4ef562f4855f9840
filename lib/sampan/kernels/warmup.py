"""Compile every loop once, so that no first use waits: `python -m sampan.kernels.warmup`."""

import time

from . import cpu_embedding_words, cpu_optimizer, graph, sparse, speech
from .fused import warm_up as warm_up_fused


def main() -> None:
    started = time.perf_counter()
    for module in (cpu_optimizer, sparse, graph, speech, cpu_embedding_words):
        module.warm_up()
    warm_up_fused()
    print(f"kernels ready: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
