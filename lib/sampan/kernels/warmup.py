"""Compile every loop once, so that no first use waits: `python -m sampan.kernels.warmup`."""

import time

from .cpu_embedding_words import warm_up as warm_up_word_vectors
from .cpu_optimizer import warm_up as warm_up_optimizers
from .fused import warm_up as warm_up_fused
from .graph import warm_up as warm_up_graph
from .sparse import warm_up as warm_up_sparse


def main() -> None:
    started = time.perf_counter()
    warm_up_optimizers()
    warm_up_sparse()
    warm_up_graph()
    warm_up_word_vectors()
    count = warm_up_fused()
    which = f"{count} fused loops, the optimizer steps, the sparse and graph loops and the word vectors'"
    print(f"kernels ready: {which}, {time.perf_counter() - started:.1f}s")


if __name__ == "__main__":
    main()
