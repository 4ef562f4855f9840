"""Operators of detection, networks with filled weights, transforms."""

import zlib

import numpy as np

from tools.parity.spec import array, call, given, program

BOXES = given(
    [[1.2, 2.1, 9.7, 11.3], [0, 0, 5, 5], [3.3, 4.1, 14.9, 15.2], [-3, -2, 4, 30], [6, 6, 6.4, 6.2]],
    "float32",
    grad=False,
)
# At edges PaddlePaddle's gradient of roi_align is not the derivative of its value (finite differences agree with ours).
INSIDE = given([[1.2, 2.1, 9.7, 11.3], [0.5, 0.5, 5, 5], [3.3, 4.1, 14.2, 13.2]], "float32", grad=False)
COUNTS = given([2, 3], "int32")
IMAGE = array(2, 4, 16, 18)
rng = np.random.default_rng(3)


def random_boxes(*shape, size=20.0, seed=1):
    drawn = np.random.default_rng(seed).random((*shape, 4))
    low, extent = drawn[..., :2] * size, drawn[..., 2:] * size / 2 + 0.5
    return given(np.round(np.concatenate([low, low + extent], -1), 3).tolist(), "float32", grad=False)


def scores_of(*shape, seed=2):
    return given(
        np.round(np.random.default_rng(seed).permutation(np.linspace(0.02, 0.98, int(np.prod(shape)))), 4)
        .reshape(shape)
        .tolist(),
        "float32",
        grad=False,
    )


def detached(P, function, *args, **settings):
    """Outputs whose gradients PaddlePaddle does not give."""
    found = getattr(P.vision.ops, function)(*args, **settings)
    return [
        f.detach() if hasattr(f, "detach") else [g.detach() for g in f] if isinstance(f, list) else f
        for f in (found if isinstance(found, tuple) else (found,))
    ]


def op(name, *args, **settings):
    return program(detached, name, *args, text="values", **settings).but(grad=False)


def layer(P, name, x, *inputs, settings=()):
    net = getattr(P.vision.ops, name)(*settings)
    return net(x, *inputs)


PRIORS, SPREAD = random_boxes(4, size=1.0), given([[0.1, 0.1, 0.2, 0.2]] * 4, "float32", grad=False)
N = 40
NAMED = {"input": (2, 3), "feature": array(1, 3, 4, 5, grad=False), "image": array(1, 3, 40, 50, grad=False)}
YOLO = array(2, 2 * 7, 4, 4, low=-1, high=1)
TRUE = given(
    [
        [[0.3, 0.4, 0.2, 0.3], [0.7, 0.6, 0.5, 0.4], [0, 0, 0, 0]],
        [[0.5, 0.5, 0.9, 0.9], [0.1, 0.9, 0.05, 0.1], [0.52, 0.51, 0.3, 0.2]],
    ],
    "float32",
    grad=False,
)
LABELS, WEIGHTS = (
    given([[0, 1, 0], [1, 0, 1]], "int32"),
    given([[1, 0.7, 1], [0.3, 1, 0.9]], "float32", grad=False),
)
ANCHORS = [10, 13, 16, 30, 33, 23, 30, 61]
YOLO_SETTINGS = {
    "anchors": ANCHORS,
    "anchor_mask": [1, 2],
    "class_num": 2,
    "ignore_thresh": 0.4,
    "downsample_ratio": 32,
}
PYRAMID = random_boxes(12, size=600.0)
FEATURE = {"scores": scores_of(2, 3, 4, 4), "deltas": array(2, 12, 4, 4, low=-0.5, high=0.5, grad=False)}


def proposals(P, scores, deltas, anchors, **settings):
    found = P.vision.ops.generate_proposals(scores, deltas, P.to_tensor([[60.0, 50.0], [40.0, 64.0]]), anchors,
                                            P.to_tensor([[[[0.1, 0.1, 0.2, 0.2]] * 3] * 4] * 4), return_rois_num=True, **settings)  # fmt: skip
    return [f.detach() for f in found]


def filled(net):
    """The network in evaluation, every value of its state drawn from its name."""
    for key, value in net.state_dict().items():
        shape = list(value.shape)
        drawn = np.random.default_rng(zlib.crc32(key.encode())).standard_normal(shape)
        if key.endswith("_variance"):
            drawn = np.abs(drawn) * 0.3 + 0.7
        elif len(shape) > 1:
            drawn = drawn * (2 / np.prod(shape[1:] if len(shape) == 4 else shape[:1])) ** 0.5
        else:
            drawn = drawn * 0.1 + key.endswith("weight")
        value.set_value(drawn.astype("float32"))
    net.eval()
    return net


