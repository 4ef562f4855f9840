"""The speech kernels: warming up compiles both forms of each loop."""

from sampan.kernels import loops, speech


def test_warm_up_runs_both_forms() -> None:
    names = []
    loops.listeners.append(names.append)
    try:
        speech.warm_up()
    finally:
        loops.listeners.remove(names.append)
    assert {"speech features (serial)", "speech features (parallel)"} <= set(names)
