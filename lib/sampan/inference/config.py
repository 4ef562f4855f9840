"""Config: which file a predictor runs, and how."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ..engine.errors import InvalidArgument, InvalidType
from ..jit.passes import PASSES
from .kinds import PrecisionType

_logger = logging.getLogger("sampan.inference")
_PRECISIONS = {
    "fp32": PrecisionType.Float32,
    "float32": PrecisionType.Float32,
    "bf16": PrecisionType.Bfloat16,
    "bfloat16": PrecisionType.Bfloat16,
    "fp16": PrecisionType.Half,
    "float16": PrecisionType.Half,
}


class PassStrategy:
    """The passes that rewrite a Program before it runs, by their names."""

    def __init__(self) -> None:
        self._names = list(PASSES)

    def all_passes(self) -> list[str]:
        """The names, in their order."""
        return list(self._names)

    def delete_pass(self, name: str) -> None:
        """Leave a pass out. A name of Paddle's that is none of ours changes nothing."""
        self._names = [one for one in self._names if one != name]

    def append_pass(self, name: str) -> None:
        """Put a pass at the end. InvalidArgument for one that there is not."""
        if name not in PASSES:
            raise InvalidArgument(f"append_pass: name: expected one of {list(PASSES)}, got {name!r}")
        self._names.append(name)

    def turn_off(self) -> None:
        """Leave all passes out."""
        self._names = []


