"""Detection operators: RoI pooling, box coding, non-maximum suppression, FPN levels, YOLO's output and loss.

Boxes are (x1, y1, x2, y2). RoI pooling, deformable convolution and YOLO's loss are differentiable.
"""

import io
import math
from typing import Any

import numpy as np
import torch

from .. import nn
from ..creation import zeros_like
from ..engine.spelling import spell
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..nn import functional as F
from ..nn.function_layer import FunctionLayer
from ..ops import concat, einsum, stack, where
from ..vision.models.blocks import ConvNormActivation as ConvNormActivation

__all__ = [
    "DeformConv2D",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "box_coder",
    "decode_jpeg",
    "deform_conv2d",
    "distribute_fpn_proposals",
    "generate_proposals",
    "matrix_nms",
    "nms",
    "prior_box",
    "psroi_pool",
    "read_file",
    "roi_align",
    "roi_pool",
    "yolo_box",
    "yolo_loss",
]


def _pair(value: Any, name: str) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    if first < 1 or second < 1:
        raise InvalidArgument(f"{name}: expected one or two lengths of at least 1, got {value!r}")
    return first, second


# --- regions ------------------------------------------------------------------------------------------------


def _regions(x: Any, boxes: Any, boxes_num: Any) -> list[tuple[int, Any]]:
    """(image, its boxes) of every image that has boxes. boxes [count, 4], boxes_num [batch]."""
    if x.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InvalidArgument(
            f"expected x [n, c, h, w] and boxes [count, 4], got shapes {[*x.shape]} and {[*boxes.shape]}"
        )
    counts = boxes_num.tolist()
    if len(counts) != x.shape[0] or sum(counts) != boxes.shape[0]:
        raise InvalidArgument(
            f"boxes_num: {counts} does not share {boxes.shape[0]} boxes among {x.shape[0]} images"
        )
    return [(i, part) for i, part in enumerate(boxes.data.split(counts)) if len(part)]


def _rounded(x: torch.Tensor) -> torch.Tensor:
    """The nearest integer; halves are rounded away from 0."""
    return (x.abs() + 0.5).floor() * x.sign()


def _empty(x: Any, boxes: Any, channels: int, size: tuple[int, int]) -> Any:
    return Tensor(torch.zeros([boxes.shape[0], channels, *size], dtype=x.data.dtype, device=x.data.device))


def roi_align(
    x, boxes, boxes_num, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=True, name=None
):
    """RoI Align (He et al., 2017): each box of x [n, c, h, w] as [c, *output_size], means of bilinear
    samples.

    sampling_ratio: samples along each side of a bin; -1 takes as many as a bin has pixels. aligned: a pixel's
    centre is at 0.5. boxes [count, 4] in the image's units, of which a pixel of x has 1 / spatial_scale.
    """
    rows, columns = _pair(output_size, "output_size")
    height, width = x.shape[2:]
    pooled, places = [], []
    start = 0
    for image, own in _regions(x, boxes, boxes_num):
        corner = own * spatial_scale - 0.5 * aligned
        low, size = corner[:, :2], corner[:, 2:] - corner[:, :2]
        size = size if aligned else size.clamp(min=1)
        step = size / torch.tensor([columns, rows], dtype=size.dtype, device=size.device)
        grids = (
            step.ceil().clamp(min=1).long()
            if sampling_ratio <= 0
            else torch.full_like(step, sampling_ratio).long()
        )
        for across, down in grids.unique(dim=0).tolist():  # boxes with as many samples are sampled together
            chosen = (grids == grids.new_tensor([across, down])).all(1).nonzero().flatten()
            at = [
                low[chosen, k, None]
                + (torch.arange(count * bins, dtype=low.dtype, device=low.device) + 0.5)
                * step[chosen, k, None]
                / count
                for k, count, bins in ((0, across, columns), (1, down, rows))
            ]
            inside = [
                ((a >= -1) & (a <= n)).to(x.data.dtype) for a, n in zip(at, (width, height), strict=True)
            ]
            gx, gy = ((2 * a + 1) / n - 1 for a, n in zip(at, (width, height), strict=True))
            grid = torch.stack(
                [gx[:, None, :].expand(-1, gy.shape[1], -1), gy[:, :, None].expand(-1, -1, gx.shape[1])], -1
            )
            many = len(chosen)
            drawn = F.grid_sample(
                x[image : image + 1],
                Tensor(grid.reshape(1, many * rows * down, -1, 2).to(x.data.dtype)),
                padding_mode="border",
                align_corners=False,
            )  # [1, c, many * rows * down, columns * across]
            drawn = drawn.reshape([x.shape[1], many, rows * down, columns * across])
            drawn = drawn * Tensor(inside[1][:, :, None] * inside[0][:, None, :])
            drawn = drawn.reshape([x.shape[1], many, rows, down, columns, across]).mean([3, 5])
            pooled.append(drawn.transpose([1, 0, 2, 3]))
            places.append(chosen + start)
        start += len(own)
    return (
        concat(pooled, 0)[Tensor(torch.cat(places).argsort())]
        if pooled
        else _empty(x, boxes, x.shape[1], (rows, columns))
    )