def network(P, name, side, channels=3, **settings):
    """What a network gives for a picture; deep ones let numbers grow, so they are compared as parts of the largest."""
    picture = np.random.default_rng(0).standard_normal((1, channels, side, side)).astype("float32")
    found = filled(getattr(P.vision.models, name)(**settings))(P.to_tensor(picture))
    outs = list(found) if isinstance(found, (list, tuple)) else [found]
    return [(out / out.abs().max()).detach() for out in outs]


def net(name, side=64, **settings):
    return {
        f"paddle.vision.models.{name}": [
            program(network, name, side, text="outputs", **settings).but(grad=False, tolerance=2e-3)
        ]
    }


def pixels(*shape):
    """Bytes of a smooth picture: neighbours differ little, so that ways of rounding do not show much."""
    grid = np.stack(np.meshgrid(*(np.linspace(0, 3, n) for n in shape), indexing="ij"))
    return ((np.sin(grid.sum(0)) + np.cos(2 * grid[0] - grid[-1]) + 2) * 63).astype("uint8")


def picture(P, function, *args, mode="RGB", **settings):
    """A function of a PIL image, its result as an array."""
    from PIL import Image

    image = Image.fromarray(pixels(9, 12, 3) if mode == "RGB" else pixels(9, 12))
    found = getattr(P.vision.transforms, function)(image, *args, **settings)
    return found if hasattr(found, "detach") else np.array(found)


def tensor_of(P, function, x, *args, **settings):
    return getattr(P.vision.transforms, function)(x, *args, **settings)


def applied(P, name, *args, seed=4, **settings):
    """A transform as an object, on a PIL image and on a Tensor; the same random numbers on both sides."""
    import random

    from PIL import Image

    transform = getattr(P.vision.transforms, name)(*args, **settings)
    found = []
    for image in (
        Image.fromarray(pixels(9, 12, 3)),
        P.to_tensor(pixels(9, 12, 3).transpose(2, 0, 1).astype("float32") / 255),
    ):
        random.seed(seed), np.random.seed(seed)
        out = transform(image)
        found.append(out if hasattr(out, "detach") else np.array(out))
    return found


def pil(name, *args, **settings):
    return program(picture, name, *args, text="pil", **settings)


def plane(name, *args, **settings):
    return program(tensor_of, name, *args, text="tensor", **settings)


