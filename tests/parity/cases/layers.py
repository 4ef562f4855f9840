"""Functions and layers of nn: convolutions, pooling, normalisation, activations, losses, images, look-ups."""

import functools

from tools.parity.spec import Call, array, call, given

f = functools.partial(array, low=-1, high=1)


def i(high: int, *shape: int, low: int = 0, dtype: str = "int64"):  # type: ignore[no-untyped-def]
    """Integers below `high`."""
    return array(*shape, dtype=dtype, low=low, high=high)


BITS = given([[0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]], "float32", grad=False)
SIGNS = given([[1, -1, 1, 1], [-1, 1, -1, -1], [1, 1, -1, 1]], "float32", grad=False)
FAR = given([[0, -63, -100], [5, -100, -300]], "float32")  # logits far below the largest
SHARES = given([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1], [0, 0, 1, 0]], "float32", grad=False)
# fmt: off
FUNCTIONS: dict[str, list[Call]] = {
    "conv1d": [
        call(f(2, 4, 9), f(6, 2, 3), f(6), 2, 1, 2, 2),
        call(f(2, 9, 4), f(6, 4, 3), f(6), padding="SAME", data_format="NLC"),
    ],
    "conv2d": [
        call(f(2, 4, 9, 8), f(6, 2, 3, 2), f(6), [2, 1], [1, 0, 2, 1], 2, 2),
        call(f(2, 4, 9, 8), f(4, 1, 3, 2), f(4), groups=4, padding=1),
        call(f(2, 9, 8, 4), f(6, 4, 3, 2), f(6), 2, [[0, 0], [1, 1], [0, 1], [0, 0]], data_format="NHWC"),
        call(f(2, 4, 9, 8), f(6, 4, 3, 2), None, 2, "same"),
        call(f(2, 4, 9, 8), f(6, 3, 3, 2)),
        call(f(2, 4, 9, 8), f(6, 4, 3, 2), padding=-1),
        call(f(2, 4, 9), f(6, 4, 3, 2)),
        call(f(2, 4, 9, 8), f(6, 4, 3, 2), groups=0),
        call(f(0, 4, 9, 8), f(6, 4, 3, 2)),
        call(input=f(2, 4, 9, 8), weight=f(6, 4, 3, 2)),
    ],
    "conv3d": [
        call(f(1, 2, 4, 5, 6), f(3, 2, 2, 3, 2), f(3), [1, 2, 1], [1, 0, 1]),
        call(f(1, 4, 5, 6, 2), f(3, 2, 2, 3, 2), f(3), padding="SAME", data_format="NDHWC"),
    ],
    "conv1d_transpose": [
        call(f(2, 4, 5), f(4, 3, 3), f(3), 2, 1, 1),
        call(f(2, 4, 5), f(4, 3, 3), f(3), 2, [1, 0], 0, 2, 2),
        call(f(2, 4, 5), f(4, 3, 3), f(3), 3, output_size=[16]),
        call(f(2, 4, 5), f(4, 3, 3), f(3), 3, output_size=15),
    ],
    "conv2d_transpose": [
        call(f(2, 4, 5, 4), f(4, 3, 3, 2), f(3), 2, 1, 1),
        call(f(2, 4, 5, 4), f(4, 3, 3, 2), f(6), [2, 3], [1, 0], groups=2, dilation=2, output_padding=[1, 2]),
        call(f(2, 4, 5, 4), f(4, 3, 3, 2), f(3), 2, output_size=[12, 9]),
        call(f(2, 4, 5, 4), f(4, 3, 3, 2), f(3), 2, output_size=given([12, 9], "int32")),
        call(f(2, 4, 5, 4), f(4, 3, 3, 2), f(3), 2, [1, 0, 0, 1]),
        call(f(2, 4, 5, 4), f(4, 3, 3, 2), f(3), 2, "SAME"),
        call(f(2, 5, 4, 4), f(4, 3, 3, 2), f(3), 2, 1, data_format="NHWC"),
        call(f(2, 4, 5, 4), f(4, 1, 3, 2), f(4), 2, 1, groups=4),
        call(f(2, 4, 5, 4), f(4, 3, 3, 2), f(3), 2, output_size=[13, 9]),
    ],
    "conv3d_transpose": [
        call(f(1, 2, 3, 4, 3), f(2, 3, 2, 3, 2), f(3), 2, 1),
    ],
    "max_pool1d": [
        call(f(2, 3, 9), 2),
        call(f(2, 3, 9), 3, 2, 1, True),
        call(f(2, 3, 9), 3, 2, [1, 0], True),
        call(f(2, 3, 9), 3, 2, "SAME"),
        call(f(2, 3, 10), 3, 2, 0, False, True),
    ],
    "max_pool2d": [
        call(f(2, 3, 8, 7), 2, return_mask=True),
        call(f(2, 3, 8, 7), [3, 2], 2, [1, 0], True, True),
        call(f(2, 3, 8, 7), 3, 2, [1, 0, 0, 1], True),
        call(f(2, 8, 7, 3), 2, data_format="NHWC"),
        call(f(2, 8, 7, 3), 2, data_format="NHWC", return_mask=True),
        call(f(2, 3, 8, 7), 2, padding="VALID", ceil_mode=True),
    ],
    "max_pool3d": [
        call(f(1, 2, 4, 5, 6), 2, return_mask=True),
        call(f(1, 2, 4, 5, 6), [2, 3, 2], 2, 1),
        call(f(1, 4, 5, 6, 2), 2, padding="SAME", data_format="NDHWC"),
    ],
    "avg_pool1d": [
        call(f(2, 3, 9), 2),
        call(f(2, 3, 9), 3, 2, 1, False),
        call(f(2, 3, 9), 3, 2, [1, 0]),
        call(f(2, 3, 10), 3, 2, 0, True, True),
    ],
    "avg_pool2d": [
        call(f(2, 3, 8, 7), 2),
        call(f(2, 3, 8, 7), 3, 2, 1, divisor_override=5),
        call(f(2, 3, 8, 7), 3, 2, 1, exclusive=False, divisor_override=5),
        call(f(2, 3, 8, 7), 3, 2, [1, 0, 0, 1]),
        call(f(2, 3, 8, 7), 3, 2, [1, 0, 0, 1], exclusive=False),
        call(f(2, 3, 8, 7), 3, 2, "SAME"),
        call(f(2, 8, 7, 3), [2, 3], data_format="NHWC", padding=1),
    ],
    "avg_pool3d": [
        call(f(1, 2, 4, 5, 6), 2),
        call(f(1, 2, 4, 5, 6), [2, 3, 2], 2, 1, True, False),
        call(f(1, 4, 5, 6, 2), 2, 2, 1, data_format="NDHWC", divisor_override=3),
    ],
    "adaptive_avg_pool1d": [
        call(f(2, 3, 9), 4),
    ],
    "adaptive_avg_pool2d": [
        call(f(2, 3, 8, 7), [3, None]),
        call(f(2, 8, 7, 3), 3, "NHWC"),
    ],
    "adaptive_avg_pool3d": [
        call(f(2, 3, 5, 6, 7), [3, 2, None]),
        call(f(2, 5, 6, 7, 3), 2, "NDHWC"),
    ],
    "adaptive_max_pool1d": [
        call(f(2, 3, 9), 4, True),
    ],
    "adaptive_max_pool2d": [
        call(f(2, 3, 8, 7), [3, None], True),
        call(f(2, 3, 8, 7), 5),
        call(input=f(2, 3, 8, 7), output_size=5, return_indices=True),
    ],
    "adaptive_max_pool3d": [
        call(f(2, 3, 5, 6, 7), [3, 2, None], True),
    ],
    "fractional_max_pool2d": [
        call(f(1, 2, 9, 8), [4, 3], random_u=0.3, return_mask=True),
        call(f(1, 2, 9, 8), [4, 3], 2, random_u=0.7, return_mask=True),
        call(f(1, 2, 11, 13), 5, 3, random_u=0.45, return_mask=True),
        call(f(1, 2, 11, 13), 5, random_u=0.95, return_mask=True),
        call(f(1, 2, 9, 8), [4, 3], random_u=1.3),
        call(f(1, 2, 13, 7), [4, 3], random_u=0.9, return_mask=True),
        call(f(1, 2, 13, 7), [4, 3], [3, 2], random_u=0.9, return_mask=True),
        call(f(1, 2, 13, 7), [1, 3], [3, 2], random_u=0.9, return_mask=True),
        call(f(1, 2, 13, 7), [None, 3], random_u=0.6, return_mask=True),
        call(f(1, 2, 19, 17), [7, 6], [4, 3], random_u=0.6, return_mask=True),
    ],
    "fractional_max_pool3d": [
        call(f(1, 2, 9, 8, 7), [4, 3, 3], random_u=0.3, return_mask=True),
        call(f(1, 2, 9, 8, 7), [4, 3, 3], 2, random_u=0.3, return_mask=True),
    ],
    "lp_pool1d": [
        call(f(2, 3, 9, low=0.1), 3.0, 2),
        call(f(2, 9, 3, low=0.1), 2.0, 3, 2, 1, data_format="NLC"),
    ],
    "lp_pool2d": [
        call(f(2, 3, 8, 7, low=0.1), 2.0, [3, 2], 2, 1),
        call(f(2, 3, 8, 7, low=-1), 3.0, [3, 2], 2, 0),
        call(f(2, 3, 8, 7, low=0.1), 2.0, 3, 2, 0, True),
        call(f(2, 3, 8, 7, low=0.1), 0, 3, 2),
        call(input=f(1, 1, 4, 4, low=0.1), norm_type=2, kernel_size=2),
    ],
    "max_unpool1d": [
        call(f(1, 1, 2), given([[[1, 2]]], "int32"), 2),
    ],
    "max_unpool2d": [
        call(f(1, 1, 2, 2), given([[[[0, 3], [9, 14]]]], "int32"), 2),
    ],
    "max_unpool3d": [
    ],
    "layer_norm": [
        call(f(2, 3, 4), 4),
        call(f(2, 3, 4), [3, 4], f(12), f(12)),
        call(f(2, 3, 4), [4], f(4), f(4), 0.001),
        call(f(2, 3, 4), [3]),
        call(input=f(2, 3, 4), normalized_shape=4, eps=0.001),
    ],
    "group_norm": [
        call(f(2, 6, 4, 3), 3),
        call(f(2, 6, 4, 3), 2, 0.001, f(6), f(6)),
        call(f(2, 4, 3, 6), 2, 0.001, f(6), f(6), "NHWC"),
        call(f(2, 6, 4), 2, f(6), f(6), 0.001),
        call(input=f(2, 6, 4), num_groups=2, weight=f(6), bias=f(6), eps=0.001),
    ],
    "instance_norm": [
        call(f(2, 6, 4, 3)),
        call(f(2, 6, 4), weight=f(6), bias=f(6), eps=0.001),
        call(f(2, 6, 4, 3, 2), weight=f(6), bias=f(6)),
    ],
    "local_response_norm": [
        call(f(2, 6, 4, 3), 5),
        call(f(2, 6, 4), 2, 0.1, 0.5, 2.0),
        call(f(2, 4, 3, 6), 3, data_format="NHWC"),
        call(f(2, 4), 3),
    ],
    "normalize": [
        call(f(3, 4)),
        call(f(3, 4), p=3, axis=0),
        call(f(3, 4), p=1, axis=-1),
        call(f(4), axis=0),
        call(f(2, 3, 4), 2, [1, 2]),
        call(input=f(3, 4), dim=0, eps=0.001),
    ],
    "batch_norm": [
        call(f(4, 3, 5), given([0.1, 0.2, 0.3], "float32"), given([1, 2, 3], "float32"), f(3), f(3)),
        call(f(4, 3), given([0.1, 0.2, 0.3], "float32"), given([1, 2, 3], "float32"), training=True),
        call(f(4, 5, 3), given([0.1, 0.2, 0.3], "float32"), given([1, 2, 3], "float32"), f(3), f(3), True, data_format="NLC"),
    ],
    "celu": [
        call(f(3, 4), 2.0),
        call(f(3, 4), 0.0),
    ],
    "elu": [
        call(f(3, 4), 0.5),
        call(f()),
        call(f(0, 3)),
        call(f(3, 4, dtype="float64")),
    ],
    "gelu": [
        call(f(3, 4)),
        call(f(3, 4), True),
        call(f(3, 4), "tanh"),
    ],
    "hardshrink": [
        call(f(3, 4)),
        call(input=f(3, 4), lambd=0.1),
    ],
    "hardsigmoid": [
        call(f(3, 4, low=-5, high=5)),
        call(f(3, 4, low=-5, high=5), 0.3, 0.2),
    ],
    "hardswish": [
        call(f(3, 4, low=-5, high=5)),
    ],
    "hardtanh": [
        call(f(3, 4, low=-5, high=5), -2.0, 1.0),
    ],
    "leaky_relu": [
        call(f(3, 4), 0.1),
    ],
    "log_sigmoid": [
        call(f(3, 4)),
    ],
    "mish": [
        call(f(3, 4)),
    ],
    "prelu": [
        call(f(2, 3, 4), f(3)),
        call(f(2, 4, 3), f(3), "NLC"),
        call(f(2, 3, 4), f(1)),
        call(f(), f(1)),
    ],
    "rrelu": [
        call(f(3, 4), 0.1, 0.3, False),
    ],
    "relu6": [
        call(f(3, 4, low=-8, high=8)),
    ],
    "selu": [
        call(f(3, 4)),
        call(f(3, 4), 0.5),
    ],
    "silu": [
        call(f(3, 4)),
        call(f(3, 4, dtype="float16")),
    ],
    "softplus": [
        call(f(3, 4), 2.0, 1.0),
    ],
    "softshrink": [
        call(f(3, 4)),
        call(f(3, 4), -1.0),
    ],
    "softsign": [
        call(f(3, 4)),
    ],
    "swish": [
        call(f(3, 4)),
    ],
    "swiglu": [
        call(f(3, 4)),
        call(f(3, 4), f(3, 4)),
    ],
    "tanhshrink": [
        call(f(3, 4)),
    ],
    "thresholded_relu": [
        call(f(3, 4), 0.3, 0.2),
    ],
    "maxout": [
        call(f(2, 6, 3), 2),
        call(f(2, 6, 3, 4), 3, 1),
    ],
    "softmax": [
        call(f(2, 3), 0, "float64"),
        call(FAR),
        call(f()),
    ],
    "log_softmax": [
        call(f(2, 3), 0, "float64"),
        call(FAR),
    ],
    "relu": [
        call(i(5, 3, low=-5, dtype="int32")),
    ],
    "pad": [
        call(f(2, 3, 4), [1, 2]),
        call(f(2, 3, 4), [1, 2], data_format="NLC"),
        call(f(2, 3, 4, 5), [1, 2, 3, 1], value=2.0),
        call(f(2, 3, 4, 5), [1, 2, 3, 1], "reflect"),
        call(f(2, 3, 4, 5), [1, 2, 3, 1], "replicate", data_format="NHWC"),
        call(f(2, 3, 4, 5), [1, 2, 3, 1], "circular"),
        call(f(1, 2, 3, 4, 5), [1, 2, 1, 1, 0, 2], "reflect"),
        call(f(1, 2, 3, 4, 5), [1, 2, 1, 1, 0, 2], "circular", data_format="NDHWC"),
        call(f(2, 3), [1, 2, 0, 1]),
        call(f(2, 3), [1, 2, 0, 1], pad_from_left_axis=False),
        call(f(2, 3), [1, 2]),
        call(f(2, 3, 4, 5), [1, 2]),
        call(f(2, 3, 4, 5), [1, 0, 2, 1, 0, 3, 1, 1]),
        call(f(2, 3, 4, 5), (1, 2, 3, 1, 0, 1)),
        call(f(2, 3, 4, 5), given([1, 2, 3, 1], "int32")),
        call(f(2, 3, 4), [4, 2], "reflect"),
        call(f(2, 3, 4), [1, 2], "foo"),
        call(i(9, 2, 3, 4), [1, 2], value=3),
        call(input=f(2, 3, 4), pad=[1, 2]),
    ],
    "zeropad2d": [
        call(f(1, 2, 3, 4), [1, 2, 0, 1]),
    ],
    "embedding": [
        call(i(5, 2, 3), f(5, 4)),
        call(i(5, 2, 3, dtype="int32"), f(5, 4), padding_idx=2),
        call(i(5, 2, 3), f(5, 4), padding_idx=-1, sparse=False),
        call(i(5, 2, 3), f(5, 4), scale_grad_by_freq=True),
        call(i(5, 2, 3), f(5, 4), padding_idx=7),
        call(i(9, 2, 3, low=6), f(5, 4)),
        call(i(5, 0, 3), f(5, 4)),
        call(input=i(5, 2, 3), weight=f(5, 4)),
    ],
    "bilinear": [
        call(f(3, 4), f(3, 5), f(2, 4, 5), f(1, 2)),
    ],
    "cosine_similarity": [
        call(f(3, 4), f(3, 4)),
        call(f(3, 4), f(3, 1)),
        call(f(2, 3, 4), f(2, 3, 4), -1),
        call(f(3, 4), f(3, 4), 0),
        call(f(2, 1, 4), f(3, 4), axis=-1),
        call(f(3, 4), f(3, 4), dim=0),
    ],
    "pairwise_distance": [
        call(f(3, 4), f(3, 4)),
        call(f(3, 4), f(3, 4), 1.0, 0.0, True),
        call(f(4), f(4), 3.0),
        call(f(3, 4), f(3, 4), 0.0),
        call(f(2, 3, 4), f(3, 4), 2.0, keepdim=True),
    ],
    "label_smooth": [
        call(f(3, 4)),
        call(f(3, 4), given([[0.1, 0.2, 0.3, 0.4]], "float32"), 0.2),
        call(f(3, 4), epsilon=2.0),
        call(f(3, 4), f(1, 4)),
    ],
    "sequence_mask": [
        call(given([1, 3, 2], "int64")),
        call(given([[1, 3], [2, 0]], "int64"), 5, "float32"),
        call(given([1, 3, 2], "int64"), given(4, "int64")),
        call(i(4, 2, 3), 5, "bool"),
    ],
    "gather_tree": [
        call(i(9, 3, 2, 2), i(2, 3, 2, 2)),
    ],
    "class_center_sample": [
        call(given([3, 5, 3], "int64"), 8, 2),
        call(given([3, 5, 3], "int64"), 8, 20),
    ],
    "interpolate": [
        call(f(1, 2, 3, 4), [6, 5]),
        call(f(1, 2, 3, 4), scale_factor=1.7),
        call(f(1, 2, 3, 4), scale_factor=[1.7, 0.5], mode="bilinear"),
        call(f(1, 2, 3, 4), [6, 5], mode="bilinear"),
        call(f(1, 2, 3, 4), [6, 5], mode="bilinear", align_corners=True),
        call(f(1, 2, 3, 4), [6, 5], mode="bilinear", align_mode=1),
        call(f(1, 2, 3, 4), scale_factor=2.5, mode="bilinear", align_mode=1),
        call(f(1, 3, 4, 2), [6, 5], mode="bilinear", data_format="NHWC"),
        call(f(1, 2, 3, 4), [6, 5], mode="bicubic"),
        call(f(1, 2, 3, 4), [6, 5], mode="bicubic", align_corners=True),
        call(f(1, 2, 3, 4), [2, 9], mode="bicubic", align_mode=1),
        call(f(1, 2, 6), [9], mode="linear"),
        call(f(1, 2, 6), 9, mode="linear"),
        call(f(1, 2, 6), [9], mode="linear", align_mode=1),
        call(f(1, 6, 2), [9], mode="linear", data_format="NWC"),
        call(f(1, 2, 3, 4, 5), [4, 6, 5], mode="trilinear"),
        call(f(1, 2, 3, 4, 5), [4, 6, 5], mode="trilinear", align_mode=1),
        call(f(1, 2, 3, 4, 5), [4, 6, 5]),
        call(f(1, 2, 6, 4), [3, 2], mode="area"),
        call(f(1, 2, 6), [9]),
        call(f(1, 2, 3, 4)),
        call(f(1, 2, 3, 4), [6, 5], align_corners=True),
        call(f(1, 2, 3, 4), given([6, 5], "int32"), mode="bilinear"),
        call(f(1, 2, 3, 4), [given(6, "int64"), 5], mode="bilinear"),
        call(f(1, 2, 3, 4), scale_factor=given(2.0, "float32"), mode="bilinear"),
        call(f(1, 2, 3, 4), scale_factor=1.5, mode="bilinear", recompute_scale_factor=True),
        call(f(1, 2, 9, 8), [4, 3], mode="bilinear", antialias=True),
        call(f(1, 2, 9, 8), [4, 3], mode="bicubic", antialias=True),
    ],
    "upsample": [
        call(f(1, 2, 3, 4), scale_factor=2, mode="bilinear"),
    ],
    "affine_grid": [
        call(f(2, 2, 3), [2, 1, 3, 4]),
        call(f(2, 2, 3), [2, 1, 3, 4], False),
        call(f(2, 3, 4), [2, 1, 2, 3, 4], False),
        call(f(2, 3, 4), given([2, 1, 2, 3, 4], "int32")),
    ],
    "grid_sample": [
        call(f(2, 3, 4, 5), f(2, 3, 3, 2, low=-1.3, high=1.3)),
        call(f(2, 3, 4, 5), f(2, 3, 3, 2, low=-1.3, high=1.3), padding_mode="border", align_corners=False),
        call(f(2, 3, 4, 5), f(2, 3, 3, 2, low=-1.3, high=1.3), padding_mode="reflection", align_corners=False),
        call(f(2, 3, 4, 5), f(2, 3, 3, 2, low=-1.3, high=1.3), "nearest"),
        call(f(2, 3, 4, 5, 3), f(2, 3, 3, 2, 3, low=-1.3, high=1.3)),
        call(f(2, 3, 4, 5), f(2, 3, 3, 2), "foo"),
    ],
    "pixel_shuffle": [
        call(f(2, 8, 3, 4), 2),
        call(f(2, 3, 4, 8), 2, "NHWC"),
        call(f(2, 8, 3, 4), 2.0),
    ],
    "pixel_unshuffle": [
        call(f(2, 3, 4, 6), 2),
        call(f(2, 4, 6, 3), 2, "NHWC"),
    ],
    "channel_shuffle": [
        call(f(2, 6, 3, 4), 3),
        call(f(2, 3, 4, 6), 3, "NHWC"),
    ],
    "temporal_shift": [
        call(f(6, 8, 2, 2), 3),
        call(f(6, 2, 2, 8), 3, 0.3, data_format="NHWC"),
        call(f(6, 8, 2, 2), 2, 0.1),
    ],
    "unfold": [
        call(f(2, 3, 6, 5), 2),
        call(f(2, 3, 6, 5), [2, 3], [1, 2], [1, 0, 2, 1], [1, 2]),
        call(f(2, 3, 6, 5), 2, paddings=[1, 2]),
    ],
    "fold": [
        call(f(2, 12, 20), [5, 6], 2),
        call(f(2, 12, 12), [4, 5], 2, 1, 0, [1, 2]),
        call(input=f(2, 12, 20), output_size=[5, 6], kernel_size=2),
    ],
    "mse_loss": [
        call(f(3, 4), f(3, 4)),
        call(f(3, 4), f(4), "none"),
        call(f(3, 1), f(1, 4), "sum"),
        call(f(3, 4), f(3, 4), "foo"),
        call(f(3, 4, dtype="float16"), f(3, 4, dtype="float16")),
        call(f(0, 4), f(0, 4)),
    ],
    "l1_loss": [
        call(f(3, 4), f(3, 4)),
        call(f(3, 1), f(1, 4), "none"),
        call(f(), f()),
    ],
    "square_error_cost": [
        call(f(3, 4), f(3, 4)),
        call(f(3, 4), f(4)),
    ],
    "smooth_l1_loss": [
        call(f(3, 4, high=4), f(3, 4)),
        call(f(3, 4, high=4), f(3, 4), "sum", 2.0),
        call(f(3, 4, high=4), f(3, 4), "none", 0.3, False),
        call(f(), f()),
        call(f(3, 4, high=4), label=f(3, 4)),
    ],
    "binary_cross_entropy": [
        call(f(3, 4, low=0.1, high=0.9), f(3, 4, low=0.0, grad=False)),
        call(f(3, 4, low=0.1, high=0.9), f(3, 4, low=0.0, grad=False), f(4), "none"),
        call(f(3, 4, low=0.1, high=0.9), f(3, 4, low=0.0, grad=False), f(3, 1, grad=False), "mean"),
        call(f(3, 4, low=0.1, high=0.9), f(4, low=0.0, grad=False)),
        call(f(3, 4, low=1.1, high=1.9), f(3, 4, low=0.0, grad=False)),
        call(f(3, 4, low=0.1, high=0.9), f(3, 4, low=0.2, high=0.9)),
        call(f(low=0.1, high=0.9), f(low=0.1, high=0.9, grad=False)),
    ],
    "binary_cross_entropy_with_logits": [
        call(f(3, 4), f(3, 4, low=0.0, grad=False)),
        call(f(3, 4), f(3, 4, low=0.0, grad=False), f(4, grad=False), "sum", f(4, low=0.1, grad=False)),
        call(f(3, 4), f(3, 4, low=0.0, grad=False), None, "none", f(1, low=0.1, grad=False)),
        call(f(3, 4), f(4, low=0.0, grad=False)),
        call(f(3, 4), f(3, 4, low=0.0)),
        call(f(3, 4), f(3, 4, low=0.0), None, "mean", f(4)),
    ],
    "sigmoid_focal_loss": [
        call(f(3, 4), f(3, 4, low=0.0)),
        call(f(3, 4), BITS),
        call(f(3, 4), BITS, given([3.0], "float32"), 0.3, 1.5, "none"),
    ],
    "log_loss": [
        call(f(3, 1, low=0.1, high=0.9), f(3, 1, low=0.0, grad=False)),
        call(f(3, 1, low=0.1, high=0.9), f(3, 1, low=0.0)),
    ],
    "kl_div": [
        call(f(3, 4, high=0.0), f(3, 4, low=0.1, grad=False)),
        call(f(3, 4, high=0.0), f(3, 4, low=-0.5, grad=False), "batchmean"),
        call(f(3, 4, high=0.0), f(3, 4, grad=False), "none", True),
        call(f(3, 4, high=0.0), f(3, 4, dtype="float64", low=0.1, grad=False), "sum"),
        call(f(3, 4, high=0.0), f(3, 4, low=0.1), "sum"),
        call(f(3, 4, high=0.0), f(3, 4, low=0.1), "sum", True),
    ],
    "poisson_nll_loss": [
        call(f(3, 4), f(3, 4, low=0.0, high=4.0, grad=False)),
        call(f(3, 4, low=0.1), f(3, 4, low=0.0, high=4.0, grad=False), False, True, 0.001, "none"),
        call(f(3, 4, low=0.1), f(4, low=0.0, high=4.0, grad=False)),
        call(f(3, 4), f(3, 4, low=0.0, high=4.0)),
    ],
    "gaussian_nll_loss": [
        call(f(3, 4), f(3, 4), f(3, 4, low=0.1)),
        call(f(3, 4), f(3, 4), f(3, low=0.1), True, 0.3, "none"),
        call(f(3, 4), f(3, 4), f(3, 1, low=0.1), reduction="sum"),
        call(f(3, 4), f(3, 4), f(4, 1, low=0.1)),
        call(f(3, 4), f(3, 4), f(3, 4, high=-0.1)),
    ],
    "dice_loss": [
        call(f(3, 4, low=0.1), i(4, 3, 1)),
        call(f(3, 2, 4, low=0.1), i(4, 3, 2, 1), 0.001),
    ],
    "softmax_with_cross_entropy": [
        call(f(3, 4), i(4, 3, 1)),
        call(f(3, 4), i(4, 3)),
        call(f(3, 4), given([[1], [-100], [2]], "int64"), return_softmax=True),
        call(f(3, 4), given([[1], [0], [2]], "int64"), ignore_index=0),
        call(f(3, 4, 5), i(4, 3, 1, 5), axis=1),
        call(f(3, 4), SHARES, True),
        call(FAR, given([[1], [2]], "int64")),
    ],
    "margin_cross_entropy": [
        call(f(3, 4), i(4, 3)),
        call(f(3, 4), i(4, 3, 1), 1.1, 0.3, 0.1, 10.0, return_softmax=True, reduction="none"),
        call(f(3, 4), i(4, 3), reduction=None),
    ],
    "cross_entropy": [
        call(f(3, 4), i(4, 3)),
        call(f(3, 4), i(4, 3, 1)),
        call(f(3, 4), i(4, 3), reduction="none"),
        call(f(3, 4), i(4, 3, 1), reduction="none"),
        call(f(3, 4), given([1, -100, 2], "int64")),
        call(f(3, 4), given([1, 0, 2], "int64"), ignore_index=0),
        call(f(3, 4), given([1, -1, 2], "int64"), ignore_index=-1),
        call(f(3, 4), i(4, 3), f(4, low=0.1, grad=False)),
        call(f(3, 4), given([1, 0, 2], "int64"), f(4, low=0.1, grad=False), 0),
        call(f(3, 4), i(4, 3), f(4, low=0.1, grad=False), reduction="none"),
        call(f(3, 4), i(4, 3), label_smoothing=0.1),
        call(f(3, 4), i(4, 3), f(4, low=0.1, grad=False), label_smoothing=0.1),
        call(f(2, 4, 5), i(4, 2, 5), axis=1),
        call(f(2, 5, 4), i(4, 2, 5)),
        call(f(2, 4, 5, 3), i(4, 2, 5, 3), f(4, low=0.1, grad=False), axis=1),
        call(f(2, 4, 5), i(4, 2, 5), axis=1, reduction="none"),
        call(f(3, 4), i(4, 3, dtype="int32")),
        call(f(3, 4), given([1, 7, 2], "int64")),
        call(f(3, 4), i(4, 2)),
        call(f(3, 4), i(4, 3), reduction="x"),
        call(f(4), given([2], "int64")),
        call(f(4), given(2, "int64")),
        call(f(3, 4), target=i(4, 3)),
        call(f(3, 4), SHARES, soft_label=True),
        call(f(3, 4), SHARES, f(4, low=0.1, grad=False), soft_label=True),
        call(f(3, 4), SHARES, soft_label=True, label_smoothing=0.1),
        call(f(3, 4, low=0.1, high=0.9), i(4, 3), use_softmax=False),
        call(FAR, given([1, 2], "int64"), reduction="none"),
    ],
    "nll_loss": [
        call(f(3, 4), i(4, 3)),
        call(f(3, 4), i(4, 3), f(4, low=0.1, grad=False), reduction="none"),
        call(f(3, 4), given([1, 0, 2], "int64"), f(4, low=0.1, grad=False), 0),
        call(f(2, 4, 5), i(4, 2, 5), reduction="none"),
        call(f(2, 4, 5, 3), i(4, 2, 5, 3), reduction="sum"),
    ],
    "ctc_loss": [
        call(f(6, 2, 5), given([[1, 2], [3, 3]], "int32"), given([6, 4], "int64"), given([2, 2], "int64")),
        call(f(6, 2, 5), given([[1, 2], [3, 3]], "int32"), given([6, 4], "int64"), given([2, 1], "int64"), reduction="none", norm_by_times=True),
        call(f(6, 2, 5), given([[1, 2, 0], [3, 2, 1]], "int32"), given([6, 4], "int64"), given([2, 3], "int64"), 4, "sum"),
        call(f(6, 2, 5), given([[1, 1, 1], [3, 2, 1]], "int32"), given([3, 6], "int64"), given([3, 3], "int64"), 0, "none", zero_infinity=True),
        call(f(9, 3, 5), given([[1, 1, 3], [3, 0, 0], [2, 4, 2]], "int32"), given([9, 3, 6], "int64"), given([3, 1, 2], "int64"), reduction="sum"),
        call(f(5, 2, 4), given([[1, 2], [3, 3]], "int32"), given([5, 4], "int64"), given([0, 2], "int64"), reduction="none"),
    ],
    "rnnt_loss": [
        call(f(2, 4, 3, 5, high=0.0), given([[1, 2], [3, 1]], "int32"), given([4, 3], "int32"), given([2, 1], "int32"), 0, 0.1, "none"),
    ],
    "margin_ranking_loss": [
        call(f(3, 4), f(3, 4), f(3, 4), 0.2),
        call(f(3, 4), f(3, 4), SIGNS, 0.2),
    ],
    "hinge_embedding_loss": [
        call(f(3, 4), SIGNS),
    ],
    "cosine_embedding_loss": [
        call(f(3, 4), f(3, 4), given([1, -1, 1], "int64"), 0.1),
        call(f(3, 4), f(3, 4), given([1, -1, -1], "int64"), -0.3, "none"),
        call(f(4), f(4), given([1], "int64")),
        call(f(3, 4), f(4), given([1, -1, 1], "int64")),
    ],
    "soft_margin_loss": [
        call(f(3, 4), f(3, 4, low=0.0)),
        call(f(3, 4), SIGNS),
    ],
    "multi_label_soft_margin_loss": [
        call(f(3, 4), f(3, 4, low=0.0)),
        call(f(3, 4), BITS),
        call(f(3, 4), BITS, f(3, 4, grad=False), "none"),
    ],
    "multi_margin_loss": [
        call(f(3, 4), i(4, 3)),
        call(f(3, 4), i(4, 3), 2, 0.7, f(4, low=0.1, grad=False), "none"),
        call(f(3, 4), i(4, 2)),
    ],
    "multi_label_margin_loss": [
        call(f(3, 4), given([[3, 0, -1, 1], [-1, 2, 1, 0], [1, 2, 3, 0]], "int64")),
        call(f(3, 4), given([[3, 0, -1, 1], [-1, 2, 1, 0], [1, 2, 3, 0]], "int64"), "none"),
        call(f(3, 4), given([[3, 0, -1, 5], [-1, 2, 1, 0], [1, 2, 3, 0]], "int64"), "none"),
    ],
    "triplet_margin_loss": [
        call(f(3, 4), f(3, 4), f(3, 4)),
        call(f(3, 4), f(3, 4), f(3, 4), 0.5, 1.0, 0.001, True, "none"),
        call(f(3, 4), f(3, 4), f(3, 4), -0.5),
    ],
    "triplet_margin_with_distance_loss": [
        call(f(3, 4), f(3, 4), f(3, 4), swap=True),
    ],
    "npair_loss": [
        call(f(3, 4), f(3, 4), given([1.0, 2.0, 1.0], "float32")),
        call(f(3, 4), f(3, 4), given([1, 2, 1], "int64"), 0.1),
        call(f(3, 4), f(3, 4), f(3)),
    ],
    "hsigmoid_loss": [
        call(f(3, 4), i(6, 3), 6, f(5, 4), f(5, 1)),
        call(f(3, 4), i(7, 3, 1), 7, f(6, 4)),
        call(f(2, 4), given([0, 1], "int64"), 5, f(5, 4), f(5, 1), given([[0, 2, -1], [0, 1, 3]], "int64"), given([[0, 1, -1], [1, 0, 1]], "int64")),
        call(f(3, 4), i(6, 3), 1, f(5, 4)),
        call(f(6, 4), given([0, 1, 2, 3, 4, 5], "int64"), 6, f(5, 4), f(5, 1)),
        call(f(5, 4), given([0, 1, 2, 3, 4], "int64"), 5, f(4, 4), f(4, 1)),
        call(f(2, 4), given([0, 1], "int64"), 5, f(5, 4), f(5, 1), given([[0, 2, -1], [0, 1, -1]], "int64"), given([[0, 1, -1], [1, 0, -1]], "int64")),
        call(f(2, 4), given([0, 1], "int64"), 5, f(5, 4), f(5, 1), given([[0, 2, -1, -1], [0, 1, 3, 4]], "int64"), given([[0, 1, -1, -1], [1, 0, 1, 0]], "int64")),
    ],
    "adaptive_log_softmax_with_loss": [
        call(f(5, 8), given([0, 3, 6, 9, 1], "int64"), f(8, 4), [[f(8, 4), f(4, 3)], [f(8, 2), f(2, 5)]], [2, 5, 10], f(4)),
        call(f(8), given(7, "int64"), f(8, 4), [[f(8, 4), f(4, 3)], [f(8, 2), f(2, 5)]], [2, 5, 10]),
        call(f(5, 8), given([0, 3, 6, 19, 1], "int64"), f(8, 4), [[f(8, 4), f(4, 3)], [f(8, 2), f(2, 5)]], [2, 5, 10]),
    ],
    "dropout": [
        call(f(3, 4), 0.3, training=False, mode="downscale_in_infer"),
        call(f(3, 4), 1.0),
        call(f(3, 4), 0.0),
        call(f(3, 4), 1.5),
        call(f(3, 4), "a"),
        call(f(3, 4), 0.3, axis=5),
        call(f(3, 4), 0.3, mode="x"),
        call(input=f(3, 4), p=0.0),
    ],
    "dropout2d": [
        call(f(3, 4), 0.3),
        call(f(1, 2, 3, 4), 0.3, False),
    ],
    "alpha_dropout": [
        call(f(3, 4), 1.0),
        call(f(3, 4), 0.3, False),
    ],
    "feature_alpha_dropout": [
        call(f(3), 0.3),
    ],
    "dropout1d": [
        call(f(3), 0.3),
    ],
    "glu": [
        call(input=f(4, 6), dim=1),
    ],
    "one_hot": [
        call(i(4, 3)),
        call(input=i(4, 3), num_classes=6),
    ],
    "linear": [
        call(f(3, 4), f(4, 2), f(2)),
    ],
    "relu_": [
    ],
    "elu_": [
    ],
    "hardtanh_": [
    ],
    "thresholded_relu_": [
    ],
    "softmax_": [
    ],
}
LAYERS: dict[str, list[Call]] = {
    "Conv1D": [
        call(4, 6, 3, padding=1, padding_mode="reflect").on(f(2, 4, 9)),
    ],
    "Conv2D": [
        call(4, 6, 3, padding=1, padding_mode="circular").on(f(2, 4, 9, 8)),
        call(4, 6, 3, 2, [1, 0], groups=2, data_format="NHWC").on(f(2, 9, 8, 4)),
    ],
    "Conv3D": [
        call(4, 6, [1, 2, 3], bias_attr=False).on(f(2, 4, 3, 9, 8)),
    ],
    "Conv2DTranspose": [
        call(4, 6, 3, 2, output_padding=1).on(f(2, 4, 9, 8)),
    ],
    "Conv3DTranspose": [
        call(4, 6, 3, 2, groups=2).on(f(2, 4, 3, 9, 8)),
    ],
    "MaxPool1D": [
        call(2).on(f(2, 3, 9)),
    ],
    "MaxPool2D": [
        call(2, return_mask=True).on(f(2, 3, 9, 8)),
        call(),
    ],
    "AvgPool1D": [
        call(2).on(f(2, 3, 9)),
    ],
    "AvgPool3D": [
        call(2, ceil_mode=True).on(f(2, 3, 5, 9, 8)),
    ],
    "LPPool2D": [
        call(2, 2).on(f(2, 3, 9, 8, low=0.1)),
    ],
    "AdaptiveMaxPool2D": [
        call(3, return_mask=True).on(f(2, 3, 9, 8)),
        call(3, return_indices=True).on(f(2, 3, 9, 8)),
    ],
    "FractionalMaxPool2D": [
        call(3, random_u=0.4).on(f(2, 3, 9, 8)),
    ],
    "BatchNorm1D": [
        call(3).on(f(4, 3)),
    ],
    "BatchNorm2D": [
        call(3).on(f(4, 3, 2, 2)),
        call(3).on(f(4, 3, 2)),
    ],
    "BatchNorm3D": [
        call(3, data_format="NDHWC").on(f(4, 2, 2, 2, 3)),
    ],
    "BatchNorm": [
        call(3, act="relu").on(f(4, 3, 2, 2)),
        call(3, is_test=True).on(f(4, 3, 2, 2)),
    ],
    "InstanceNorm1D": [
        call(3).on(f(4, 3, 5)),
    ],
    "InstanceNorm2D": [
        call(3).on(f(4, 3, 5, 2)),
    ],
    "InstanceNorm3D": [
        call(3, weight_attr=False, bias_attr=False).on(f(4, 3, 5, 2, 2)),
    ],
    "GroupNorm": [
        call(3, 6).on(f(4, 6, 5)),
    ],
    "LayerNorm": [
        call(5).on(f(4, 6, 5)),
        call([6, 5], elementwise_affine=False).on(f(4, 6, 5)),
        call(3, eps=0.1).on(f(4, 3)),
    ],
    "LocalResponseNorm": [
        call(5).on(f(4, 6, 5)),
    ],
    "SpectralNorm": [
        call([3, 4], power_iters=50).on(f(3, 4)),
        call([3, 4, 2], dim=1, power_iters=50).on(f(3, 4, 2)),
    ],
    "PReLU": [
        call(3).on(f(2, 3, 4)),
    ],
    "Softmax2D": [
        call().on(f(2, 3, 4, 5)),
    ],
    "Maxout": [
        call(2).on(f(2, 4, 3, 3)),
    ],
    "GLU": [
        call().on(f(2, 4)),
        call(dim=0).on(f(4, 3)),
    ],
    "Hardsigmoid": [
        call().on(f(2, 4)),
    ],
    "Pad1D": [
        call(1).on(f(2, 3, 4)),
    ],
    "Pad2D": [
        call([1, 0, 2, 1], "reflect").on(f(2, 3, 4, 5)),
    ],
    "ZeroPad3D": [
        call(1).on(f(1, 2, 3, 4, 5)),
    ],
    "ConstantPad2D": [
        call(1, 2.0).on(f(1, 2, 3, 4)),
    ],
    "CircularPad1D": [
        call([1, 2], "NLC").on(f(2, 3, 4)),
    ],
    "UpsamplingNearest2D": [
        call(6).on(f(1, 2, 3, 4)),
    ],
    "UpsamplingBilinear2D": [
        call(scale_factor=2).on(f(1, 2, 3, 4)),
    ],
    "Upsample": [
        call([6, 5], mode="BILINEAR").on(f(1, 2, 3, 4)),
    ],
    "PixelShuffle": [
        call(2).on(f(1, 4, 2, 2)),
    ],
    "ChannelShuffle": [
        call(2).on(f(1, 4, 2, 2)),
    ],
    "Unfold": [
        call(2).on(f(1, 4, 3, 3)),
    ],
    "Fold": [
        call([5, 6], 2).on(f(2, 12, 20)),
    ],
    "Unflatten": [
        call(1, [2, 3]).on(f(2, 6)),
    ],
    "CosineSimilarity": [
        call(axis=0).on(f(2, 6), f(2, 6)),
    ],
    "PairwiseDistance": [
        call(1.0).on(f(2, 6), f(2, 6)),
    ],
    "CrossEntropyLoss": [
        call(reduction="sum").on(f(3, 4), i(4, 3)),
        call(weight=given([1, 2, 3, 4.0], "float32", grad=False)).on(f(3, 4), i(4, 3)),
    ],
    "MSELoss": [
        call().on(f(3, 4), f(3, 4)),
        call("x"),
    ],
    "SmoothL1Loss": [
        call(delta=0.3).on(f(3, 4), f(3, 4)),
    ],
    "BCELoss": [
        call().on(f(3, 4, low=0.1, high=0.9), f(3, 4, low=0.0, grad=False)),
    ],
    "KLDivLoss": [
        call("batchmean").on(f(3, 4, high=0.0), f(3, 4, low=0.1, grad=False)),
    ],
    "RNNTLoss": [
    ],
    "TripletMarginLoss": [
        call().on(f(3, 4), f(3, 4), f(3, 4)),
    ],
    "CosineEmbeddingLoss": [
        call(0.1).on(f(3, 4), f(3, 4), given([1, -1, 1], "int64")),
        call(2.0),
    ],
    "PoissonNLLLoss": [
        call(epsilon=-1.0),
    ],
    "GaussianNLLLoss": [
        call().on(f(3, 4), f(3, 4), f(3, 4, low=0.1, grad=False)),
    ],
    "HSigmoidLoss": [
        call(4, 6).on(f(3, 4), i(6, 3)),
    ],
    "AdaptiveLogSoftmaxWithLoss": [
        call(8, 10, [5, 3]),
    ],
    "Embedding": [
        call(5, 3, padding_idx=1).on(i(5, 2)),
        call(5, 3, _weight=f(5, 3)).on(i(5, 2)),
        call(0, 3),
        call(5, 3, 7),
    ],
    "Bilinear": [
        call(2, 3, 4).on(f(5, 2), f(5, 3)),
    ],
    "Hardshrink": [
        call(lambd=0.1).on(f(4, 3)),
    ],
    "ReLU": [
        call(1, 2, 3),
    ],
    "Identity": [
        call().on(f(3)),
    ],
}
# fmt: on
CASES = {
    **{f"paddle.nn.functional.{name}": calls for name, calls in FUNCTIONS.items()},
    **{f"paddle.nn.{name}": calls for name, calls in LAYERS.items()},
}