def roi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0, name=None):
    """RoI pooling (Girshick, 2015): each box of x [n, c, h, w] as [c, *output_size], the maximum of each
    bin."""
    size = _pair(output_size, "output_size")
    height, width = x.shape[2:]
    pooled = []
    for image, own in _regions(x, boxes, boxes_num):
        for x1, y1, x2, y2 in _rounded(own * spatial_scale).long().tolist():
            x2, y2 = max(x2, x1) + 1, max(y2, y1) + 1
            inside = x[image : image + 1, :, max(y1, 0) : max(y2, 0), max(x1, 0) : max(x2, 0)]
            margins = [max(-x1, 0), max(x2 - width, 0), max(-y1, 0), max(y2 - height, 0)]
            if 0 in inside.shape:
                pooled.append(_empty(x, own[:1], x.shape[1], size))
            else:
                inside = F.pad(inside, margins, value=-math.inf) if any(margins) else inside
                pooled.append(F.adaptive_max_pool2d(inside, size))
    if not pooled:
        return _empty(x, boxes, x.shape[1], size)
    whole = concat(pooled, 0)
    return where(whole == -math.inf, zeros_like(whole), whole)


def psroi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0, name=None):
    """Position-sensitive RoI pooling (Dai et al., 2016): each box of x [n, c * h' * w', h, w] as [c, h', w'],
    the mean of bin (i, j) over separate channels."""
    size = rows, columns = _pair(output_size, "output_size")
    if x.shape[1] % (rows * columns):
        raise InvalidArgument(f"x: expected a multiple of {rows * columns} channels, got {x.shape[1]}")
    channels = x.shape[1] // (rows * columns)
    pooled = []
    for image, own in _regions(x, boxes, boxes_num):
        low, high = _rounded(own[:, :2]) * spatial_scale, (_rounded(own[:, 2:]) + 1) * spatial_scale
        step = (high - low).clamp(min=0.1) / torch.tensor([columns, rows], dtype=own.dtype, device=own.device)
        across, down = (
            _bins(low[:, k, None], step[:, k, None], bins, length).to(x.data.dtype)
            for k, bins, length in ((0, columns, x.shape[3]), (1, rows, x.shape[2]))
        )
        maps = x[image].reshape([channels, rows, columns, *x.shape[2:]])
        pooled.append(einsum("rih,cijhw,rjw->rcij", Tensor(down), maps, Tensor(across)))
    return concat(pooled, 0) if pooled else _empty(x, boxes, channels, size)


def _bins(low: torch.Tensor, step: torch.Tensor, bins: int, length: int) -> torch.Tensor:
    """[count, bins, length]: the weight of each pixel in the mean of each bin."""
    edges = torch.arange(bins + 1, dtype=low.dtype, device=low.device)
    first = (edges[:-1] * step + low).floor().clamp(0, length).unsqueeze(-1)
    last = (edges[1:] * step + low).ceil().clamp(0, length).unsqueeze(-1)
    places = torch.arange(length, device=low.device)
    return ((places >= first) & (places < last)) / (last - first).clamp(min=1)