class Config:
    """The model's files and the settings of a predictor.

    `Config(prog_file, params_file)`: what `jit.save` wrote, by the name of its `.json` (the names that Paddle
    gives such files, `.pdmodel` and `.pdiparams`, stand for the same); or one ONNX file. `Config(folder)`:
    the one model in a folder. Predictors run on the CPU: what belongs to other hardware is logged, changes
    nothing, and its `..._enabled()` answers False.
    """

    Precision: ClassVar[type[PrecisionType]] = PrecisionType
    Float32: ClassVar[PrecisionType] = PrecisionType.Float32
    Int8: ClassVar[PrecisionType] = PrecisionType.Int8
    Half: ClassVar[PrecisionType] = PrecisionType.Half
    Bfloat16: ClassVar[PrecisionType] = PrecisionType.Bfloat16

    def __init__(self, *files: Any) -> None:
        self._prog = self._params = self._folder = ""
        self._passes = PassStrategy()
        self._engine, self._precision = "replay", PrecisionType.Float32
        self._threads: int | None = None
        self._cache = ""
        self._flags = {
            "ir_optim": True, "memory_optim": False, "onednn": True, "profile": False, "log": True,
            "feed_fetch": False,
        }  # fmt: skip  # a table
        if len(files) > 2:
            raise InvalidArgument(f"Config: expected at most 2 files, got {len(files)}")
        if files:
            self.set_model(*files)

    # --- files ---

    def set_model(self, *files: Any) -> None:
        """A folder or an ONNX file; or prog_file and params_file."""
        for file in files:
            if not isinstance(file, (str, os.PathLike)):
                raise InvalidType(f"set_model: expected the names of files, got {type(file).__name__}")
        names = [os.fspath(file) for file in files]
        if len(names) == 1 and not names[0].endswith((".onnx", ".json", ".pdmodel")):
            self._folder, self._prog, self._params = names[0], "", ""
        elif len(names) in (1, 2):
            self._folder, self._prog, self._params = "", names[0], names[1] if len(names) == 2 else ""
        else:
            raise InvalidArgument(f"set_model: expected 1 or 2 files, got {len(names)}")

    def set_prog_file(self, file: str) -> None:
        """The file of the Program."""
        self.set_model(file, self._params)

    def set_params_file(self, file: str) -> None:
        """The file of the parameters."""
        self._params = os.fspath(file)

    def set_model_buffer(self, *content: Any) -> None:
        """Not there: a predictor reads files. Raises InvalidArgument."""
        raise InvalidArgument("set_model_buffer: a model is read from its files: use set_model")

    def model_dir(self) -> str:
        """The folder of the model, "" where files were given."""
        return self._folder

    def prog_file(self) -> str:
        """The file of the Program."""
        return self._prog

    def params_file(self) -> str:
        """The file of the parameters."""
        return self._params

    def model_from_memory(self) -> bool:
        """False."""
        return False

    def location(self) -> tuple[str, str]:
        """("onnx", file) or ("program", what `jit.load` takes). InvalidArgument where no such file is."""
        prog = self._prog
        if self._folder:
            folder = Path(self._folder)
            found = sorted([*folder.glob("*.json"), *folder.glob("*.onnx")])
            if len(found) != 1:
                raise InvalidArgument(f"Config: expected one model in {str(folder)!r}, got {len(found)}")
            prog = str(found[0])
        if not prog:
            raise InvalidArgument("Config: expected a model, none is set")
        if prog.endswith(".onnx"):
            return "onnx", prog
        base = base_of(prog)
        if not Path(f"{base}.json").is_file():
            raise InvalidArgument(f"Config: no file {base}.json")
        return "program", base

    # --- how it runs ---

    def switch_ir_optim(self, x: Any = True) -> None:
        """Whether passes rewrite the Program."""
        self._flags["ir_optim"] = bool(x)

    def ir_optim(self) -> bool:
        """Whether passes rewrite the Program."""
        return self._flags["ir_optim"]

    def pass_builder(self) -> PassStrategy:
        """The passes, to be left out by name."""
        return self._passes

    def delete_pass(self, name: str) -> None:
        """Leave a pass out."""
        self._passes.delete_pass(name)

    def passes(self) -> list[str]:
        """The names of the passes that run."""
        fused = () if self._flags["onednn"] else ("fuse_activation", "fuse_linear")
        return [p for p in self._passes.all_passes() if p not in fused] if self._flags["ir_optim"] else []

    def enable_memory_optim(self, x: bool = True) -> None:
        """A value's memory is given up after its last use, with or without this."""
        self._flags["memory_optim"] = bool(x)

    def enable_onednn(self) -> None:
        """Convolutions and products take oneDNN's fused forms. So it is from the start."""
        self._flags["onednn"] = True

    def disable_onednn(self) -> None:
        """No fused forms of oneDNN."""
        self._flags["onednn"] = False

    def onednn_enabled(self) -> bool:
        """Whether oneDNN's fused forms are taken."""
        return self._flags["onednn"]

    enable_mkldnn, disable_mkldnn, mkldnn_enabled = enable_onednn, disable_onednn, onednn_enabled

    def enable_onednn_bfloat16(self) -> None:
        """OpenVINO computes in bfloat16; the other engines stay in the model's dtype."""
        self._precision = PrecisionType.Bfloat16

    enable_mkldnn_bfloat16 = enable_onednn_bfloat16

    def enable_onnxruntime(self) -> None:
        """Run by ONNX Runtime (extra `deploy`)."""
        self._engine = "onnxruntime"

    def disable_onnxruntime(self) -> None:
        """Run by Sampan's replay."""
        self._engine = "replay"

    def onnxruntime_enabled(self) -> bool:
        """Whether ONNX Runtime runs the model."""
        return self._engine == "onnxruntime"

    def enable_ort_optimization(self) -> None:
        """ONNX Runtime optimizes graphs, with or without this."""

    def enable_openvino_engine(self, inference_precision: Any = PrecisionType.Float32) -> None:
        """Run by OpenVINO (extra `openvino`), in a PrecisionType, "fp32", "bf16" or "fp16"."""
        given = _PRECISIONS.get(str(inference_precision).lower(), inference_precision)
        if not isinstance(given, PrecisionType) or given is PrecisionType.Int8:
            raise InvalidArgument(
                f"enable_openvino_engine: inference_precision: expected one of {sorted(_PRECISIONS)}, "
                f"got {inference_precision!r}"
            )
        self._engine, self._precision = "openvino", given

    def openvino_engine_enabled(self) -> bool:
        """Whether OpenVINO runs the model."""
        return self._engine == "openvino"

    def engine(self) -> tuple[str, PrecisionType]:
        """The name of the engine, and in what it computes."""
        return self._engine, self._precision

    def set_cpu_math_library_num_threads(self, count: int) -> None:
        """Threads of the engine; for Sampan's replay those of torch in this process."""
        if type(count) is not int or count < 1:
            raise InvalidArgument(f"set_cpu_math_library_num_threads: expected an int from 1, got {count!r}")
        self._threads = count

    def cpu_math_library_num_threads(self) -> int:
        """The threads that were set, 1 where none were."""
        return self._threads or 1

    def threads(self) -> int | None:
        """The threads that were set."""
        return self._threads

    def set_optim_cache_dir(self, folder: str) -> None:
        """Where ONNX files for the engines are kept between processes."""
        self._cache = os.fspath(folder)

    def cache_dir(self) -> str:
        """Where ONNX files are kept, "" for nowhere."""
        return self._cache

    def enable_profile(self) -> None:
        """The time of each run is logged as "sampan.inference"."""
        self._flags["profile"] = True
        _logger.setLevel(logging.INFO)

    def profiled(self) -> bool:
        """Whether the time of each run is logged."""
        return self._flags["profile"]

    def disable_glog_info(self) -> None:
        """What the settings cannot do is no longer logged."""
        self._flags["log"] = False

    def glog_info_disabled(self) -> bool:
        """Whether nothing is logged."""
        return not self._flags["log"]

    def switch_use_feed_fetch_ops(self, x: Any = True) -> None:
        """Inputs and outputs go by handles, with or without this."""
        self._flags["feed_fetch"] = bool(x)

    def use_feed_fetch_ops_enabled(self) -> bool:
        """What `switch_use_feed_fetch_ops` was given."""
        return self._flags["feed_fetch"]

    def switch_specify_input_names(self, x: Any = True) -> None:
        """Inputs have names, with or without this."""

    def specify_input_name(self) -> bool:
        """True: inputs have names."""
        return True

    def summary(self) -> str:
        """The settings as a table."""
        rows = {
            "model": self._prog or self._folder or "none", "engine": self._engine,
            "precision": self._precision.name, "cpu_math_thread": self.cpu_math_library_num_threads(),
            "use_gpu": False, "ir_optim": self._flags["ir_optim"],
            "passes": ", ".join(self.passes()) or "none", "enable_onednn": self._flags["onednn"],
            "enable_profile": self._flags["profile"],
        }  # fmt: skip  # a table
        left = max(map(len, rows))
        right = max(len(str(value)) for value in rows.values())
        edge = f"+-{'-' * left}-+-{'-' * right}-+"
        return "\n".join([edge, *(f"| {k:<{left}} | {v!s:<{right}} |" for k, v in rows.items()), edge]) + "\n"


