"""Activations that draw random numbers."""

import numpy as np

import sampan as paddle

F = paddle.nn.functional


def test_random_slopes_are_uniform_and_scale_the_gradient() -> None:
    paddle.seed(0)
    given = np.where(np.arange(8000) % 2, 2.0, -2.0)
    x = paddle.to_tensor(given, stop_gradient=False)
    out = F.rrelu(x, 0.25, 0.5)
    out.sum().backward()
    slopes = out.numpy() / given
    np.testing.assert_array_equal(x.grad.numpy(), slopes)
    assert (slopes[1::2] == 1).all()
    drawn = slopes[::2]
    assert 0.25 <= drawn.min() < 0.26 and 0.49 < drawn.max() <= 0.5
    assert abs(drawn.mean() - 0.375) < 0.005 and len(np.unique(drawn)) > 3900


def test_a_gumbel_sample_has_the_probabilities_of_softmax() -> None:
    paddle.seed(0)
    scores = np.array([1.0, 0.0, -1.0])
    x = paddle.to_tensor(np.tile(scores, (20000, 1)), stop_gradient=False)
    hard = F.gumbel_softmax(x, hard=True)
    weights = paddle.to_tensor(np.arange(3.0))
    (hard * weights).sum().backward()
    rows = hard.numpy().round(12)
    assert ((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all()
    expected = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(rows.mean(0), expected, atol=0.015)  # four standard deviations
    slopes = x.grad.numpy()  # those of a softmax: none along a shift of all scores
    np.testing.assert_allclose(slopes.sum(1), 0, atol=1e-12)
    assert abs(slopes).max() > 0.1
    paddle.seed(0)
    soft = F.gumbel_softmax(x).numpy()
    np.testing.assert_array_equal(soft.argmax(1), rows.argmax(1))
    np.testing.assert_allclose(soft.sum(1), 1)
