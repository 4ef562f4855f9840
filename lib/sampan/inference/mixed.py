"""`convert_to_mixed_precision`: a saved model whose parameters are held in 16 bits."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.errors import InvalidArgument
from ..engine.operator import operators
from ..engine.tensor import Tensor
from ..jit import load
from ..jit.code import read_by
from ..jit.program import Call, Program, Ref, mapped, refs
from ..jit.record import Outside
from ..jit.saving import _names, drafted
from ..jit.whole import Whole
from ..nn.parameter import Parameter
from .config import Config, base_of
from .kinds import PlaceType, PrecisionType

_HALVES = {PrecisionType.Half: torch.float16, PrecisionType.Bfloat16: torch.bfloat16}


def convert_to_mixed_precision(
    model_file: str,
    params_file: str,
    mixed_model_file: str,
    mixed_params_file: str,
    mixed_precision: PrecisionType,
    backend: PlaceType,
    keep_io_types: bool = True,
    black_list: Iterable[str] = frozenset(),
    **kwargs: Any,
) -> None:
    """Write a model of `jit.save` again with its float32 parameters in 16 bits: half the size.

    The CPU computes in float32 from them; so inputs and outputs keep their dtypes. mixed_precision:
    PrecisionType.Half or Bfloat16. black_list: operators whose parameters stay as they are; `white_list`:
    those whose parameters alone change. The parameters are written beside mixed_model_file, under its name.
    """
    if mixed_precision not in _HALVES:
        raise InvalidArgument(
            f"convert_to_mixed_precision: mixed_precision: expected Half or Bfloat16, got {mixed_precision!r}"
        )
    if not keep_io_types:
        raise InvalidArgument("convert_to_mixed_precision: keep_io_types: expected True, got False")
    if unknown := set(kwargs) - {"white_list"}:
        raise InvalidArgument(f"convert_to_mixed_precision: unknown settings {sorted(unknown)}")
    kind, place = Config(model_file, params_file).location()
    if kind != "program":
        raise InvalidArgument("convert_to_mixed_precision: model_file: expected a file of jit.save, got ONNX")
    layer = load(place)
    loaded: Whole = vars(layer)["forward"].loaded
    if loaded.branched:
        raise InvalidArgument("convert_to_mixed_precision: values of Tensors decide what the model computes")
    white = kwargs.get("white_list") or None
    chosen = _chosen(loaded.program, layer._outside, set(black_list), None if white is None else set(white))
    outside, original = Outside(), Outside()
    original.tensors, outside.buffers = layer._outside, layer._constants
    names = _names(layer, original)
    for i, tensor in enumerate(layer._outside):
        data = tensor.data.detach()
        data = data.to(_HALVES[mixed_precision]) if Ref("p", i) in chosen else data
        made = Parameter(data, not tensor.stop_gradient) if isinstance(tensor, Parameter) else Tensor(data)
        outside.tensors.append(made)
    whole = loaded._replace(program=_widened(loaded.program, sorted(chosen)))
    with drafted(base_of(os.fspath(mixed_model_file)), {"forward": whole}, names, outside):
        pass  # nothing more has to hold


def _chosen(program: Program, tensors: list[Tensor], black: set[str], white: set[str] | None) -> set[Ref]:
    """The parameters that change: those of float32 which no operator in `black` reads."""
    found = {Ref("p", i) for i, tensor in enumerate(tensors) if tensor.data.dtype is torch.float32}
    for call in program.calls:
        if call.name in black or (white is not None and call.name not in white):
            found -= set(read_by(call))
        found -= set(call.writes)
    return found - set(refs(program.result))


def _widened(program: Program, chosen: list[Ref]) -> Program:
    """The Program that reads these parameters through a cast to float32."""
    cast = operators["cast"]
    taken = [ref.index for call in program.calls for ref in refs(call.result) if ref.kind == "v"]
    saved = [call.saved.index for call in program.calls if call.saved is not None]
    first, number = 1 + max(taken, default=-1), 1 + max(saved, default=-1)
    wide = {ref: Ref("v", first + i) for i, ref in enumerate(chosen)}
    steps: list[Any] = [
        Call(cast.body, cast.name, (ref, as_dtype("float32")), {}, wide[ref], cast, Ref("s", number + i))
        for i, ref in enumerate(chosen)
    ]

    def read(leaf: Any) -> Any:
        return wide.get(leaf, leaf) if isinstance(leaf, Ref) else leaf

    steps += [
        replace(call, args=mapped(call.args, read), settings=mapped(call.settings, read))
        for call in program.calls
    ]
    return Program(steps, program.result)
