"""Compile every loop once, so that no first use waits: `python -m sampan.kernels.warmup`."""

import time

from . import cpu_embedding_words, cpu_optimizer, fused, graph, sparse, speech


def main() -> None:
    started = time.perf_counter()
    for module in (cpu_optimizer, sparse, graph, speech, cpu_embedding_words, fused):
        module.warm_up()
    print(f"kernels ready: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