def base_of(prog: str) -> str:
    """What `jit.load` takes, from the name of the file of the Program."""
    return prog.removesuffix(".json").removesuffix(".pdmodel")


def _changes_nothing(name: str, what: str) -> Callable[..., None]:
    def method(self: Config, *args: Any, **kwargs: Any) -> None:
        if not self.glog_info_disabled():
            _logger.warning("Config.%s changes nothing: %s", name, what)

    method.__name__, method.__doc__ = name, f"Logs that it changes nothing: {what}."
    return method


def _answers(name: str, answer: Any, what: str) -> Callable[..., Any]:
    def method(self: Config) -> Any:
        return answer

    method.__name__, method.__doc__ = name, f"{answer!r}: {what}."
    return method


_CPU = "predictors run on the CPU"
_INT8 = "the replay computes in the dtypes of the model; int8 models come from `quantization`"
_NOTHING = {
    "enable_use_gpu disable_gpu enable_xpu set_xpu_config set_xpu_device_id enable_ipu set_ipu_config "
    "set_ipu_custom_info load_ipu_config enable_custom_device exp_enable_use_cutlass": _CPU,
    "enable_tensorrt_engine enable_tensorrt_dla enable_tensorrt_explicit_quantization "
    "enable_tensorrt_inspector "
    "enable_tensorrt_memory_optim enable_tensorrt_varseqlen enable_tuned_tensorrt_dynamic_shape "
    "set_tensorrt_optimization_level set_trt_dynamic_shape_info mark_trt_engine_outputs "
    "exp_disable_tensorrt_dynamic_shape_ops exp_disable_tensorrt_ops exp_disable_tensorrt_subgraph "
    "exp_specify_tensorrt_subgraph_precision collect_shape_range_info": "TensorRT is an engine of GPUs",
    "enable_cinn enable_new_executor enable_new_ir set_optimization_level enable_custom_passes "
    "enable_save_optim_model use_optimized_model switch_ir_debug": "there is one compiler and one executor",
    "enable_onednn_int8 enable_mkldnn_int8": _INT8,
    "set_onednn_op set_mkldnn_op set_bfloat16_op set_onednn_cache_capacity set_mkldnn_cache_capacity "
    "disable_onednn_fc_passes disable_mkldnn_fc_passes exp_disable_mixed_precision_ops "
    "exp_enable_mixed_precision_ops enable_low_precision_io "
    "exp_sparse_conv_using_buffer": "engines decide this",
}  # fmt: skip  # a table
_NO = {
    "use_gpu use_xpu tensorrt_engine_enabled tensorrt_dla_enabled tensorrt_dynamic_shape_enabled "
    "tensorrt_explicit_quantization_enabled tensorrt_inspector_enabled tensorrt_varseqlen_enabled "
    "tuned_tensorrt_dynamic_shape trt_allow_build_at_runtime new_ir_enabled "
    "shape_range_info_collected": (False, _CPU),
    "onednn_int8_enabled mkldnn_int8_enabled": (False, _INT8),
    "gpu_device_id xpu_device_id memory_pool_init_size_mb tensorrt_optimization_level": (0, _CPU),
    "fraction_of_gpu_memory_for_pool": (0.0, _CPU),
    "shape_range_info_path": ("", _CPU),
}  # fmt: skip  # a table
for _names, _what in _NOTHING.items():
    for _name in _names.split():
        setattr(Config, _name, _changes_nothing(_name, _what))
for _names, (_answer, _what) in _NO.items():
    for _name in _names.split():
        setattr(Config, _name, _answers(_name, _answer, _what))
