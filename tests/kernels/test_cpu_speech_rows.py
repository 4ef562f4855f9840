import numpy as np
import pytest

from sampan.kernels import cpu_speech_rows as kernels


def best(scores: np.ndarray) -> list[int]:
    """Of one sequence."""
    return kernels.best_classes(scores[None], np.array([len(scores)]))[0].tolist()


@pytest.mark.parametrize("parallel_from", [0, 1 << 62])
def test_the_best_class_is_the_first_of_the_greatest(
    monkeypatch: pytest.MonkeyPatch, parallel_from: int
) -> None:
    monkeypatch.setattr(kernels._best_loop, "parallel_from", parallel_from)
    rng = np.random.default_rng(0)
    for classes in (1, 2, 31, 32, 63, 64, 65, 300):
        scores = rng.integers(-3, 3, (50, classes)).astype(np.float32)
        assert best(scores) == scores.argmax(1).tolist()
        assert best(scores.astype(np.float64)[:, ::-1]) == scores[:, ::-1].argmax(1).tolist()
        alone = np.eye(classes, dtype=np.float32)  # each place once
        assert best(alone) == [*range(classes)]
    broken = np.zeros((4, 140))
    broken[0, 0] = broken[2, 70] = broken[3, 139] = np.nan
    assert best(broken) == [-1, 0, -1, -1]
    assert best(np.full((2, 70), -np.inf)) == [0, 0]


def test_frames_behind_the_end_are_not_read() -> None:
    scores = np.full((3, 4, 5), np.nan)
    scores[0, :2] = scores[2] = np.arange(5.0)
    assert kernels.best_classes(scores, np.array([2, 0, 4])).tolist() == [[4, 4, 0, 0], [0] * 4, [4] * 4]
    assert kernels.best_classes(np.zeros((0, 4, 3)), np.zeros(0, np.int64)).shape == (0, 4)
    assert kernels.best_classes(np.zeros((2, 0, 3)), np.zeros(2, np.int64)).shape == (2, 0)
