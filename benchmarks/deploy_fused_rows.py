"""The rows of `deploy.py` about loops and memory: elementwise calls beside compilers that fuse, what is allocated at
once beside the bound by liveness, and the first call."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

import sampan as paddle
import sampan.nn.functional as F
from sampan import nn
from sampan.jit.evaluation import Evaluation
from sampan.jit.record import Outside
from sampan.jit.spec import InputSpec
from sampan.jit.stages import stages
from sampan.jit.whole import recorded

from .deploy_rows import NETWORKS, files
from .side_by_side import Row, Step, library

SHARED = 0.4  # bytes at once / those of the eager layer, at most
FIRST, LOADED = 1.0, 0.2  # seconds of a first call, and of a load with the first call after it


class Fused(NamedTuple):
    """A function written for Sampan, for torch and for JAX; shapes: of its inputs, normally distributed."""

    ours: Callable[..., Any]
    torch: Callable[..., Any]
    jax: Callable[..., Any]
    shapes: list[tuple[int, ...]]


def chain_in_torch(x: Any, y: Any, bias: Any) -> Any:
    t = torch.nn.functional
    return t.silu(t.gelu(x + bias) * y - 0.5) + torch.tanh(y)


def chain_in_jax(x: Any, y: Any, bias: Any) -> Any:
    jax: Any = library("jax")
    return jax.nn.silu(jax.nn.gelu(x + bias, approximate=False) * y - 0.5) + jax.numpy.tanh(y)


def norm_in_torch(x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.gelu(torch.layer_norm(x, x.shape[-1:], weight, bias))


def norm_in_jax(x: Any, weight: Any, bias: Any) -> Any:
    jax: Any = library("jax")
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    scaled = (x - mean) / jax.numpy.sqrt(variance + 1e-5) * weight + bias
    return jax.nn.gelu(scaled, approximate=False)


def chain_in_sampan(x: Any, y: Any, bias: Any) -> Any:
    return F.silu(F.gelu(x + bias) * y - 0.5) + paddle.tanh(y)


def norm_in_sampan(x: Any, weight: Any, bias: Any) -> Any:
    return F.gelu(F.layer_norm(x, x.shape[-1:], weight, bias))


CASES = {
    "elementwise chain, 256 x 256": Fused(
        chain_in_sampan, chain_in_torch, chain_in_jax, [(256, 256), (256, 256), (256,)]
    ),
    "elementwise chain, 2000 x 2000": Fused(
        chain_in_sampan, chain_in_torch, chain_in_jax, [(2000, 2000), (2000, 2000), (2000,)]
    ),
    "layer norm + GELU, 128 x 768": Fused(
        norm_in_sampan, norm_in_torch, norm_in_jax, [(128, 768), (768,), (768,)]
    ),
    "layer norm + GELU, 2048 x 768": Fused(
        norm_in_sampan, norm_in_torch, norm_in_jax, [(2048, 768), (768,), (768,)]
    ),
}


def evaluation(function: Any, inputs: list[torch.Tensor]) -> Evaluation:
    """The Program of a function or a layer's forward, as a predictor runs it."""
    outside = Outside()
    with paddle.no_grad():
        whole = recorded(function, [InputSpec(list(b.shape)) for b in inputs], outside)
    return Evaluation(whole.program, outside.tensors, outside.buffers)


def beside_compilers(name: str) -> dict[str, Step]:
    """One call of the function by Sampan, by torch eagerly and compiled, and by JAX where it is installed."""
    case = CASES[name]
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(shape, generator=generator) for shape in case.shapes]
    own = evaluation(case.ours, inputs)
    compiled = torch.compile(case.torch)
    programs: dict[str, Step] = {
        "sampan": lambda: own(inputs)[0],
        "torch": lambda: case.torch(*inputs),
        "torch.compile": lambda: compiled(*inputs),
    }
    jax = library("jax")
    if jax is not None:  # its threads are those of the process's environment
        arrays, function = [jax.numpy.asarray(b.numpy()) for b in inputs], jax.jit(case.jax)
        programs["jax"] = lambda: function(*arrays).block_until_ready()
    return {kind: without_gradients(program) for kind, program in programs.items()}


def without_gradients(program: Step) -> Step:
    def run() -> Any:
        with torch.no_grad():
            return program()

    return run


def allocated(step: Step) -> int:
    """The most bytes that torch's allocator has given and not got back during a call of `step`."""
    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        most = max(now, most)
    return most


def network(name: str) -> tuple[nn.Layer, paddle.Tensor]:
    """A layer that evaluates, and an input for it."""
    made = NETWORKS[name]
    paddle.seed(0)
    layer = made.make()
    layer.eval()
    return layer, paddle.randn([made.batch if n is None else n for n in made.shape])


def bytes_at_once(name: str) -> dict[str, Step]:
    """MB in place of ms: bytes that are allocated at once, in units of 1e9."""
    layer, x = network(name)
    own = evaluation(layer.forward, [x.data])
    bound = stages(layer, [x])[-1].peak
    found = {
        "sampan": allocated(lambda: own([x.data])),
        "eager": allocated(without_gradients(lambda: layer(x))),
        "bound by liveness": bound,
    }
    return {kind: partial(float, size / 1e9) for kind, size in found.items()}


def first_calls(name: str) -> dict[str, Step]:
    """Seconds: of recording, rewriting and the first call of a network; and the bound that is the goal."""
    layer, x = network(name)

    def once() -> float:
        again = copy.deepcopy(layer)
        began = time.perf_counter()
        evaluation(again.forward, [x.data])([x.data])
        return time.perf_counter() - began

    return {"sampan": once, "goal": lambda: FIRST}


def loads(name: str) -> dict[str, Step]:
    """Seconds: of reading the files of a network, without a call."""
    base = files(name)[1]

    def once() -> float:
        began = time.perf_counter()
        paddle.jit.load(base)
        return time.perf_counter() - began

    return {"sampan": once, "goal": lambda: LOADED}


def rows() -> Iterator[Row]:
    for name in CASES:
        yield Row(name, 1.0, partial(beside_compilers, name))
    for name in ("ResNet-18, batch 1", "MobileNetV2, batch 1"):
        programs = partial(bytes_at_once, name)
        yield Row(
            f"{name}: MB at once",
            round(1 / SHARED, 2),
            programs,
            timed=True,
            floor=("bound by liveness", 1.0),
        )
    yield Row("ResNet-18, batch 1: first call", 1.0, partial(first_calls, "ResNet-18, batch 1"), timed=True)
    yield Row("ResNet-18, batch 1: load", 1.0, partial(loads, "ResNet-18, batch 1"), timed=True)
