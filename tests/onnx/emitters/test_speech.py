"""Encoders of speech as ONNX files, for any number of frames."""

import numpy as np
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan.speech.nn import ConformerEncoder
from sampan.speech.nn.attention import distance_encoding
from sampan.speech.nn.operators import scores_by_distance

from ..exported import Function, agrees


@pytest.mark.parametrize("frames", [1, 2, 9])
def test_scores_by_distance(tmp_path, frames):
    paddle.seed(0)
    bias, places = paddle.randn([2, 4]), paddle.randn([400, 2, 4])

    def computed(query):
        return scores_by_distance(query, bias, places[: 3 + 2 * query.shape[1] - 1], 0.5)

    spec = [InputSpec([None, None, 2, 4])]
    agrees(tmp_path, Function(computed), spec, paddle.randn([3, frames, 2, 4]))


def test_encoded_distances(tmp_path):
    layer = Function(lambda x: distance_encoding(x.shape[1], x.shape[1] + 400, 16, x))
    agrees(tmp_path, layer, [InputSpec([None, None, 3])], paddle.zeros([1, 300, 3]))


def test_a_conformer_of_any_length(tmp_path):
    paddle.seed(1)
    encoder = ConformerEncoder(input_size=20, width=16, num_layers=2, num_heads=2)
    encoder.eval()

    def computed(features):
        return encoder(features)[0]

    for frames in (40, 77):
        x = paddle.to_tensor(np.random.default_rng(frames).normal(size=(2, frames, 20)).astype("float32"))
        agrees(tmp_path, Function(computed), [InputSpec([None, None, 20])], x, atol=1e-4)
