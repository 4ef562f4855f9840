"""Compile every loop once, so that no first use waits: `python -m sampan.kernels.warmup`."""

from __future__ import annotations

import time

from . import cpu_optimizer, fused


def main() -> None:
    started = time.perf_counter()
    cpu_optimizer.warm_up()
    count = fused.warm_up()
    print(
        f"kernels ready: {count} fused loops and the optimizer steps, {time.perf_counter() - started:.1f} s"
    )


if __name__ == "__main__":
    main()