PLANES = array(3, 6, 8, low=0.0, high=1.0)
CORNERS, MOVED = [[0, 0], [7, 0], [7, 5], [0, 5]], [[1, 0], [6, 1], [7, 4], [0, 5]]
WIDE, BENT = [[0, 0], [11, 0], [11, 8], [0, 8]], [[1, 0], [10, 2], [11, 7], [0, 8]]
TRANSFORMS = {
    "to_tensor": [
        pil("to_tensor"),
        pil("to_tensor", "HWC"),
        pil("to_tensor", mode="L"),
        plane("to_tensor", PLANES),
        plane("to_tensor", array(3, 4, numpy=True)),
        call("no image"),
    ],
    "resize": [
        pil("resize", 5),
        pil("resize", (7, 5), "nearest"),
        pil("resize", [4, 20], "bicubic"),
        pil("resize", 9, mode="L"),
        plane("resize", PLANES, (4, 5)),
        plane("resize", PLANES, 3, "nearest"),
        plane("resize", PLANES, 9, "bicubic"),
        plane("resize", PLANES, "5"),
    ],
    "pad": [
        pil("pad", 2),
        pil("pad", (1, 2), 7),
        pil("pad", [1, 2, 3, 4], (1, 2, 3)),
        pil("pad", 2, 0, "edge"),
        pil("pad", 2, 0, "reflect"),
        pil("pad", 2, 0, "symmetric"),
        pil("pad", [1, 2, 3]),
        plane("pad", PLANES, [1, 2, 0, 1], 0.5),
        plane("pad", PLANES, (1, 2), 0, "reflect"),
        plane("pad", PLANES, 1, 0, "edge"),
    ],
    "crop": [pil("crop", 2, 3, 4, 5), plane("crop", PLANES, 1, 2, 3, 4)],
    "center_crop": [pil("center_crop", 4), pil("center_crop", (4, 7)), plane("center_crop", PLANES, (3, 4))],
    "hflip": [pil("hflip"), plane("hflip", PLANES), plane("hflip", array(2, 3, 4, 5))],
    "vflip": [pil("vflip"), plane("vflip", PLANES)],
    "adjust_brightness": [
        pil("adjust_brightness", 1.4),
        plane("adjust_brightness", PLANES, 0.5),
        plane("adjust_brightness", given(pixels(3, 4, 5).tolist(), "uint8"), 1.3),
    ],
    "adjust_contrast": [
        pil("adjust_contrast", 1.4),
        plane("adjust_contrast", PLANES, 0.5),
        plane("adjust_contrast", array(1, 4, 5, low=0, high=1), 1.5),
    ],
    "adjust_hue": [
        pil("adjust_hue", 0.2),
        pil("adjust_hue", -0.3),
        pil("adjust_hue", 0.2, mode="L"),
        plane("adjust_hue", PLANES, 0.3).but(grad=False),
        plane("adjust_hue", PLANES, -0.4).but(grad=False),
        pil("adjust_hue", 0.7),
    ],
    "to_grayscale": [
        pil("to_grayscale"),
        pil("to_grayscale", 3),
        plane("to_grayscale", PLANES),
        plane("to_grayscale", PLANES, 3),
        pil("to_grayscale", 2),
    ],
    "normalize": [
        pil("normalize", [100.0, 110, 120], [5.0, 6, 7], "HWC"),
        plane("normalize", PLANES, [0.1, 0.2, 0.3], [1.0, 2, 3]),
        plane("normalize", array(4, 5, 3, numpy=True), [0.1, 0.2, 0.3], [1.0, 2, 3], "HWC", True),
    ],
    "erase": [pil("erase", 1, 2, 3, 4, 9), plane("erase", PLANES, 1, 2, 3, 4, 0.5)],
    "affine": [
        pil("affine", 20, [1, 2], 1.2, [5, 3]),
        pil("affine", -35.0, [0, 0], 0.8, 4, "bilinear", 7, [2, 3]),
        plane("affine", PLANES, 20, [1, 0.5], 1.1, [5, 3], "bilinear"),
        plane("affine", PLANES, 20, [1], 1.1, [5, 3]),
    ],
    "rotate": [
        pil("rotate", 30),
        pil("rotate", 30, "bilinear", True),
        pil("rotate", -20, "nearest", False, [3, 4], [9, 8, 7]),
        plane("rotate", PLANES, 30, "bilinear"),
        plane("rotate", PLANES, 30, "bilinear", True),
        plane("rotate", PLANES, -75.0, "bilinear", False, [2, 3], 0.5),
    ],
    "perspective": [
        pil("perspective", WIDE, BENT),
        pil("perspective", WIDE, BENT, "bilinear", 5),
        plane("perspective", PLANES, CORNERS, MOVED, "bilinear"),
    ],
    "ToTensor": [program(applied, "ToTensor", text="applied")],
    "Resize": [program(applied, "Resize", 5, text="applied")],
    "CenterCrop": [program(applied, "CenterCrop", 5, text="applied")],
    "Pad": [program(applied, "Pad", 2, text="applied"), program(applied, "Pad", [1, 2, 3], text="applied")],
    "Grayscale": [program(applied, "Grayscale", 3, text="applied")],
    "Normalize": [program(applied, "Normalize", 0.5, 2.0, text="applied")],
    "Transpose": [program(applied, "Transpose", text="applied")],
    "RandomHorizontalFlip": [
        program(applied, "RandomHorizontalFlip", 1, text="applied"),
        program(applied, "RandomHorizontalFlip", text="applied"),
    ],
    "RandomVerticalFlip": [program(applied, "RandomVerticalFlip", 1, text="applied")],
    "BrightnessTransform": [
        program(applied, "BrightnessTransform", 0.4, text="applied"),
        program(applied, "BrightnessTransform", -1, text="applied"),
    ],
    "ContrastTransform": [program(applied, "ContrastTransform", 0.4, text="applied")],
    "SaturationTransform": [
        program(applied, "SaturationTransform", 0.4, text="applied"),
        program(applied, "SaturationTransform", [0.5, 0.8], text="applied"),
    ],
    "HueTransform": [
        program(applied, "HueTransform", 0.4, text="applied"),
        program(applied, "HueTransform", [-0.8, 0.8], text="applied"),
    ],
    "ColorJitter": [program(applied, "ColorJitter", 0.4, 0.3, 0.2, text="applied")],
    "RandomResizedCrop": [program(applied, "RandomResizedCrop", 5, text="applied").but(values=False)],
    "RandomCrop": [
        program(applied, "RandomCrop", 5, text="applied"),
        program(applied, "RandomCrop", (12, 14), 1, True, text="applied").but(values=False),
    ],
    "RandomErasing": [program(applied, "RandomErasing", 1, text="applied").but(values=False)],
    "RandomAffine": [program(applied, "RandomAffine", 20, text="applied").but(values=False)],
    "RandomRotation": [program(applied, "RandomRotation", 20, text="applied").but(tolerance=2e-3)],
    "RandomPerspective": [program(applied, "RandomPerspective", 1.0, text="applied").but(values=False)],
    "Compose": [program(lambda P: repr(P.vision.transforms.Compose([1, "a"])), text="shown")],
}

