"""A path may go from a token to the next one over the blank, also where both are equal."""

import numpy as np

from sampan import learn


def forward_sums(logs, skip):
    "The logarithm of alpha, [frames, states]."
    alpha = np.full(logs.shape, NEVER)  # noqa: F821  the notebook's set-up cell has it
    alpha[0, :2] = logs[0, :2]
    for t in range(1, len(logs)):
        before = np.concatenate([[NEVER, NEVER], alpha[t - 1]])  # noqa: F821  the notebook's set-up cell has it
        steps = np.logaddexp(before[2:], before[1:-1])
        alpha[t] = np.logaddexp(steps, np.where(np.arange(len(skip)) % 2, before[:-2], NEVER)) + logs[t]  # noqa: F821  the notebook's set-up cell has it
    return alpha


def occupancy(alpha, beta, logs):
    "The probability of each state at each frame, [frames, states]; each row adds up to 1."
    both = alpha + beta - logs
    return np.exp(both - np.logaddexp.reduce(both, axis=1, keepdims=True))


@learn.exercise("kernels.cpu_speech_ctc.ctc_paths", forbid=("ctc_loss", "ctc_paths", "CTCLoss", "_lattice"))
def ctc_paths(x, labels, lengths, counts, blank):
    losses, paths = begun(x, labels, lengths, counts)  # noqa: F821  the notebook's set-up cell has it
    for b, (frames, count) in enumerate(zip(lengths, counts, strict=True)):
        label = labels[b, :count]
        logs = state_logs(x[:frames, b], label, blank)  # noqa: F821  the notebook's set-up cell has it
        alpha = forward_sums(logs, may_skip(label))  # noqa: F821  the notebook's set-up cell has it
        beta = forward_sums(logs[::-1, ::-1], may_skip(label[::-1]))[::-1, ::-1]  # noqa: F821  the notebook's set-up cell has it
        losses[b] = -np.logaddexp.reduce(alpha[-1, -2:])
        if np.isfinite(losses[b]):
            keep(paths, b, occupancy(alpha, beta, logs))  # noqa: F821  the notebook's set-up cell has it
        else:
            paths.state[b] = 0
    return losses.astype(x.dtype), paths
