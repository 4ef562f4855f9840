import numpy as np

from sampan.kernels import cpu_speech_rows as kernels


def test_the_best_class_is_the_first_of_the_greatest() -> None:
    rng = np.random.default_rng(0)
    for classes in (1, 2, 15, 16, 17, 100):
        scores = rng.integers(-3, 3, (50, classes)).astype(np.float32)
        assert (kernels.best_classes(scores) == scores.argmax(1)).all()
        assert (kernels.best_classes(scores.astype(np.float64)[:, ::-1]) == scores[:, ::-1].argmax(1)).all()
    assert kernels.best_classes(np.zeros((0, 4))).tolist() == []
    broken = np.zeros((3, 40))
    broken[0, 0] = broken[2, 39] = np.nan
    assert kernels.best_classes(broken).tolist() == [-1, 0, -1]
    assert kernels.best_classes(np.full((2, 40), -np.inf)).tolist() == [0, 0]