CASES = {
    "paddle.vision.ops.roi_align": [
        *(call(IMAGE, BOXES, COUNTS, *more, sampling_ratio=ratio).but(grad=False) for more in ([3], [(2, 3), 0.5]) for ratio in (-1, 2)),
        call(IMAGE, BOXES, COUNTS, (3, 2), 1.0, 3, False),
        call(IMAGE, BOXES, given([5, 0], "int32"), 2).but(grad=False),
        *(call(IMAGE, INSIDE, given([1, 2], "int32"), 3, sampling_ratio=ratio) for ratio in (-1, 2)),
    ],
    "paddle.vision.ops.roi_pool": [call(IMAGE, BOXES, COUNTS, 3), call(IMAGE, BOXES, COUNTS, (2, 3), 0.5), call(IMAGE, BOXES, COUNTS, 1, 2.0)],
    "paddle.vision.ops.psroi_pool": [call(array(2, 8, 16, 18), BOXES, COUNTS, 2), call(array(2, 18, 16, 18), BOXES, COUNTS, (3, 2), 0.5), call(array(2, 7, 16, 18), BOXES, COUNTS, 2)],
    "paddle.vision.ops.deform_conv2d": [
        call(array(2, 4, 6, 7), array(2, 18, 4, 5), array(3, 4, 3, 3), array(3)),
        call(array(2, 4, 6, 7), array(2, 18, 3, 4), array(4, 2, 3, 3), None, 2, 1, groups=2, mask=array(2, 9, 3, 4)),
        call(array(2, 4, 6, 7), array(2, 16, 5, 5), array(4, 4, 2, 2), padding=(1, 0), dilation=(3, 2), deformable_groups=2, mask=array(2, 8, 5, 5)),
        call(array(2, 4, 6, 7), array(2, 18, 4, 4), array(3, 4, 3, 3)),
    ],
    "paddle.vision.ops.DeformConv2D": [call(4, 6, 3, padding=1).on(array(2, 4, 5, 5), array(2, 18, 5, 5)), call(4, 6, [3, 2], deformable_groups=2, groups=2, bias_attr=False).on(array(1, 4, 5, 5), array(1, 24, 3, 4), array(1, 12, 3, 4))],
    "paddle.vision.ops.RoIAlign": [program(layer, "RoIAlign", IMAGE, INSIDE, given([1, 2], "int32"), settings=[2, 0.5], text="layer")],
    "paddle.vision.ops.RoIPool": [program(layer, "RoIPool", IMAGE, BOXES, COUNTS, settings=[(2, 1)], text="layer")],
    "paddle.vision.ops.PSRoIPool": [program(layer, "PSRoIPool", array(2, 8, 16, 18), BOXES, COUNTS, settings=[2, 0.5], text="layer")],
    "paddle.vision.ops.nms": [
        op("nms", random_boxes(N), 0.3),
        op("nms", random_boxes(N), 0.1, scores_of(N)),
        op("nms", random_boxes(N), 0.2, scores_of(N), given([i % 3 for i in range(N)], "int64"), [0, 1, 2]),
        op("nms", random_boxes(N), 0.2, scores_of(N), given([i % 3 for i in range(N)], "int64"), [0, 2], 7),
        op("nms", random_boxes(1), 0.2, scores_of(1)),
    ],
    "paddle.vision.ops.matrix_nms": [
        op("matrix_nms", random_boxes(2, 12), scores_of(2, 3, 12), 0.1, 0.05, 8, 10, return_index=True),
        op("matrix_nms", random_boxes(2, 12), scores_of(2, 3, 12), 0.3, 0.0, -1, -1, use_gaussian=True, background_label=-1, normalized=False),
        op("matrix_nms", random_boxes(1, 12), scores_of(1, 3, 12), 0.5, 0.2, 4, 3, True, 1.5, 1, True, True, False),
    ],
    "paddle.vision.ops.box_coder": [
        op("box_coder", PRIORS, SPREAD, random_boxes(3, size=1.0, seed=4)),
        op("box_coder", PRIORS, [0.1, 0.1, 0.2, 0.2], random_boxes(3, seed=4), box_normalized=False),
        op("box_coder", PRIORS, SPREAD, array(3, 4, 4, grad=False), "decode_center_size"),
        op("box_coder", PRIORS, SPREAD, array(4, 3, 4, grad=False), "decode_center_size", False, 1),
        op("box_coder", PRIORS, [0.1, 0.1, 0.2, 0.2], array(4, 3, 4, grad=False), "decode_center_size", True, 1),
        op("box_coder", PRIORS, 0.1, random_boxes(3)),
    ],
    "paddle.vision.ops.prior_box": [
        op("prior_box", NAMED["feature"], NAMED["image"], [4.0, 9.0], [8.0, 15.0], [2.0, 3.0], flip=True),
        op("prior_box", NAMED["feature"], NAMED["image"], [4.0, 9.0], [8.0, 15.0], [1.0, 0.5], flip=True, clip=True, min_max_aspect_ratios_order=True),
        op("prior_box", NAMED["feature"], NAMED["image"], 4.0, steps=[9.0, 7.0], offset=0.3, variance=[0.1, 0.2, 0.3, 0.4]),
    ],
    "paddle.vision.ops.yolo_box": [
        op("yolo_box", YOLO, given([[100, 120], [64, 80]], "int32"), [10, 13, 16, 30], 2, 0.4, 32),
        op("yolo_box", YOLO, given([[100, 120], [64, 80]], "int32"), [10, 13, 16, 30], 2, 0.1, 32, False, scale_x_y=1.2),
        op("yolo_box", array(2, 2 * 8, 4, 4), given([[100, 120], [64, 80]], "int32"), [10, 13, 16, 30], 2, 0.3, 16, iou_aware=True, iou_aware_factor=0.4),
    ],
    "paddle.vision.ops.yolo_loss": [
        call(YOLO, TRUE, LABELS, **YOLO_SETTINGS),
        call(YOLO, TRUE, LABELS, **YOLO_SETTINGS, gt_score=WEIGHTS, use_label_smooth=False, scale_x_y=1.1),
    ],
    "paddle.vision.ops.distribute_fpn_proposals": [
        op("distribute_fpn_proposals", PYRAMID, 2, 5, 4, 224, rois_num=given([5, 7], "int32")),
        op("distribute_fpn_proposals", PYRAMID, 2, 5, 4, 100, True, rois_num=given([12], "int32")),
    ],
    "paddle.vision.ops.generate_proposals": [
        program(proposals, FEATURE["scores"], FEATURE["deltas"], random_boxes(4, 4, 3, size=40.0), text="default").but(grad=False),
        program(proposals, FEATURE["scores"], FEATURE["deltas"], random_boxes(4, 4, 3, size=40.0), text="few", pre_nms_top_n=20, post_nms_top_n=5, nms_thresh=0.6, min_size=3.0, eta=0.9, pixel_offset=True).but(grad=False),
    ],
}  # fmt: skip
CASES.update({f"paddle.vision.transforms.{name}": calls for name, calls in TRANSFORMS.items()})
for named in (
    net("LeNet", 28, channels=1), net("alexnet", num_classes=0), net("vgg11", 32, num_classes=0, batch_norm=True),
    net("squeezenet1_0", num_classes=7), net("squeezenet1_1", num_classes=7), net("resnet18", 32, num_classes=7),
    net("resnext50_32x4d", 32, num_classes=7), net("densenet121", 32, num_classes=7), net("googlenet", num_classes=0, with_pool=False),
    net("inception_v3", 80, num_classes=7), net("mobilenet_v1", num_classes=7, scale=0.5), net("mobilenet_v2", num_classes=7),
    net("mobilenet_v3_small", num_classes=7), net("mobilenet_v3_large", num_classes=7), net("shufflenet_v2_x0_5", num_classes=7),
    net("shufflenet_v2_swish", num_classes=7),
):  # fmt: skip
    CASES.update(named)


def tags(P, tags=True, seed=0):
    random = np.random.default_rng(seed)
    scores, steps = (
        P.to_tensor(random.standard_normal(shape).astype("float32")) for shape in ((3, 6, 5), (5, 5))
    )
    decoder = P.text.ViterbiDecoder(steps, tags)
    lengths = P.to_tensor(np.array([[6, 3, 1], [4, 4, 2]][seed], "int64"))
    return [*P.text.viterbi_decode(scores, steps, lengths, tags), *decoder(scores, lengths)]


CASES["paddle.text.viterbi_decode"] = [
    program(tags, given, seed, text="best") for given in (True, False) for seed in (0, 1)
]
CASES["paddle.text.ViterbiDecoder"] = [program(tags, text="best")]
