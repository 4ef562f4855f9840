"""Beam search against all sequences, and the decoding loop with a decoder of one's own."""

import itertools

import numpy as np
import pytest
from sampan.nn.decode import Decoder

import sampan as paddle
from sampan import nn


class Table(nn.RNNCellBase):
    """The next word's scores depend on the present word alone."""

    def __init__(self, scores):
        super().__init__()
        self.scores = paddle.to_tensor(scores)

    def forward(self, ids, states):
        return self.scores[ids], states + 1


def test_a_wide_beam_finds_the_best_of_all_sequences():
    scores = np.random.default_rng(3).normal(size=(4, 4)) * 2
    log = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    decoder = nn.BeamSearchDecoder(Table(scores), start_token=0, end_token=3, beam_size=16)
    outputs, states, lengths = nn.dynamic_decode(
        decoder, paddle.zeros([2, 1], "float64"), 2, return_length=True
    )
    assert outputs.shape == [2, 3, 16] and lengths.shape == [2, 16]

    def chance(words):
        total, before = 0.0, 0
        for word in words:
            if before == 3:
                if word != 3:
                    return -np.inf
            else:
                total += log[before, word]
            before = word
        return total

    best = sorted(itertools.product(range(4), repeat=3), key=chance, reverse=True)[:3]
    for k, words in enumerate(best):
        assert outputs.numpy()[1, :, k].tolist() == list(words)
        assert states.log_probs.numpy()[0, k] == pytest.approx(chance(words))
        assert lengths.numpy()[0, k] == (words.index(3) + 1 if 3 in words else 3)


def test_with_embedding_output_and_a_real_cell():
    paddle.seed(1)
    cell, embed, out = nn.GRUCell(5, 6), nn.Linear(7, 5), nn.Linear(6, 7)
    decoder = nn.BeamSearchDecoder(cell, 0, 1, 3, lambda ids: embed(nn.functional.one_hot(ids, 7)), out)
    encoded = paddle.ones([2, 6])
    outputs, states = nn.dynamic_decode(decoder, encoded, 4, output_time_major=True)
    assert outputs.shape[1:] == [2, 3] and states.cell_states.shape == [2, 3, 6]
    tiled = nn.BeamSearchDecoder.tile_beam_merge_with_batch(paddle.to_tensor([[1.0], [2.0]]), 3)
    assert tiled.numpy().ravel().tolist() == [1, 1, 1, 2, 2, 2]


class Counter(Decoder):
    """Sequence b is finished after b + 1 steps."""

    def initialize(self, inits):
        return inits, inits, paddle.to_tensor([False, False, False])

    def step(self, time, inputs, states, **kwargs):
        new = states + 1
        return new, new, inputs, paddle.to_tensor(new.numpy()[:, 0] >= np.array([1, 2, 3]))


def test_a_decoder_of_ones_own():
    start = paddle.zeros([3, 1])
    outputs, states, lengths = nn.dynamic_decode(Counter(), start, impute_finished=True, return_length=True)
    assert outputs.shape == [3, 3, 1] and lengths.numpy().tolist() == [0, 1, 2]
    assert states.numpy().ravel().tolist() == [0, 1, 2]  # the step that finishes does not count, as in Paddle
    with pytest.raises(NotImplementedError, match="initialize"):
        nn.dynamic_decode(Decoder())
