"""The loops of word vectors: one step against torch's gradient in float64, what is drawn against theory."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.stats
import torch

from sampan.kernels import cpu_embedding_words as loops
from sampan.text.word_vectors import WordVectors

ALL = np.uint64(1 << 32)  # keeps a word always


NO_GROUPS = np.empty(0, np.int64), np.empty(0, np.int32)


def formulas_epoch(words, starts, groups, inputs, outputs, window, negative, rate):
    """An epoch by torch's gradient, the last word of the table being every negative; changes the arrays.

    Returns the loss of the very first input, of which the loop tells it."""
    told = 0.0
    for begin, end in pairwise(starts):
        for j in range(begin, end):
            w = words[j]
            rows = groups[1][groups[0][w] : groups[0][w + 1]] if len(groups[0]) else [w]
            h = torch.tensor(inputs[rows].mean(0), requires_grad=True)
            table = torch.tensor(outputs, requires_grad=True)
            near = [words[i] for i in range(max(j - window, begin), min(j + window + 1, end)) if i != j]
            good = torch.nn.functional.logsigmoid(table[near] @ h).sum()
            bad = torch.nn.functional.logsigmoid(-(table[-1] @ h)) * negative * len(near)
            value = -(good + bad)
            value.backward()
            told += value.item() if j == 0 else 0
            np.add.at(inputs, rows, -rate * h.grad.numpy())
            outputs -= rate * table.grad.numpy()
    return told


def both_epochs(words, starts, width, subwords, negative, rate):
    """(inputs, outputs, loss) of the loop and of the formula."""
    words, starts = np.array(words, np.int32), np.array(starts)
    alias = loops.alias_table(np.array([0, 0, 0, 1.0]))
    groups = NO_GROUPS
    if subwords:
        groups = np.array([0, 2, 3, 6, 7]), np.array([0, 4, 1, 2, 4, 5, 3], np.int32)
    rng = np.random.default_rng(1)
    wanted = [rng.normal(0, 0.3, (n, width)) for n in (6 if subwords else 4, 4)]
    found = [a.astype(np.float32) for a in wanted]
    loss, _ = loops.skip_gram(
        words, starts, 0, len(starts) - 1, np.full(4, ALL), alias, groups, *found,
        window=1, negative=negative, rate=rate, before=0, total=10**12, seed=3,
    )  # fmt: skip
    told = formulas_epoch(words, starts, groups, *wanted, 1, negative, rate)
    return (*found, loss), (*wanted, told)


@pytest.mark.parametrize("width", [16, 112, 304])
@pytest.mark.parametrize("subwords", [False, True])
def test_a_step_is_torchs_gradient_of_the_formula(width, subwords):
    """Pairs of words, a window of 1, and one word that all negatives are: nothing is left to chance."""
    found, wanted = both_epochs([0, 1, 1, 2, 2, 0, 0, 1], [0, 2, 4, 6, 8], width, subwords, 1, 0.5)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("subwords", [False, True])
def test_a_whole_window_is_one_step_but_for_its_square(subwords):
    """Rows that come twice in a window step one after the other: what differs from the formula falls with the rate squared."""
    apart = []
    for rate in (0.08, 0.04, 0.02):
        found, wanted = both_epochs([0, 1, 2, 1, 1, 0, 2], [0, 5, 7], 32, subwords, 3, rate)
        apart.append(max(abs(a - b).max() for a, b in zip(found[:2], wanted[:2], strict=True)))
    assert apart[0] < 0.05 and apart[0] > 3 * apart[1] > 9 * apart[2]


def test_a_negative_that_is_the_target_is_left_out():
    inputs, outputs = np.ones((2, 16), np.float32), np.zeros((2, 16), np.float32)
    inputs[1] = 0  # word 1 pulls nothing while it is the input
    alias = loops.alias_table(np.array([0, 1.0]))
    loops.skip_gram(
        np.array([0, 1], np.int32), np.array([0, 2]), 0, 1, np.full(2, ALL), alias, NO_GROUPS, inputs, outputs,
        window=1, negative=5, rate=0.1, before=0, total=10**12, seed=0,
    )  # fmt: skip
    np.testing.assert_allclose(
        outputs[1], 0.1 * 0.5, rtol=1e-6
    )  # (1 - sigmoid(0)) * rate * h: nothing pulled it back


def test_the_alias_table_holds_the_chances_and_is_drawn_from():
    counts = np.array([5000, 900, 400, 50, 20, 5, 5, 1])
    wanted = counts**0.75 / (counts**0.75).sum()
    table = loops.alias_table(counts**0.75)
    share, other = (table >> np.uint64(32)) / 2**32, (table & np.uint64(2**32 - 1)).astype(np.int64)
    held = (share + np.bincount(other, 1 - share, len(counts))) / len(counts)
    np.testing.assert_allclose(held, wanted, rtol=0, atol=1e-9)
    drawn = np.empty(200_000, np.int32)
    loops.draw_words(np.uint64(11), table, drawn)
    found = np.bincount(drawn, minlength=len(counts))
    assert scipy.stats.chisquare(found, wanted * len(drawn)).pvalue > 1e-3


def test_frequent_words_are_left_out_as_often_as_the_formula_says():
    made = WordVectors(dim=4, least=1, sample=1e-2)
    counts = {"很": 5000, "好": 3000, "房": 60, "书": 3}
    made._begin(list(counts), np.array(list(counts.values())))
    keep, _ = made._chances()
    words = np.tile(np.arange(4, dtype=np.int32), 50_000)
    out = np.empty(len(words), np.int32)
    length = loops.keep_words(np.uint64(5), words, keep, out)
    found = np.bincount(out[:length], minlength=4)
    frequency = made.counts / made.counts.sum()
    wanted = np.minimum(np.sqrt(1e-2 / frequency) + 1e-2 / frequency, 1)
    assert wanted[1] < 1 and wanted[2] == wanted[3] == 1
    spread = 4 * np.sqrt(50_000 * wanted * (1 - wanted))
    assert (abs(found - 50_000 * wanted) <= spread).all()
    everything = WordVectors(dim=4, least=1, sample=0)
    everything._begin(list(counts), np.array(list(counts.values())))
    assert (everything._chances()[0] == ALL).all()


def test_near_neighbours_are_met_more_often():
    """A reach drawn from 1 to 5: words d places apart meet (6 - d) / 5 of the time.

    Each word's vector is an axis, steps are tiny and targets begin at 0, so an entry of `outputs` counts pairs."""
    length, times, rate = 11, 4000, 1e-7
    words = np.tile(np.arange(length, dtype=np.int32), times)
    inputs, outputs = (np.zeros((length + 1, 16), np.float32) for _ in range(2))
    inputs[:length, :length] = np.eye(length)
    alias = loops.alias_table(np.array([0.0] * length + [1]))
    loops.skip_gram(
        words, np.arange(0, len(words) + 1, length), 0, times, np.full(length + 1, ALL), alias, NO_GROUPS, inputs, outputs,
        window=5, negative=1, rate=rate, before=0, total=10**15, seed=1,
    )  # fmt: skip
    pairs = outputs[:length, :length] / (rate / 2)
    apart = abs(np.arange(length)[:, None] - np.arange(length))
    chance = np.where(apart, np.maximum(6 - apart, 0) / 5, 0)
    spread = (
        4.5 * np.sqrt(times * chance * (1 - chance)) + 0.01 * times * chance
    )  # steps are not quite infinitely small
    assert (abs(pairs - times * chance) <= spread + 0.01).all()
