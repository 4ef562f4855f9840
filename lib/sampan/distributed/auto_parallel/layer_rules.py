"""Rules of the operators of layers: products, attention, norms, convolution, look-up, losses, masks."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.distributed.tensor import Partial, Shard

from ...engine.apply import apply
from ...engine.tensor import Tensor
from . import spatial
from .counted import all_reduce, broadcast
from .dispatch import Call, Plan, refused, rule
from .transfer import REPLICATE

# --- products: a letter for each axis, as in einsum ---


def by_letters(
    call: Call, lies: dict[int, Any], letters: dict[int, str], output: str, free: str = ""
) -> Plan | None:
    """Cut along the letter for which least moves: inputs without it are replicated, a value without it a sum.

    free: letters that may be cut; "" for all of them.
    """
    terms = [place for place, lie in lies.items() if lie.is_partial()]
    if (
        len(terms) == 1
        and lies[terms[0]].is_partial("sum")
        and not any(lie.is_shard() for lie in lies.values())
    ):
        return Plan(lies, Partial())
    best: tuple[int, Plan] | None = None
    for place, lie in lies.items():
        if not lie.is_shard():
            continue
        letter = letters[place][lie.dim]
        if (free and letter not in free) or call.shapes[place][lie.dim] == 1:
            continue
        inputs = {}
        for other, own in letters.items():
            here = own.find(letter)
            inputs[other] = Shard(here) if here >= 0 and call.shapes[other][here] > 1 else REPLICATE
        here = output.find(letter)
        plan = Plan(inputs, Shard(here) if here >= 0 else Partial())
        kept = sum(math.prod(call.shapes[other]) for other in lies if lies[other] == inputs[other])
        if best is None or kept > best[0]:
            best = (kept, plan)
    return None if best is None else best[1]


@rule("mm")
def product(call: Call, lies: dict[int, Any]) -> Plan | None:
    """x [n, k] @ y [k, m]."""
    return by_letters(call, lies, {0: "nk", 1: "km"}, "nm")


@rule("affine")
def affine(call: Call, lies: dict[int, Any]) -> Plan | None:
    """x @ weight + bias: a bias is added by one process where each has a term of the product."""
    if any(lie.is_partial() for lie in lies.values()):
        return None
    plan = by_letters(call, lies, {0: "nk", 1: "km", 2: "m"}, "nm")
    if plan is None or not plan.outputs.is_partial():
        return plan
    return Plan({**plan.inputs, 2: Partial()}, plan.outputs)


@rule("batched_matmul")
def batched(call: Call, lies: dict[int, Any]) -> Plan | None:
    """[..., n, k] @ [..., k, m], either of them transposed."""
    ndim = max(len(call.shapes[place]) for place in lies)
    batch = "".join(chr(ord("A") + i) for i in range(ndim - 2))
    ends = {
        0: "kn" if call.given("transpose_x") else "nk",
        1: "mk" if call.given("transpose_y") else "km",
    }
    letters = {place: batch[ndim - len(call.shapes[place]) :] + end for place, end in ends.items()}
    return by_letters(call, lies, letters, batch + "nm")


@rule("contract")
def contraction(call: Call, lies: dict[int, Any]) -> Plan | None:
    """einsum, whose letters say it."""
    letters = dict(enumerate(call.settings["letters"]))
    return by_letters(call, lies, letters, call.settings["output"])


@rule("fused_attention")
def attention(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Query, key and value [batch, time, heads, width]: cut along the batch or the heads."""
    letters = {0: "bshd", 1: "bthd", 2: "bthd"}
    if 3 in lies:
        letters[3] = "bhst"[4 - len(call.shapes[3]) :]
    if any(lie.is_partial() for lie in lies.values()):
        return None
    return by_letters(call, lies, letters, "bshd", free="bh")


# --- a batch, and channels ---


