"""Predictor: a model that runs, with its inputs and outputs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..dtype import as_dtype, name_of
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor as PaddleTensor
from ..jit.spec import InputSpec
from .config import Config
from .engines import engine_of
from .kinds import DataType, PlaceType, data_type

_logger = logging.getLogger("sampan.inference")


class Tensor:
    """A handle: the place of one input or output of a predictor."""

    def __init__(self, predictor: Predictor, name: str, spec: InputSpec | None) -> None:
        self._predictor, self._name, self._spec = predictor, name, spec

    def name(self) -> str:
        """The name of the input or output."""
        return self._name

    def copy_from_cpu(self, data: np.ndarray) -> None:
        """Give an input: a copy of an array of the input's dtype."""
        if not isinstance(data, np.ndarray):
            raise InvalidType(f"copy_from_cpu: data: expected a numpy array, got {type(data).__name__}")
        self._put(torch.from_numpy(np.array(data, order="C")), "copy_from_cpu")

    def share_external_data(self, data: PaddleTensor) -> None:
        """Give an input without a copy: the memory of a Tensor."""
        if not isinstance(data, PaddleTensor):
            raise InvalidType(f"share_external_data: data: expected a Tensor, got {type(data).__name__}")
        self._put(data.data.detach(), "share_external_data")

    def _put(self, buffer: torch.Tensor, what: str) -> None:
        if self._spec is None:
            raise InvalidArgument(f"{what}: {self._name!r} is an output")
        fitting(self._spec, buffer, what)
        self._predictor._values[self._name] = buffer

    def copy_to_cpu(self) -> np.ndarray:
        """A copy of the content. InvalidArgument before `run`, or before an input is given."""
        found: np.ndarray = self._content("copy_to_cpu").detach().cpu().clone().numpy()
        return found

    def _content(self, what: str) -> torch.Tensor:
        buffer = self._predictor._values.get(self._name)
        if buffer is None:
            raise InvalidArgument(
                f"{what}: {self._name!r} has no content yet: give the inputs and call run()"
            )
        return buffer

    def reshape(self, shape: Sequence[int]) -> None:
        """The shape of an input that is given next. InvalidArgument for one that the model does not take."""
        if self._spec is None:
            raise InvalidArgument(f"reshape: {self._name!r} is an output")
        wanted = [int(n) for n in shape]
        kind = as_dtype(self._spec.dtype)
        self._put(torch.zeros(wanted, dtype=kind), "reshape")

    def shape(self) -> list[int]:
        """The shape of the content; of an input without one what the model takes, -1 for any length."""
        buffer = self._predictor._values.get(self._name)
        if buffer is not None:
            return list(buffer.shape)
        return [int(n or 0) for n in self._spec.shape] if self._spec is not None else []

    def type(self) -> DataType:
        """The dtype."""
        if self._spec is not None:
            return data_type(as_dtype(self._spec.dtype))
        return data_type(self._content("type").dtype)

    def place(self) -> PlaceType:
        """PlaceType.CPU."""
        return PlaceType.CPU

    def lod(self) -> list[list[int]]:
        """[]: sequences of other lengths are padded, and lengths are an input of their own."""
        return []

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """InvalidArgument unless empty."""
        if lod:
            raise InvalidArgument("set_lod: expected [], sequences are padded; give lengths as an input")


