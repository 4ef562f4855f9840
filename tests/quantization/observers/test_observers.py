"""The scales that observers choose."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.quantization import observers


def observed(
    factory: observers.QuanterFactory, *samples: object, layer: nn.Layer | None = None
) -> np.ndarray:
    made = factory._instance(layer)
    for sample in samples:
        value = paddle.to_tensor(np.asarray(sample, np.float32))
        assert made(value) is value
    found: np.ndarray = made.scales().numpy()
    return found


def test_absmax_and_average() -> None:
    assert observed(observers.AbsmaxObserver(), [1, -3], [2]) == 3
    assert observed(observers.AVGObserver(), [1, -3], [2], []) == 2.5


def test_a_scale_for_each_channel_of_a_convolution_and_of_a_linear_layer() -> None:
    weight = np.array([[1, -5], [2, 3]])
    by_channel = observers.AbsMaxChannelWiseWeightObserver()
    assert observed(by_channel, weight, layer=nn.Conv2D(1, 1, 1)).tolist() == [5, 3]
    assert observed(by_channel, weight, layer=nn.Linear(2, 2)).tolist() == [2, 5]
    with pytest.raises(ValueError, match="quant_axis: expected 0 to 0, got 1"):
        observed(by_channel, [1], layer=nn.Linear(2, 2))


def test_groups_of_rows() -> None:
    weight = np.zeros((128, 2))
    weight[3, 0], weight[100, 1] = -2, 7
    found = observed(observers.GroupWiseWeightObserver(group_size=64), weight)
    np.testing.assert_allclose(found, [[2, 1e-8], [1e-8, 7]])
    with pytest.raises(ValueError, match="group_size: expected 64 or 128, got 32"):
        observers.GroupWiseWeightObserver(group_size=32)._instance(None)
    with pytest.raises(ValueError, match="a multiple of group_size 128"):
        observed(observers.GroupWiseWeightObserver(), np.zeros((100, 2)))


def test_histograms_cut_outliers_and_keep_a_distribution_without_them() -> None:
    rng = np.random.default_rng(0)
    usual = [rng.normal(size=4000) for _ in range(3)]
    with_outlier = [*usual, np.array([300.0])]
    most = max(np.abs(x).max() for x in usual)
    for factory in (observers.HistObserver(percent=0.999), observers.KLObserver()):
        plain, cut = observed(factory, *usual), observed(factory, *with_outlier)
        assert 2 < plain <= most * 1.001
        assert cut < 60, type(factory)
    assert observed(observers.HistObserver(percent=1.0), *with_outlier) == pytest.approx(300)
    uniform = rng.uniform(-1, 1, 20_000)
    assert observed(observers.KLObserver(), uniform) > 0.9


def test_the_order_of_samples_matters_little_to_a_histogram() -> None:
    rng = np.random.default_rng(1)
    samples = [rng.normal(size=2000) * k for k in (0.3, 1, 3)]
    found = [observed(observers.HistObserver(percent=0.99), *order) for order in (samples, samples[::-1])]
    assert found[0] == pytest.approx(found[1], rel=0.02)


@pytest.mark.parametrize("name", ["AbsmaxObserver", "AVGObserver", "HistObserver", "KLObserver"])
def test_bad_samples(name: str) -> None:
    factory = getattr(observers, name)()
    assert observed(factory, np.zeros(9)) == 0
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN or infinite"):
            observed(factory, [1.0], [bad, 1], [2])
    with pytest.raises(ValueError, match="no sample was observed"):
        observed(factory)
