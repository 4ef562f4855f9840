"""What the operators of detection refuse, empty inputs, and gradients by finite differences.

Their values are compared with PaddlePaddle in tests/parity/cases/vision.py.
"""

import numpy as np
import pytest

import sampan as paddle
from sampan.vision import ops

BOXES = [[1.2, 2.1, 4.7, 5.3], [0.0, 0.0, 5.0, 5.0], [-3.0, -2.0, 4.0, 9.0], [5.9, 5.9, 6.0, 6.0]]


def t(values, dtype="float64", **facts):
    return paddle.to_tensor(np.asarray(values), dtype=dtype, **facts)


def assert_derivative(function, *arrays):
    """Gradients of the sum of function times fixed weights against central differences, in float64."""
    weights = np.random.default_rng(1).standard_normal(function(*map(t, arrays)).shape)
    inputs = [t(a, stop_gradient=False) for a in arrays]
    (function(*inputs) * t(weights)).sum().backward()
    for place, (x, a) in enumerate(zip(inputs, arrays, strict=True)):
        for index in np.random.default_rng(2).integers(0, a.size, 12):
            values = []
            for step in (1e-5, -1e-5):
                moved = [b.copy() for b in arrays]
                moved[place].flat[index] += step
                values.append(float((function(*map(t, moved)) * t(weights)).sum()))
            assert x.grad.numpy().flat[index] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-5)


@pytest.mark.parametrize("pool", [ops.roi_align, ops.roi_pool, ops.psroi_pool])
def test_regions_pass_gradients_to_their_image(pool):
    x = np.random.default_rng(0).standard_normal((2, 8, 6, 7))
    counts = t([1, 3], "int32")
    assert_derivative(lambda x: pool(x, t(BOXES), counts, 2), x)


def test_deformable_convolution_passes_gradients_to_all_inputs():
    random = np.random.default_rng(0)
    x, weight = random.standard_normal((1, 4, 5, 5)), random.standard_normal((2, 2, 2, 2))
    offset, mask = random.uniform(0.1, 0.4, (1, 16, 4, 4)), random.random((1, 8, 4, 4))
    assert_derivative(lambda x, o, w, m: ops.deform_conv2d(x, o, w, deformable_groups=2, groups=2, mask=m), x, offset, weight, mask)  # fmt: skip


def test_without_boxes():
    x, none = t(np.ones((1, 4, 5, 5))), t(np.ones((0, 4)))
    assert ops.roi_align(x, none, t([0], "int32"), 2).shape == [0, 4, 2, 2]
    assert ops.roi_pool(x, none, t([0], "int32"), (1, 3)).shape == [0, 4, 1, 3]
    assert ops.psroi_pool(x, none, t([0], "int32"), 2).shape == [0, 1, 2, 2]
    assert ops.nms(none).shape == [0]
    out, counts, index = ops.matrix_nms(
        t(np.ones((1, 0, 4))), t(np.ones((1, 2, 0))), 0.1, 0.1, 5, 5, return_index=True
    )
    assert out.shape == [0, 6] and counts.tolist() == [0] and index.shape == [0, 1]
    empty = ops.yolo_loss(
        t(np.zeros((1, 7, 2, 2))), t(np.zeros((1, 1, 4))), t([[0]], "int32"), [9, 9], [0], 2, 0.5, 8
    )
    assert empty.tolist() == pytest.approx([4 * np.log(2)])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x, b: ops.roi_align(x, b, t([3], "int32"), 2), "boxes_num: .* does not share 4 boxes"),
        (lambda x, b: ops.roi_pool(x, b, t([4], "int32"), 0), "output_size: expected"),
        (lambda x, b: ops.roi_pool(x, b[0], t([4], "int32"), 1), "expected x"),
        (lambda x, b: ops.psroi_pool(x, b, t([4], "int32"), 3), "x: expected a multiple of 9 channels"),
        (lambda x, b: ops.deform_conv2d(x, b, t(np.ones((2, 4, 2, 2)))), "offset: expected shape"),
        (lambda x, b: ops.nms(b, 0.3, b[:, 0], b[:, 0]), "categories: expected the list"),
        (lambda x, b: ops.nms(b, 0.3, b[:, 0], b[:, 0], [0], 9), "top_k: expected at most 4"),
        (lambda x, b: ops.nms(x), "boxes: expected shape"),
        (lambda x, b: ops.box_coder(b, [1.0] * 4, b, "code"), "code_type: expected"),
        (lambda x, b: ops.prior_box(x, x, 1.0, steps=[1.0]), "steps: expected"),
        (
            lambda x, b: ops.distribute_fpn_proposals(b, 3, 2, 2, 9, rois_num=b),
            "expected 0 < min_level < max_level",
        ),
        (lambda x, b: ops.decode_jpeg(x, "blue"), "mode: expected one of"),
        (lambda x, b: ops.DeformConv2D(3, 4, 3, groups=2), "in_channels a multiple of groups=2"),
    ],
)
def test_bad_input(make, text):
    with pytest.raises(ValueError, match=text):
        make(t(np.ones((1, 4, 6, 7))), t(BOXES))
