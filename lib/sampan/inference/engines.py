"""What runs a model: Sampan's replay, ONNX Runtime, OpenVINO. Each may be called from many threads at once.

An engine holds the model once, for all clones of a predictor.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..jit import load as load_program
from ..jit.evaluation import Evaluation
from ..jit.program import refs
from ..jit.spec import InputSpec
from ..jit.translated import TranslatedLayer, _Runner
from ..jit.whole import filled_in, flat
from ..transport.threads import use_threads
from .config import Config
from .kinds import PrecisionType


class Replay:
    """A saved Program or an ONNX file, by Sampan itself."""

    def __init__(self, config: Config) -> None:
        kind, place = config.location()
        self._lean: Callable[[Sequence[torch.Tensor]], list[torch.Tensor]] | None = None
        self._call: Callable[[Sequence[Tensor]], Any]
        if kind == "onnx":
            from ..onnx import load as load_onnx  # the extra `deploy`

            layer = load_onnx(place)
            self.specs, self.outputs = layer.inputs, layer.outputs
            self._call = lambda tensors: layer(*tensors)
        else:
            self._open(load_program(place), config)
        self._lock, self._warm = threading.Lock(), False
        if config.threads():
            use_threads(config.cpu_math_library_num_threads())

    def _open(self, layer: TranslatedLayer, config: Config) -> None:
        """Take a saved Program."""
        runner: _Runner = vars(layer)["forward"]
        loaded = runner.loaded
        evaluation = Evaluation(loaded.program, layer._outside, layer._constants, config.passes())
        runner.evaluation = evaluation
        results = list(refs(loaded.program.result))
        self.specs, self.outputs = loaded.specs, [f"output_{i}" for i in range(len(results))]
        self._call = lambda tensors: runner(**filled_in(loaded.takes, tensors))
        made = {ref: i for i, ref in enumerate(evaluation.results)}
        if loaded.branched or loaded.tied or any(ref not in made for ref in results):
            return
        places = [made[ref] for ref in results]

        def lean(given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            found = evaluation(given)
            return [found[i] for i in places]

        self._lean = lean

    def __call__(self, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The buffers of the results."""
        if self._warm and self._lean is not None:
            return self._lean(given)
        tensors = [Tensor(buffer) for buffer in given]
        with no_grad():
            if self._warm:
                return [t.data for t in flat(self._call(tensors))]
            with self._lock:  # the first call rewrites and compiles
                found = [t.data for t in flat(self._call(tensors))]
                self._warm = True
                return found


class _Exported:
    """An engine of ONNX files: a saved Program is exported first, and kept in the cache folder."""

    specs: list[InputSpec]

    def __init__(self, config: Config) -> None:
        from ..onnx.reader import read  # the extra `deploy`

        self.file = _onnx_file(config)
        model = read(self.file)
        self.specs, self.outputs = model.inputs, model.outputs


class OnnxRuntime(_Exported):
    """ONNX Runtime, on the CPU, with the threads that are set."""

    def __init__(self, config: Config) -> None:
        from ..onnx.library import runtime, session

        if runtime() is None:
            raise ImportError(
                'enable_onnxruntime needs the package onnxruntime: pip install "sampan[deploy]"'
            )
        super().__init__(config)
        self._session = session(str(self.file), config.threads() or 0)

    def __call__(self, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The buffers of the results."""
        named = {str(s.name): b.contiguous().numpy() for s, b in zip(self.specs, given, strict=True)}
        return [torch.from_numpy(found) for found in self._session.run(None, named)]


class OpenVino(_Exported):
    """OpenVINO, on the CPU, in float32 unless told: by itself it would take bfloat16 where that is fast."""

    _HINTS = {PrecisionType.Float32: "f32", PrecisionType.Bfloat16: "bf16", PrecisionType.Half: "f16"}

    def __init__(self, config: Config) -> None:
        try:
            openvino = import_module("openvino")
        except ImportError as error:
            raise ImportError(
                'enable_openvino_engine needs the package openvino: pip install "sampan[openvino]"'
            ) from error
        super().__init__(config)
        settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": self._HINTS[config.engine()[1]]}
        if config.threads():
            settings["INFERENCE_NUM_THREADS"] = config.threads()
        self._model = openvino.Core().compile_model(str(self.file), "CPU", settings)
        self._own = threading.local()  # a request serves one thread

    def __call__(self, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The buffers of the results."""
        if not hasattr(self._own, "request"):
            self._own.request = self._model.create_infer_request()
        found = self._own.request.infer([buffer.contiguous().numpy() for buffer in given], share_inputs=True)
        return [torch.from_numpy(found[i].copy()) for i in range(len(self.outputs))]


def engine_of(config: Config) -> Any:
    """The engine that a Config asks for."""
    return {"replay": Replay, "onnxruntime": OnnxRuntime, "openvino": OpenVino}[config.engine()[0]](config)


def _onnx_file(config: Config) -> Path:
    """The ONNX file of a model: itself, or one in the cache that was exported from the same content."""
    from ..onnx import export

    kind, place = config.location()
    if kind == "onnx":
        return Path(place)
    files = [Path(f"{place}.json"), Path(f"{place}.safetensors")]
    digest = hashlib.sha256(b"".join(hashlib.sha256(f.read_bytes()).digest() for f in files)).hexdigest()
    folder = Path(config.cache_dir() or _scratch())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(f"set_optim_cache_dir: {folder}: {error}") from error
    target = folder / f"{files[0].stem}-{digest[:16]}.onnx"
    if not target.exists():
        export(load_program(place), str(target.with_suffix("")))
    return target


def _scratch() -> str:
    """A folder for the ONNX files of this process, removed with it."""
    global _kept
    if _kept is None or not os.path.isdir(_kept.name):
        _kept = tempfile.TemporaryDirectory(prefix="sampan-inference-")
    return _kept.name


_kept: tempfile.TemporaryDirectory[str] | None = None