@rule("normalize_layer", "normalize_rms")
def normalized(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Along the last axis; the weights are whole."""
    x = lies[0]
    if not x.is_shard() or x.dim == len(call.shapes[0]) - 1:
        return None
    return Plan({**dict.fromkeys(lies, REPLICATE), 0: x}, x)


@rule("normalize_groups")
def by_sample(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Cut along the batch; the weights are whole."""
    x = lies[0]
    return Plan({**dict.fromkeys(lies, REPLICATE), 0: x}, x) if x.is_shard(0) else None


@rule("normalize_batch")
def by_statistics(call: Call, lies: dict[int, Any]) -> Plan | None:
    """With given statistics cut along the batch. In training the statistics are those of the whole batch."""
    return None if call.given("training") else by_sample(call, lies)


@rule("convolve", run=spatial.convolved)
def convolution(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Cut along the batch, along the width of images, or along the channels of the result where they form one
    group."""
    if lies[0].is_shard(0):
        return by_sample(call, lies)
    if lies[0].is_shard(3):
        return spatial.by_width(call)
    settings = call.given("settings")
    weight = lies.get(1, REPLICATE)
    *_, transposed, _, groups = settings
    if not weight.is_shard(0) or groups != 1 or transposed:
        return None
    cut = {place: Shard(0) for place in lies if place != 0}
    return Plan({0: REPLICATE, **cut}, Shard(1))


@rule(
    "max_pool",
    "avg_pool",
    "adaptive_pool",
    "resized",
    "windows",
    "pixels_shuffled",
    "pixels_gathered",
    "at_places",
)
def by_channel(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Cut along the batch; pooling also along the channels."""
    x, name = lies[0], call.operator.name
    channels = name.endswith("pool") or name == "resized"
    if len(lies) > 1 or not x.is_shard() or x.dim > int(channels):
        return None
    return Plan(lies, x)


# --- look-up ---


def _local_rows(call: Call, parts: list[Any]) -> Any:
    """Where the table is cut by rows: ids of other processes read a row that counts as zeros."""
    call.replace("as_rows", False)
    x, weight, *rest = call.args
    cuts = [axis for axis, plan in enumerate(call.plans) if plan.inputs[1].is_shard(0)]
    if not cuts:
        return apply(call.operator, tuple(call.args), call.settings)
    start, count = rows_here(call, call.shapes[1][0], cuts)
    ids = x.data - start
    inside = (ids >= 0) & (ids < count)
    padding = rest[0] if rest else call.settings.get("padding", -1)
    if padding >= 0:
        inside &= x.data != padding
    local = ids.masked_fill(~inside, 0)
    if not count:
        return Tensor(weight.data.new_zeros(*x.data.shape, weight.data.shape[1]))
    rows = apply(call.operator, (Tensor(local), weight, -1, rest[1] if len(rest) > 1 else False, False), {})
    return rows * Tensor(inside.unsqueeze(-1).to(rows.data.dtype))


def rows_here(call: Call, total: int, axes: list[int]) -> tuple[int, int]:
    """The first index and the count here, of an axis of `total` that is cut along these axes of the mesh."""
    start, count = 0, total
    place = call.mesh.get_coordinate() or [0] * call.mesh.ndim
    for axis in axes:
        step = -(-count // call.mesh.shape[axis])
        begin = min(place[axis] * step, count)
        start, count = start + begin, min(step, count - begin)
    return start, count


@rule("rows_at", run=_local_rows)
def look_up(call: Call, lies: dict[int, Any]) -> Plan | None:
    """The table cut by rows: each process has the rows of its own ids, a term of the value. By columns: so is
    the value. Ids cut: so is the value."""
    ids, table = lies.get(0, REPLICATE), lies.get(1, REPLICATE)
    if call.given("by_frequency"):
        return None
    if ids.is_shard():
        return Plan({0: ids, 1: REPLICATE}, ids)
    if table.is_shard(0):
        return Plan({0: REPLICATE, 1: table}, Partial())
    if table.is_shard(1):
        return Plan({0: REPLICATE, 1: table}, Shard(len(call.shapes[0])))
    return None


# --- losses ---


def _local_mean(call: Call, parts: list[Any]) -> Any:
    """The mean over the rows here, times their share of all rows."""
    x, label = parts[0], parts[1]
    ignore = call.given("ignore_index")
    cut = any(plan.inputs[0].is_shard() for plan in call.plans)
    if not cut:
        return apply(call.operator, tuple(parts), call.settings)
    if ignore < 0:
        share = len(label.data) / call.shapes[0][0]
    else:
        counted = torch.tensor(int((label.data != ignore).sum()))
        mine = int(counted)
        for axis, plan in enumerate(call.plans):
            if plan.inputs[0].is_shard():
                all_reduce(counted, call.mesh.get_group(axis))
        share = mine / max(int(counted), 1)
    if not len(label.data):
        return x.sum() * 0.0
    return apply(call.operator, tuple(parts), call.settings) * share


@rule("mean_cross_entropy", run=_local_mean)
def mean_loss(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Logits [n, classes] and labels [n] cut by rows."""
    if not lies[0].is_shard(0) and not lies.get(1, REPLICATE).is_shard(0):
        return None
    return Plan({0: Shard(0), 1: Shard(0)}, Partial())


@rule("squared_loss", "absolute_loss", "huber_loss", "bernoulli_loss", "logistic_loss")
def pair_loss(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Losses of two arrays of one shape, as an array, a sum or a mean."""
    cuts = [lie.dim for lie in lies.values() if lie.is_shard()]
    if not cuts or len(lies) != 2 or call.shapes[0] != call.shapes[1]:
        return None
    inputs, kind = dict.fromkeys(lies, Shard(cuts[0])), call.given("reduction")
    if kind == "none":
        return Plan(inputs, Shard(cuts[0]))
    if kind == "sum":
        return Plan(inputs, Partial())
    length = call.shapes[0][cuts[0]]
    return Plan(inputs, Partial("avg")) if length and length % call.mesh.size() == 0 else None


# --- random numbers ---


def _own_stream(call: Call, parts: list[Any]) -> Any:
    """One number of the first process starts the generator of each part, which then are different ones.

    So parts that are equal copies draw the same numbers, whatever the seeds of the processes are.
    """
    mesh = call.mesh
    number = torch.randint(1 << 62, [1], dtype=torch.int64)
    place = mesh.get_coordinate()
    if place is None:
        return apply(call.operator, tuple(parts), call.settings)
    for axis in reversed(range(mesh.ndim)):
        broadcast(number, 0, mesh.get_group(axis))
    part = 0
    for axis, plan in enumerate(call.plans):
        if any(lie.is_shard() for lie in plan.inputs.values()):
            part = part * mesh.shape[axis] + place[axis] + 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed((int(number) + 0x9E3779B97F4A7C15 * part) % (1 << 63))
        return apply(call.operator, tuple(_local_shape(call, parts)), call.settings)


def _local_shape(call: Call, parts: list[Any]) -> list[Any]:
    """The arguments with the shape in which a mask is drawn cut like its tensor."""
    if call.operator.name != "drawn_mask":
        return parts
    x, p, shape, *rest = parts
    local = [1 if n == 1 else mine for n, mine in zip(shape, x.data.shape, strict=True)]
    return [x, p, local, *rest]


@rule("drawn_mask", "bernoulli", "poisson", "standard_gamma", run=_own_stream)
def drawn(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Numbers drawn for each entry: each part draws its own."""
    first = lies[0]
    if not first.is_shard() or any(call.shapes[place] != call.shapes[0] for place in lies):
        return None
    if call.operator.name == "drawn_mask" and call.given("shape")[first.dim] == 1:
        return None
    return Plan(dict.fromkeys(lies, first), first)


@rule("binomial", "multinomial", "drawn_line", "exponential_logs", run=_own_stream)
def drawn_whole(call: Call, lies: dict[int, Any]) -> Plan | None:
    """Drawn alike in all processes."""
    return None


refused["strided"] = (
    "it reads memory by strides, of which each process has a part; reshard to Replicate and take "
    "its _local_value()"
)
refused["reinterpreted"] = refused["strided"]
