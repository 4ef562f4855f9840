import numpy as np

from sampan.kernels import cpu_speech_align as kernels


def test_paths_stay_where_they_may_and_repeats_need_a_blank() -> None:
    even = np.full((4, 3), -1.0)
    path, tokens, score = kernels.best_path(even, np.array([1, 1]), 0)
    assert 0 in path[path.tolist().index(1) : 4] and sorted({*tokens.tolist()} - {-1}) == [0, 1]
    assert score == -4.0
    path, tokens, score = kernels.best_path(even[:2], np.array([1, 1]), 0)
    assert score == -np.inf  # three frames are needed
    path, tokens, score = kernels.best_path(even[:0], np.empty(0, np.int64), 0)
    assert path.size == tokens.size == 0 and score == 0.0
    sharp = np.where(np.array([1, 1, 0, 2, 2])[:, None] == np.arange(3), 0.0, -9.0)
    path, tokens, score = kernels.best_path(sharp, np.array([1, 2]), 0)
    assert path.tolist() == [1, 1, 0, 2, 2] and tokens.tolist() == [0, 0, -1, 1, 1] and score == 0.0