def _both(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def deform_conv2d(
    x,
    offset,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    deformable_groups=1,
    groups=1,
    mask=None,
    name=None,
):
    """Deformable convolution (Dai et al., 2017): samples at offset positions, weighted by `mask` (Zhu et al.,
    2018).

    x [n, c, h, w], weight [o, c / groups, kh, kw], mask [n, deformable_groups * kh * kw, h', w'], offset with
    twice as many channels: the vertical, then the horizontal offset of each kernel position. x is 0 outside
    its bounds.
    """
    (n, c, h, w), (o, _, *kernel), d = x.shape, weight.shape, deformable_groups
    stride, padding, dilation = _both(stride), _both(padding), _both(dilation)
    out = [
        (size + 2 * p - e * (k - 1) - 1) // s + 1
        for size, k, s, p, e in zip((h, w), kernel, stride, padding, dilation, strict=True)
    ]
    places = kernel[0] * kernel[1]
    if offset.shape != [n, 2 * d * places, *out]:
        raise InvalidArgument(f"offset: expected shape {[n, 2 * d * places, *out]}, got {[*offset.shape]}")
    moved = offset.reshape([n * d, places, 2, *out])
    starts = [
        torch.arange(m, device=x.data.device) * s - p for m, s, p in zip(out, stride, padding, strict=True)
    ]
    taps = [torch.arange(k, device=x.data.device) * e for k, e in zip(kernel, dilation, strict=True)]
    down = (taps[0].repeat_interleave(kernel[1])[:, None, None] + starts[0][:, None]).to(
        x.data.dtype
    )  # [places, h', 1]
    right = (taps[1].repeat(kernel[0])[:, None, None] + starts[1]).to(x.data.dtype)  # [places, 1, w']
    ys, xs = (moved[:, :, 0] + Tensor(down)) * 2 + 1, (moved[:, :, 1] + Tensor(right)) * 2 + 1
    grid = stack([xs / w - 1, ys / h - 1], -1).reshape([n * d, places * out[0], out[1], 2])
    drawn = F.grid_sample(x.reshape([n * d, c // d, h, w]), grid, align_corners=False)
    drawn = drawn.reshape([n * d, c // d, places, *out])
    if mask is not None:
        drawn = drawn * mask.reshape([n * d, 1, places, *out])
    columns = drawn.reshape([n, groups, c // groups * places, out[0] * out[1]])
    value = (weight.reshape([groups, o // groups, -1]) @ columns).reshape([n, o, *out])
    return value if bias is None else value + bias.reshape([-1, 1, 1])


class DeformConv2D(nn.Layer):
    """deform_conv2d as a layer with a weight: forward(x, offset, mask=None)."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        deformable_groups=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        if weight_attr is False or in_channels % groups:
            raise InvalidArgument(
                f"expected a weight, and in_channels a multiple of groups={groups}, got {in_channels}"
            )
        self._settings = {
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "deformable_groups": deformable_groups,
            "groups": groups,
        }
        shape = [out_channels, in_channels // groups, *_both(kernel_size)]
        start = nn.initializer.Normal(0.0, (2.0 / (math.prod(shape[2:]) * in_channels)) ** 0.5)
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=start)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any, offset: Any, mask: Any = None) -> Any:
        return deform_conv2d(x, offset, self.weight, self.bias, mask=mask, **self._settings)


class RoIPool(FunctionLayer, of=roi_pool, inputs=3, takes="output_size spatial_scale"):
    __doc__ = roi_pool.__doc__


class PSRoIPool(FunctionLayer, of=psroi_pool, inputs=3, takes="output_size spatial_scale", shows=""):
    __doc__ = psroi_pool.__doc__


class RoIAlign(FunctionLayer, of=roi_align, inputs=3, takes="output_size spatial_scale", shows=""):
    __doc__ = roi_align.__doc__

    def forward(self, x: Any, boxes: Any, boxes_num: Any, aligned: bool = True) -> Any:
        return roi_align(x, boxes, boxes_num, self.output_size, self.spatial_scale, aligned=aligned)


# --- boxes --------------------------------------------------------------------------------------------------


def _area(boxes: torch.Tensor, more: float = 0.0) -> torch.Tensor:
    """Areas of boxes [..., 4]; `more` is 1 where x2 and y2 name the last pixel."""
    size = boxes[..., 2:] - boxes[..., :2]
    return (size + more).prod(-1) * (size >= 0).all(-1)


def _overlap(a: torch.Tensor, b: torch.Tensor, more: float = 0.0) -> torch.Tensor:
    """Intersection over union of boxes [..., 4] that broadcast."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    common = (high - low + more).clamp(min=0).prod(-1)
    return common / (_area(a, more) + _area(b, more) - common)


def _kept(boxes: torch.Tensor, threshold: float, more: float = 0.0, eta: float = 1.0) -> torch.Tensor:
    """Indices of the boxes that no earlier kept box overlaps by more than the threshold; one pass for each
    kept box."""
    left, kept = torch.arange(len(boxes), device=boxes.device), []
    while len(left):
        kept.append(left[0])
        left = left[1:][~(_overlap(boxes[left[0]], boxes[left[1:]], more) > threshold)]
        threshold *= eta if eta < 1 and threshold > 0.5 else 1
    return torch.stack(kept) if kept else left


def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """Non-maximum suppression: indices of boxes [n, 4], best first, without boxes that overlap a better one
    by more than iou_threshold.

    scores [n]: by default in order of the boxes. category_idxs [n]: categories are independent; `categories`
    lists them. top_k: the largest number of indices.
    """
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InvalidArgument(f"boxes: expected shape [n, 4], got {[*boxes.shape]}")
    if scores is None:
        return Tensor(_kept(boxes.data, iou_threshold))
    order = scores.data.argsort(descending=True, stable=True)
    if category_idxs is None:
        return Tensor(order[_kept(boxes.data[order], iou_threshold)])
    if categories is None:
        raise InvalidArgument(
            "categories: expected the list of all categories beside category_idxs, got None"
        )
    if top_k is not None and top_k > scores.shape[0]:
        raise InvalidArgument(f"top_k: expected at most {scores.shape[0]}, the number of boxes, got {top_k}")
    found = torch.zeros_like(order, dtype=torch.bool)
    for category in categories:
        own = order[category_idxs.data[order] == category]
        found[own[_kept(boxes.data[own], iou_threshold)]] = True
    return Tensor(order[found[order]][:top_k])


def matrix_nms(
    bboxes,
    scores,
    score_threshold,
    post_threshold,
    nms_top_k,
    keep_top_k,
    use_gaussian=False,
    gaussian_sigma=2.0,
    background_label=0,
    normalized=True,
    return_index=False,
    return_rois_num=True,
    name=None,
):
    """Matrix NMS (Wang et al., 2020): decays the scores of overlapped boxes instead of removing the boxes.

    bboxes [n, m, 4], scores [n, classes, m]. Returns rows (class, score, x1, y1, x2, y2), how many belong to
    each image (or None), and their places in bboxes [n * m] (or None).
    """
    more, rows, places, counts = 0.0 if normalized else 1.0, [], [], []
    for image, (boxes, table) in enumerate(zip(bboxes.data, scores.data, strict=True)):
        found = []
        for label, chance in enumerate(table):
            order = (chance > score_threshold).nonzero().flatten()
            if label == background_label or not len(order):
                continue
            order = order[chance[order].argsort(descending=True, stable=True)][
                : nms_top_k if nms_top_k > -1 else None
            ]
            overlap = _overlap(boxes[order][:, None], boxes[order], more).triu(1)  # [better, worse]
            most = overlap.amax(0)[:, None]
            if use_gaussian:
                decay = ((most**2 - overlap**2) * gaussian_sigma).exp()
            else:
                decay = (1 - overlap) / (1 - most)
            above = torch.ones_like(decay).triu(1) > 0
            decayed = chance[order] * decay.where(above, torch.ones_like(decay)).amin(0).clamp(max=1)
            keep = decayed > post_threshold
            head = torch.stack([torch.full_like(decayed, label), decayed], 1)
            found.append((torch.cat([head, boxes[order]], 1)[keep], order[keep] + image * len(boxes)))
        row = torch.cat([r for r, _ in found]) if found else boxes.new_zeros(0, 6)
        place = torch.cat([p for _, p in found]) if found else boxes.new_zeros(0, dtype=torch.long)
        best = row[:, 1].argsort(descending=True, stable=True)[: keep_top_k if keep_top_k > -1 else None]
        rows.append(row[best])
        places.append(place[best])
        counts.append(len(best))
    index = Tensor(torch.cat(places).int()[:, None]) if return_index else None
    return (
        Tensor(torch.cat(rows)),
        Tensor(torch.tensor(counts, dtype=torch.int32)) if return_rois_num else None,
        index,
    )


def box_coder(
    prior_box,
    prior_box_var,
    target_box,
    code_type="encode_center_size",
    box_normalized=True,
    axis=0,
    name=None,
):
    """Encode boxes as differences from priors in centre and log size, or decode them (Ren et al., 2015).

    "encode_center_size": target_box [n, 4], priors [m, 4], to [n, m, 4]. "decode_center_size": target_box [n,
    m, 4] with priors [m, 4] (axis 0) or [n, 4] (axis 1). prior_box_var: divisors, a Tensor like the priors or
    four numbers.
    """
    if not isinstance(prior_box_var, (Tensor, list, tuple)) or (
        not isinstance(prior_box_var, Tensor) and len(prior_box_var) != 4
    ):
        raise InvalidType(f"prior_box_var: expected a Tensor or four numbers, got {prior_box_var!r}")
    if code_type not in ("encode_center_size", "decode_center_size"):
        raise InvalidArgument(
            f"code_type: expected encode_center_size or decode_center_size, got {code_type!r}"
        )
    more, encode = 0.0 if box_normalized else 1.0, code_type == "encode_center_size"
    spread = (
        prior_box_var
        if isinstance(prior_box_var, Tensor)
        else Tensor(torch.tensor(prior_box_var, dtype=prior_box.data.dtype))
    )
    size = prior_box[:, 2:] - prior_box[:, :2] + more
    centre = prior_box[:, :2] + size / 2
    if not encode and axis == 1:
        size, centre = size.unsqueeze(1), centre.unsqueeze(1)
        spread = spread.unsqueeze(1) if spread.ndim > 1 else spread
    if encode:
        own = (target_box[:, 2:] - target_box[:, :2] + more).unsqueeze(1)
        middle = ((target_box[:, 2:] + target_box[:, :2]) / 2).unsqueeze(1)
        return concat([(middle - centre) / size, (own / size).abs().log()], -1) / spread
    step = target_box * spread
    middle, half = step[..., :2] * size + centre, step[..., 2:].exp() * size / 2
    return concat([middle - half, middle + half - more], -1)


def prior_box(
    input,
    image,
    min_sizes,
    max_sizes=None,
    aspect_ratios=[1.0],
    variance=[0.1, 0.1, 0.2, 0.2],
    flip=False,
    clip=False,
    steps=[0.0, 0.0],
    offset=0.5,
    min_max_aspect_ratios_order=False,
    name=None,
):
    """Prior boxes of several sizes and shapes at each position of `input` [n, c, h, w] (Liu et al., 2016).

    Returns boxes [h, w, priors, 4] as fractions of `image`, and the variance of each.
    """
    min_sizes, max_sizes, aspect_ratios = (
        [float(v) for v in (given if isinstance(given, (list, tuple)) else [given])]
        for given in (min_sizes, [] if max_sizes is None else max_sizes, aspect_ratios)
    )
    steps = list(steps) if isinstance(steps, (list, tuple)) else [steps]
    if len(steps) != 2:
        raise InvalidArgument(f"steps: expected (width, height), got {steps}")
    ratios = [1.0]
    for ratio in aspect_ratios:
        if all(abs(ratio - r) >= 1e-6 for r in ratios):
            ratios += [ratio, 1 / ratio] if flip else [ratio]
    sizes = []  # half widths and heights
    for i, least in enumerate(min_sizes):
        shapes = [(least * r**0.5 / 2, least / r**0.5 / 2) for r in ratios]
        squares = [((least * max_sizes[i]) ** 0.5 / 2,) * 2] if max_sizes else []
        sizes += shapes[:1] + squares + shapes[1:] if min_max_aspect_ratios_order else shapes + squares
    (h, w), (height, width) = input.shape[2:], image.shape[2:]
    step = [steps[0] or width / w, steps[1] or height / h]
    kind = {"dtype": input.data.dtype, "device": input.data.device}
    x, y = (((torch.arange(n, **kind) + offset) * s) for n, s in ((w, step[0]), (h, step[1])))
    centre = torch.stack([x.expand(h, w), y[:, None].expand(h, w)], -1)[:, :, None]
    half, whole = torch.tensor(sizes, **kind), torch.tensor([width, height], **kind)
    boxes = torch.cat([(centre - half) / whole, (centre + half) / whole], -1)
    spread = torch.tensor(variance, **kind).expand(boxes.shape)
    return Tensor(boxes.clamp(0, 1) if clip else boxes), Tensor(spread.contiguous())


def distribute_fpn_proposals(
    fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset=False, rois_num=None, name=None
):
    """Assign boxes [n, 4] to levels of the feature pyramid: refer_level + log2(sqrt(area) / refer_scale) (Lin
    et al., 2016).

    rois_num: boxes of each image. Returns the boxes of each level, the place of each box among them all [n,
    1], and for each level the boxes of each image.
    """
    if not 0 < min_level < max_level or rois_num is None:
        raise InvalidArgument(
            f"expected 0 < min_level < max_level and rois_num, got {min_level}, {max_level}, {rois_num}"
        )
    scale = _area(fpn_rois.data, float(pixel_offset)).sqrt()
    level = ((scale / refer_scale + 1e-6).log2() + refer_level).floor().clamp(min_level, max_level).long()
    image = torch.repeat_interleave(rois_num.data.long())
    levels = range(min_level, max_level + 1)
    back = level.argsort(stable=True).argsort().int()[:, None]
    counts = [Tensor(torch.bincount(image[level == n], minlength=len(rois_num.data)).int()) for n in levels]
    return [Tensor(fpn_rois.data[level == n]) for n in levels], Tensor(back), counts


def generate_proposals(
    scores,
    bbox_deltas,
    img_size,
    anchors,
    variances,
    pre_nms_top_n=6000,
    post_nms_top_n=1000,
    nms_thresh=0.5,
    min_size=0.1,
    eta=1.0,
    pixel_offset=False,
    return_rois_num=False,
    name=None,
):
    """Proposals of a region proposal network, after NMS (Ren et al., 2015).

    scores [n, a, h, w], bbox_deltas [n, 4 a, h, w], img_size [n, 2] (height, width), anchors and variances
    [h, w, a, 4]. Returns boxes [count, 4], their scores [count, 1], and the boxes of each image.
    """
    more, found = float(pixel_offset), []
    for chance, deltas, (height, width) in zip(
        scores.data, bbox_deltas.data, img_size.data.tolist(), strict=True
    ):
        chance = chance.permute(1, 2, 0).flatten()
        order = chance.argsort(descending=True, stable=True)[: pre_nms_top_n if pre_nms_top_n > 0 else None]
        step = (
            deltas.unflatten(0, (-1, 4)).permute(2, 3, 0, 1).reshape(-1, 4)[order]
            * variances.data.reshape(-1, 4)[order]
        )
        prior = anchors.data.reshape(-1, 4)[order]
        size = prior[:, 2:] - prior[:, :2] + more
        middle = step[:, :2] * size + prior[:, :2] + size / 2
        half = step[:, 2:].clamp(max=math.log(1000 / 16)).exp() * size / 2
        limit = torch.tensor([width, height] * 2, dtype=half.dtype, device=half.device)
        boxes = torch.cat([middle - half, middle + half - more], 1).clamp(min=0).minimum(limit - more)
        big = (boxes[:, 2:] - boxes[:, :2] + more >= max(min_size, 1.0)).all(1)
        if pixel_offset:
            big &= ((boxes[:, :2] + boxes[:, 2:] + more) / 2 <= limit[:2]).all(1)
        boxes, chance = boxes[big], chance[order][big]
        kept = _kept(boxes, nms_thresh, more, eta)[: post_nms_top_n if post_nms_top_n > 0 else None]
        found.append((boxes[kept], chance[kept, None]))
    boxes, chances = (Tensor(torch.cat(parts)) for parts in zip(*found, strict=True))
    return (
        boxes,
        chances,
        Tensor(torch.tensor([len(b) for b, _ in found], dtype=torch.int32)) if return_rois_num else None,
    )


# --- YOLO ---------------------------------------------------------------------------------------------------


def yolo_box(
    x,
    img_size,
    anchors,
    class_num,
    conf_thresh,
    downsample_ratio,
    clip_bbox=True,
    name=None,
    scale_x_y=1.0,
    iou_aware=False,
    iou_aware_factor=0.5,
):
    """Boxes [n, a h w, 4] and class scores [n, a h w, class_num] of YOLO's output x [n, a (5 + class_num), h,
    w].

    img_size [n, 2]: (height, width) of the images. anchors: width and height of each. Where the objectness is
    below conf_thresh, all is 0. iou_aware: x starts with one channel for each anchor, the predicted IoU.
    """
    data, count = x.data, len(anchors) // 2
    n, _, h, w = data.shape
    overlap = data[:, :count].sigmoid() if iou_aware else None
    data = (
        data[:, count * iou_aware :].reshape(n, count, 5 + class_num, h, w).movedim(2, -1)
    )  # [n, a, h, w, 5 + classes]
    place = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(h), indexing="xy"), -1).to(data)
    image = img_size.data.flip(1).to(data)[:, None, None, None]  # width, height
    grid = data.new_tensor([w, h])
    middle = (place + data[..., :2].sigmoid() * scale_x_y - 0.5 * (scale_x_y - 1)) * image / grid
    anchor = data.new_tensor(anchors).reshape(count, 1, 1, 2)
    half = data[..., 2:4].exp() * anchor * image / (downsample_ratio * grid) / 2
    chance = data[..., 4].sigmoid()
    if overlap is not None:
        chance = chance ** (1 - iou_aware_factor) * overlap**iou_aware_factor
    low, high = middle - half, middle + half
    if clip_bbox:
        low, high = low.clamp(min=0), torch.minimum(high, image - 1)
    seen = (chance >= conf_thresh)[..., None]
    boxes, scores = torch.cat([low, high], -1) * seen, chance[..., None] * data[..., 5:].sigmoid() * seen
    return Tensor(boxes.reshape(n, -1, 4)), Tensor(scores.reshape(n, -1, class_num))


def yolo_loss(
    x,
    gt_box,
    gt_label,
    anchors,
    anchor_mask,
    class_num,
    ignore_thresh,
    downsample_ratio,
    gt_score=None,
    use_label_smooth=True,
    name=None,
    scale_x_y=1.0,
):
    """YOLO v3's loss of each image [n] (Redmon and Farhadi, 2018): of position, size, objectness and class.

    x [n, m (5 + class_num), h, w] for the m anchors of anchor_mask; gt_box [n, b, 4] (centre and size in
    parts of the image; size 0 for padding), gt_label [n, b]; gt_score [n, b]: weights of the boxes (mixup). A
    prediction that overlaps a true box by more than ignore_thresh without being assigned to it has no
    objectness loss.
    """
    n, _, h, w = x.shape
    count, size = len(anchor_mask), downsample_ratio * h
    out = x.reshape([n, count, 5 + class_num, h, w]).transpose([0, 1, 3, 4, 2])  # [n, m, h, w, 5 + classes]
    data, truth = out.data, gt_box.data.to(x.data.dtype)
    shapes = data.new_tensor(anchors).reshape(-1, 2)
    valid = (truth[..., 2:] > 1e-6).all(-1)  # [n, b]
    place = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(h), indexing="xy"), -1).to(data)
    middle = (place + data[..., :2].sigmoid() * scale_x_y - 0.5 * (scale_x_y - 1)) / torch.tensor([w, h]).to(
        data
    )
    half = data[..., 2:4].exp() * shapes[anchor_mask].reshape(count, 1, 1, 2) / size / 2
    boxes = torch.cat([middle - half, middle + half], -1)
    true = torch.cat([truth[..., :2] - truth[..., 2:] / 2, truth[..., :2] + truth[..., 2:] / 2], -1)
    overlap = _overlap(boxes[:, :, :, :, None], true[:, None, None, None]) * valid[:, None, None, None]
    objects = -(overlap.amax(-1) > ignore_thresh).to(data) if valid.any() else torch.zeros_like(data[..., 0])
    common = torch.minimum(truth[..., None, 2:], shapes / size).prod(-1)
    best = (common / (truth[..., None, 2:].prod(-1) + (shapes / size).prod(-1) - common)).argmax(
        -1
    )  # [n, b]: the anchor of each true box
    mask = torch.full((len(shapes),), -1)
    mask[list(anchor_mask)] = torch.arange(count)
    mask = mask.to(best)
    image, box = (valid & (mask[best] >= 0)).nonzero(as_tuple=True)
    goal, score = truth[image, box], torch.ones_like(truth[..., 0]) if gt_score is None else gt_score.data
    score, anchor = score[image, box], mask[best[image, box]]
    column, row = (goal[:, 0] * w).long(), (goal[:, 1] * h).long()
    objects[image, anchor, row, column] = score
    assigned = out[Tensor(image), Tensor(anchor), Tensor(row), Tensor(column)]  # [objects, 5 + classes]
    offset = goal[:, :2] * data.new_tensor([w, h]) - torch.stack([column, row], 1)
    stretch = (goal[:, 2:] * size / shapes[best[image, box]]).log()
    weight = Tensor(((2 - goal[:, 2] * goal[:, 3]) * score)[:, None])
    smooth = min(1 / class_num, 1 / 40) if use_label_smooth else 0.0
    labels = data.new_full((len(image), class_num), smooth)
    labels[torch.arange(len(image)), gt_label.data[image, box].long()] = 1 - smooth
    own = (_cross_entropy(assigned[:, :2], Tensor(offset)) * weight).sum(-1)
    own = own + ((assigned[:, 2:4] - Tensor(stretch)).abs() * weight).sum(-1)
    own = own + (_cross_entropy(assigned[:, 5:], Tensor(labels)) * Tensor(score[:, None])).sum(-1)
    per_image = Tensor(torch.nn.functional.one_hot(image, n).to(data)).T @ own
    seen, weight = (
        Tensor((objects > 1e-5).to(data)),
        Tensor(torch.where(objects > 1e-5, objects, (objects > -0.5).to(data))),
    )
    return per_image + (_cross_entropy(out[..., 4], seen) * weight).sum([1, 2, 3])


def _cross_entropy(logits: Any, labels: Any) -> Any:
    return F.binary_cross_entropy_with_logits(logits, labels, reduction="none")


# --- files --------------------------------------------------------------------------------------------------


def read_file(filename, name=None):
    """The content of a file, uint8 [length]."""
    with open(filename, "rb") as file:
        return Tensor(torch.frombuffer(bytearray(file.read()), dtype=torch.uint8))


def decode_jpeg(x, mode="unchanged", name=None):
    """The image [channels, height, width], uint8, in the bytes x. mode: "unchanged", "gray" or "rgb". Needs
    Pillow."""
    from PIL import Image

    modes = {"unchanged": None, "gray": "L", "rgb": "RGB"}
    if mode not in modes:
        raise InvalidArgument(f"mode: expected one of {', '.join(modes)}, got {mode!r}")
    image = Image.open(io.BytesIO(x.data.cpu().numpy().tobytes()))
    pixels = np.array(image.convert(modes[mode]) if modes[mode] else image)
    return Tensor(
        torch.from_numpy(pixels if pixels.ndim == 3 else pixels[..., None]).permute(2, 0, 1).contiguous()
    )


spell(globals())
