"""Compile every loop once, so that no first use waits: `python -m sampan.kernels.warmup`."""

import time

from .cpu_optimizer import warm_up as warm_up_optimizers
from .fused import warm_up as warm_up_fused


def main() -> None:
    started = time.perf_counter()
    warm_up_optimizers()
    count = warm_up_fused()
    print(f"kernels ready: {count} fused loops and the optimizer steps, {time.perf_counter() - started:.1f}s")


if __name__ == "__main__":
    main()