class Predictor:
    """Runs a model. `clone()` gives another one with handles of its own that shares the parameters.

    Handles belong to one thread at a time; `run(inputs)` may be called from many.
    """

    def __init__(self, config: Config, engine: Any = None) -> None:
        self._config = config
        self._engine = engine_of(config) if engine is None else engine
        self._values: dict[str, torch.Tensor] = {}
        self._names = [str(spec.name) for spec in self._engine.specs]
        self._lock = threading.Lock()

    def get_input_names(self) -> list[str]:
        """The names of the inputs, in their order."""
        return list(self._names)

    def get_output_names(self) -> list[str]:
        """The names of the outputs: those of an ONNX file; else output_0, output_1 and so on."""
        return list(self._engine.outputs)

    def get_input_handle(self, name: str) -> Tensor:
        """The handle of an input."""
        if name not in self._names:
            raise InvalidArgument(f"get_input_handle: name: expected one of {self._names}, got {name!r}")
        return Tensor(self, name, self._engine.specs[self._names.index(name)])

    def get_output_handle(self, name: str) -> Tensor:
        """The handle of an output."""
        if name not in self._engine.outputs:
            raise InvalidArgument(
                f"get_output_handle: name: expected one of {self._engine.outputs}, got {name!r}"
            )
        return Tensor(self, name, None)

    def run(self, inputs: Sequence[Any] | None = None) -> Any:
        """Without inputs: from the input handles to the output handles; True.

        With a list of Tensors, in the order of `get_input_names`: the list of results; handles stay.
        """
        if inputs is not None:
            if not isinstance(inputs, (list, tuple)):
                raise InvalidType(f"run: inputs: expected a list of Tensors, got {type(inputs).__name__}")
            return [PaddleTensor(buffer) for buffer in self._computed([_buffer(one) for one in inputs])]
        lacking = [name for name in self._names if name not in self._values]
        if lacking:
            raise InvalidArgument(f"run: the input {lacking[0]!r} has not been given")
        with self._lock:
            found = self._computed([self._values[name] for name in self._names])
            self._values.update(zip(self._engine.outputs, found, strict=True))
        return True

    def _computed(self, given: list[torch.Tensor]) -> list[torch.Tensor]:
        if len(given) != len(self._names):
            raise InvalidArgument(f"run: expected {len(self._names)} inputs {self._names}, got {len(given)}")
        for spec, buffer in zip(self._engine.specs, given, strict=True):
            fitting(spec, buffer, "run")
        begun = time.perf_counter()
        found: list[torch.Tensor] = self._engine(given)
        if self._config.profiled():
            _logger.info("run: %.3f ms", 1e3 * (time.perf_counter() - begun))
        return found

    def clone(self, stream: Any = None) -> Predictor:
        """A predictor with handles of its own; the parameters are shared."""
        return Predictor(self._config, self._engine)

    def clear_intermediate_tensor(self) -> None:
        """Give up what the handles hold; nothing else is kept between runs."""
        self._values.clear()

    def try_shrink_memory(self) -> int:
        """Give up what the handles hold: the bytes of it."""
        held = sum(buffer.untyped_storage().nbytes() for buffer in self._values.values())
        self._values.clear()
        return held


def fitting(spec: InputSpec, buffer: torch.Tensor, what: str) -> None:
    """Refuse a buffer that is not what an input takes."""
    kind = as_dtype(spec.dtype)
    wanted, shape = list(spec.shape), list(buffer.shape)
    fits = len(shape) == len(wanted) and all(w in (-1, n) for w, n in zip(wanted, shape, strict=True))
    if not fits or buffer.dtype is not kind:
        raise InvalidArgument(
            f"{what}: {spec.name}: expected {name_of(kind)}{wanted}, got {name_of(buffer.dtype)}{shape}"
        )


def _buffer(value: Any) -> torch.Tensor:
    if isinstance(value, PaddleTensor):
        return value.data.detach()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value))
    raise InvalidType(f"run: inputs: expected Tensors, got {type(value).__name__}")


def create_predictor(config: Config) -> Predictor:
    """The predictor of a Config. InvalidArgument where its model cannot be read."""
    if not isinstance(config, Config):
        raise InvalidType(f"create_predictor: config: expected a Config, got {type(config).__name__}")
    return Predictor(config)


class PredictorPool:
    """A predictor and clones of it, `size` in all."""

    def __init__(self, config: Config, size: int) -> None:
        if type(size) is not int or size < 1:
            raise InvalidArgument(f"PredictorPool: size: expected an int from 1, got {size!r}")
        first = create_predictor(config)
        self._predictors = [first, *(first.clone() for _ in range(size - 1))]

    def retrieve(self, idx: int) -> Predictor:
        """A predictor by its place."""
        if type(idx) is not int or not 0 <= idx < len(self._predictors):
            raise InvalidArgument(f"retrieve: idx: expected 0 to {len(self._predictors) - 1}, got {idx!r}")
        return self._predictors[idx]

    retrive = retrieve  # as Paddle's own documentation spells it
