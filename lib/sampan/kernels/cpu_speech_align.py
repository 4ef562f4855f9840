"""The most probable path of a label through CTC posteriors (Viterbi, 1967), over the states of
`cpu_speech_ctc`."""

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def best_path(logs, label, blank):
    """(class of each frame int64 [frames], token of each frame int64 [frames], -1 for the blank, log
    probability).

    logs: [frames, classes]; label: checked ids. Of equal paths the one that stays in a state is taken. The
    log probability is -inf where there is no path.
    """
    frames, states = logs.shape[0], 2 * label.size + 1
    classes = np.full(states, blank)
    for u in range(label.size):
        classes[2 * u + 1] = label[u]
    before, now = np.full(states, -np.inf), np.full(states, -np.inf)
    step = np.zeros((frames, states), np.int8)  # how many states back the best path was a frame before
    for t in range(frames):
        row = logs[t]
        for s in range(states):
            best, back = before[s], 0
            if t == 0:
                best = 0.0 if s < 2 else -np.inf
            elif s > 0 and before[s - 1] > best:
                best, back = before[s - 1], 1
            if t > 0 and s > 1 and s % 2 and classes[s] != classes[s - 2] and before[s - 2] > best:
                best, back = before[s - 2], 2
            now[s], step[t, s] = best + row[classes[s]], back
        before, now = now, before
    at = states - 1
    if frames == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), 0.0 if states == 1 else -np.inf
    if states > 1 and not before[at] > before[at - 1]:
        at -= 1
    score = before[at]
    path, tokens = np.empty(frames, np.int64), np.empty(frames, np.int64)
    for t in range(frames - 1, -1, -1):
        path[t], tokens[t] = classes[at], at // 2 if at % 2 else -1
        at -= step[t, at]
    return path, tokens, score


def warm_up() -> None:
    """Compile (or load from the cache)."""
    for kind in (np.float32, np.float64):
        best_path(np.zeros((3, 2), kind), np.ones(1, np.int64), 0)
