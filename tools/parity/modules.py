"""PaddlePaddle's modules and what each defines: recorded from the real one, and the library's table made from the record.

python -m tools.parity.modules --paddle .venv-paddle/bin/python   # ask PaddlePaddle, then write the table
python -m tools.parity.modules                                    # write lib/sampan/names/modules.txt from the record
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "lib" / "sampan"
TABLE = LIBRARY / "names" / "modules.txt"
RECORD = "modules"

# What Sampan does not have, and why; with all modules inside.
ABSENT = {
    "_C": "Paddle's C++ core",
    "_classes _ops _pir_ops library": "operators from C++ libraries",
    "_paddle_docs": "Paddle's docstrings of C++ functions",
    "_typing": "names for Paddle's own type annotations",
    "amp.accuracy_compare": "Excel reports of Paddle's own debugging",
    "api_tracer cinn_config check_import_scipy cost_model cuda_env": "parts of Paddle's own build and compiler",
    "autograd.backward_utils autograd.ir_backward": "the backward pass of static graphs",
    "base.core": "",
    "base.data_feed_desc base.dataset base.device_worker base.trainer_desc base.trainer_factory": "readers and trainers of "
    "static graphs",
    "base.default_scope_funcs base.dygraph.generated_tensor_methods_patch base.dygraph.tensor_patch_methods": "parts of static graphs and of the C++ core",
    "base.incubate base.io base.libpaddle base.lod_tensor base.multiprocess_utils base.proto base.variable_index": "Paddle's C++ core",
    "compat": "torch's spellings are part of `paddle` itself; `sampan.compat` is something else",
    "cuda": "use paddle.device.cuda",
    "dataset": "the readers of Paddle 1; use paddle.io, paddle.vision.datasets and paddle.text",
    "decomposition": "operators are not decomposed into others",
    "device.cpu device.custom_device device.custom_streams device.default_backend device.gpgpu_backend device.xpu": "other hardware",
    "device.cuda.cuda_graphed_layer device.cuda.graphs device.cuda.memory_analyzer device.cuda.streams": "CUDA graphs and streams of "
    "Paddle's own",
    "framework.ir": "passes over static graphs",
    "incubate.asp": "2:4 sparsity is not part of Sampan",
    "incubate.autotune incubate.cc incubate.framework incubate.jit incubate.layers incubate.passes incubate.tensor "
    "incubate.xpu": "parts of Paddle's compiler, of static graphs or of other hardware",
    "incubate.autograd.composite_rules incubate.autograd.generate_op_map incubate.autograd.phi_ops_map incubate.autograd.primitives "
    "incubate.autograd.primreg incubate.autograd.primrules incubate.autograd.primx": "primitive operators of static graphs",
    "incubate.checkpoint incubate.multiprocessing": "use paddle.distributed",
    "incubate.distributed.fleet.base incubate.distributed.fleet.collective incubate.distributed.fleet.fleet_util "
    "incubate.distributed.fleet.parameter_server incubate.distributed.fleet.role_maker incubate.distributed.fleet.utils": "servers "
    "and workers of static graphs; use paddle.distributed.fleet",
    "incubate.distributed.utils": "use paddle.distributed.save_state_dict and load_state_dict",
    "incubate.nn.functional.batched_gemm incubate.nn.functional.blha_get_max_len "
    "incubate.nn.functional.block_multihead_attention incubate.nn.functional.masked_multihead_attention": "kernels of a GPU for "
    "generation with caches",
    "incubate.nn.functional.build_src_rank_and_local_expert_id incubate.nn.functional.cal_aux_loss "
    "incubate.nn.functional.expand_modality_expert_id incubate.nn.functional.int_bincount incubate.nn.functional.moe_combine "
    "incubate.nn.functional.moe_combine_no_weight incubate.nn.functional.moe_gate_dispatch "
    "incubate.nn.functional.moe_gate_dispatch_and_quant incubate.nn.functional.moe_gate_dispatch_partial_nosoftmaxtopk "
    "incubate.nn.functional.moe_gate_dispatch_permute": "kernels of a GPU for mixtures of experts",
    "incubate.nn.functional.cross_entropy_with_softmax_bwd_w_downcast incubate.nn.functional.embedding_grad_add_to "
    "incubate.nn.functional.fast_ln incubate.nn.functional.fast_rms_norm incubate.nn.functional.fp8 "
    "incubate.nn.functional.fused_dot_product_attention incubate.nn.functional.fused_gate_attention "
    "incubate.nn.functional.fused_partial_rope incubate.operators.resnet_unit": "kernels of a GPU; use paddle.nn.functional",
    "incubate.nn.layer.io": "servers of static graphs",
    "incubate.optimizer.distributed_fused_lamb incubate.optimizer.gradient_merge incubate.optimizer.lars_momentum "
    "incubate.optimizer.pipeline incubate.optimizer.recompute incubate.optimizer.line_search_dygraph "
    "incubate.optimizer.functional.line_search incubate.optimizer.functional.utils incubate.optimizer.functional.bfgs "
    "incubate.optimizer.functional.lbfgs": "optimizers of static graphs",
    "inference.contrib": "copies between handles: use copy_from_cpu and copy_to_cpu",
    "jit.marker jit.sot.infer_meta jit.sot.opcode_translator": "tracing of Python's bytecode",
    "nn.functional.sdpa nn.attention": "there is one implementation of attention",
    "nn.functional.moe_permute nn.functional.moe_unpermute": "a GPU's kernels for mixtures of experts",
    "nn.quant.lsq quantization.imperative": "Paddle's older API of quantisation; use paddle.quantization.QAT and PTQ",
    "optimizer.fusion_utils": "optimizer states are not fused into one buffer",
    "profiler.profiler_statistic profiler.statistic_helper profiler.timer": "summaries of Paddle's C++ profiler",
    "reader": "the readers of Paddle 1; use paddle.io",
    "tensor.layer_function_generator": "operators from C++ descriptions",
    "utils.bwd_graph_utils utils.fwd_graph_utils utils.op_version": "debugging of Paddle's C++ core",
    "utils.cpp_extension": "operators in C++ cannot be added; write one in Python with sampan's `operator`, or a Numba kernel",
    "utils.environments": "settings of Paddle's own",
    "utils.gast": "a copy of another project: import gast",
    "utils.image_util": "images of Paddle 1; use paddle.vision.transforms",
    "vision.transforms.functional_cv2 vision.transforms.functional_pil vision.transforms.functional_tensor": "one implementation "
    "serves all kinds of images: paddle.vision.transforms.functional",
}  # fmt: skip  # a table
# Modules of static graphs: `paddle.static` and `paddle.jit` hold stand-ins for any name.
NOT_ASKED = re.compile(r"(static|jit|pir|pir_utils|_C_ops|_legacy_C_ops|distributed|base\.core)(\.|$)")
# Names of static graphs or of the C++ core: stand-ins.
STATIC = re.compile(
    r"base\.|framework\.|hapi\.static_flops|hapi\.model\.(Static|init_comm|prepare_dist|wait_server)|"
    r"incubate\.autograd\.|nn\.clip\.(append|error|set_|Base|ErrorClip|get_tensor_from|merge)|common_ops_import\.|"
    r"nn\.layer\.layers\.|nn\.functional\.loss\.base_|tensor\.(creation\.)?create_global_var|nn\.layer\.rnn\.ArrayWrapper|nn\.decode\.ArrayWrapper|"
    r"optimizer\.optimizer\.append_backward_new|"
    r"optimizer\.lr\.(autoincreased|exponential|natural|inverse|cosine|linear_lr)"
)
# Names that Sampan has at another place or under another name than Paddle.
PLACES = {
    "nn.layer.conv._ConvNd": "nn.conv._Convolution",
    "nn.layer.norm._BatchNormBase": "nn.norm._BatchNorm",
    "nn.layer.norm._InstanceNormBase": "nn.norm._InstanceNorm",
    "nn.layer.common._PadnD": "nn.common.Pad1D",
    "nn.layer.rnn.RNNBase": "nn.rnn._Stack",
    "nn.layer.layers.HookRemoveHelper": "nn.layer._Handle",
    "nn.clip.GradientClipBase": "nn.clip.ClipGrad",
    "nn.clip.ClipGradBase": "nn.clip.ClipGrad",
    "nn.parameter.EagerParamBase": "nn.Parameter",
    "nn.spectral_norm": "nn.utils.spectral_norm",
    "nn.clip.GradientClipByValue": "nn.ClipGradByValue",
    "nn.clip.GradientClipByNorm": "nn.ClipGradByNorm",
    "nn.clip.GradientClipByGlobalNorm": "nn.ClipGradByGlobalNorm",
    "amp.auto_cast.amp_decorate": "amp.decorate",
    "autograd.autograd._Jacobian": "autograd.Jacobian",
    "nn.initializer.NumpyArrayInitializer": "nn.initializer.Assign",
    "nn.initializer.ConstantInitializer": "nn.initializer.Constant",
    "nn.initializer.NormalInitializer": "nn.initializer.Normal",
    "nn.initializer.TruncatedNormalInitializer": "nn.initializer.TruncatedNormal",
    "nn.initializer.UniformInitializer": "nn.initializer.Uniform",
    "vision.models.mobilenetv1.DepthwiseSeparable": "vision.models.mobilenet._separable",
    "vision.models.mobilenetv2.InvertedResidual": "vision.models.mobilenet.InvertedResidual",
    "vision.models.mobilenetv3.InvertedResidual": "vision.models.mobilenet.InvertedResidualSE",
    "vision.models.mobilenetv3.SqueezeExcitation": "vision.models.mobilenet.SqueezeExcitation",
    "vision.models.mobilenetv3.MobileNetV3": "vision.models.mobilenet.MobileNetV3",
    "hapi.dynamic_flops.flops": "hapi.flops.flops",
    "hapi.dynamic_flops.dynamic_flops": "hapi.flops.flops",
    "tensor.creation.tensor": "as_tensor",
}
# Modules that are files of `names`, Paddle's and those that had another place here.
MOVED = {
    "base": "names.base", "compat": "names.compat", "device": "names.device", "distribution": "names.distribution",
    "hub": "names.hub", "incubate": "names.incubate", "nn.functional.flash_attention": "names.flash_attention",
    "nn.functional.ranking": "names.losses", "optimizer.lbfgs": "names.lbfgs", "profiler": "names.profiler", "static": "names.static",
    "text.datasets": "names.text_datasets", "utils": "names.utils", "version": "names.version",
    "vision.datasets": "names.vision_datasets", "vision.ops": "names.vision_ops",
}  # fmt: skip  # a table
# Files of `names`, and one of `distributed`, and the modules in which all that they list is found. `.` is `sampan` itself.
SHOWN = {
    "distributed.data_parallel": ". framework", "names.decode": "nn", "names.derivatives": "autograd", "names.flash_attention": "nn.functional", "names.functional": "nn.functional",
    "names.framework": ". framework", "names.lbfgs": "optimizer", "names.loss_layers": "nn nn.loss",
    "names.losses": "nn.functional", "names.text_datasets": "text", "names.transducer": "nn.functional",
    "names.vision_datasets": "vision",
}  # fmt: skip  # a table
# Modules that are not recorded, inside `distributed` and in a folder that is no package, that programs import from, and where
# their names are.
_CHECKPOINT, _FLEET = "distributed.auto_parallel.checkpoint.", "distributed.fleet."
UNRECORDED = {
    "distributed.auto_parallel.local_layer": {"distributed.auto_parallel.": "LocalLayer"},
    "distributed.auto_parallel.local_map": {"distributed.auto_parallel.": "local_map"},
    "distributed.fleet.base.orthogonal_strategy": {_FLEET + "strategy_groups.": "OrthogonalStrategy"},
    "distributed.fleet.base.private_helper_function": {"distributed.static_names.": "wait_server_ready"},
    "distributed.fleet.base.strategy_group": {_FLEET + "strategy_groups.": "DPGroup MPGroup PPGroup ShardingGroup StrategyGroupBase"},
    "distributed.fleet.fleet": {_FLEET: "DistributedStrategy Fleet PaddleCloudRoleMaker"},
    "distributed.fleet.launch_utils": {"distributed.utils.": "find_free_ports get_host_name_ip get_logger"},
    "distributed.entry_attr": {"distributed.": "CountFilterEntry ProbabilityEntry ShowClickEntry"},
    "distributed.fleet.model": {_FLEET: "distributed_model"},
    "distributed.fleet.optimizer": {_FLEET: "distributed_optimizer"},
    "distributed.fleet.scaler": {_FLEET: "distributed_scaler"},
    "distributed.flex_checkpoint": {},
    "distributed.flex_checkpoint.dcp": {},
    "distributed.flex_checkpoint.dcp.load_state_dict": {_CHECKPOINT: "load_merged_state_dict load_state_dict"},
    "distributed.flex_checkpoint.dcp.save_state_dict": {_CHECKPOINT: "save_state_dict"},
    "distributed.flex_checkpoint.dcp.sharded_weight": {
        "distributed.": "ShardedWeight build_sharded_state_dict shard_weight",
        "distributed.auto_parallel.sharded_weight.": "create_sharded_weight_with_new_local make_replicated_sharded_weight "
        "make_tp_sharded_weight_for_checkpoint",
    },
    "distributed.parallel_with_gloo": {"distributed.": "gloo_barrier gloo_init_parallel_env gloo_release"},
    "distributed.sharding.group_sharded": {"distributed.sharding.": "group_sharded_parallel save_group_sharded_model"},
    "incubate.distributed": {},
    "incubate.nn.layer": {},
    "incubate.nn.layer.fused_dropout_add": {"incubate.nn.": "FusedDropoutAdd"},
    "incubate.nn.layer.fused_dropout_nd": {"incubate.nn.": "FusedDropout"},
    "incubate.nn.layer.fused_linear": {"incubate.nn.": "FusedLinear"},
    "incubate.nn.layer.fused_transformer": {"incubate.nn.": "FusedBiasDropoutResidualLayerNorm FusedFeedForward "
    "FusedMultiHeadAttention FusedTransformerEncoderLayer"},
    "incubate.distributed.models": {},
    "incubate.distributed.models.moe": {
        "distributed.moe.": "BaseGate ClipGradForMOEByGlobalNorm GShardGate MoELayer NaiveGate SwitchGate"
    },
    "incubate.distributed.models.moe.gate": {"distributed.moe.": "BaseGate GShardGate NaiveGate SwitchGate"},
    "incubate.distributed.models.moe.gate.base_gate": {"distributed.moe.": "BaseGate"},
    "incubate.distributed.models.moe.gate.gshard_gate": {"distributed.moe.": "GShardGate"},
    "incubate.distributed.models.moe.gate.naive_gate": {"distributed.moe.": "NaiveGate"},
    "incubate.distributed.models.moe.gate.switch_gate": {"distributed.moe.": "SwitchGate"},
    "incubate.distributed.models.moe.grad_clip": {"distributed.moe.": "ClipGradForMOEByGlobalNorm"},
    "incubate.distributed.models.moe.moe_layer": {"distributed.moe.": "MoELayer"},
    "incubate.distributed.fleet": {f"{_FLEET}recompute.": "recompute_hybrid recompute_sequential"},
}  # fmt: skip  # a table
# Names that Paddle shows at its top, and the modules where they are.
TOP = {
    "base": "core",
    "amp": "autocast get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_enabled",
    "device": "cuda get_cudnn_version get_default_device set_default_device is_compiled_with_cinn "
    "is_compiled_with_custom_device is_compiled_with_distribute is_compiled_with_ipu is_compiled_with_rocm "
    "is_compiled_with_xpu",
    "hapi.flops": "flops",
    "linalg": "cholesky eigvalsh inverse norm",
}
# Files of names that Sampan keeps for one module of Paddle's, or for a few.
FILES = {
    "names.hapi": "hapi.model hapi.callbacks hapi.progressbar hapi.dynamic_flops hapi.logger",
    "names.download": "utils.download",
    "hub": "hapi.hub",
    "names.init": "nn.init",
    "names.decode": "nn.decode",
    "quantization.nn_quant": "nn.quant nn.quant.format nn.quant.functional_layers nn.quant.qat nn.quant.qat.conv nn.quant.qat.linear "
    "nn.quant.quant_layers nn.quant.quantized_linear nn.quant.stub",
    "quantization.base": "quantization.base_observer quantization.base_quanter quantization.factory",
    "quantization.layers": "quantization.wrapper",
    "quantization.quantize": "quantization.ptq quantization.qat",
}
ANYWHERE = ["names.more", "Tensor"]  # searched last
# Names that programs take besides those that `walk` lists.
ALSO = {
    "hapi.dynamic_flops": ["register_hooks"], "hapi.model": ["_all_gather"], "utils.download": ["_get_unique_endpoints", "WEIGHTS_HOME"],
    "nn.layer.transformer": ["_convert_attention_mask", "_convert_param_attr_to_list"],
    "nn.functional.conv": ["_update_padding_nd"], "nn.init": ["calculate_gain"], "nn.decode": ["OutputWrapper", "StateWrapper"],
}  # fmt: skip  # a table
# Modules of static graphs that can be imported; any name of theirs is a stand-in.
STAND_INS = "_C_ops _legacy_C_ops jit.dy2static jit.layer jit.sot jit.translated_layer pir pir.core pir_utils"


def walk(library: str = "paddle") -> dict[str, list[str]]:
    """Module -> what it shows: `__all__`, classes and public functions it defines; of one that defines none, what it imports
    from the library. Run by PaddlePaddle's Python."""
    top = importlib.import_module(library)
    found = {}
    for name in [library, *_inside(top.__path__, library)]:
        try:
            module = importlib.import_module(name)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        found[name.partition(".")[2]] = sorted(_shown(module, library))
    return found


def _inside(paths: Any, prefix: str) -> list[str]:
    names = []
    for entry in pkgutil.iter_modules(paths):
        name = f"{prefix}.{entry.name}"
        if re.search(r"\.tests?\b|\.test_|__main__", name):
            continue
        names.append(name)
        if entry.ispkg:
            names += _inside([str(Path(p) / entry.name) for p in paths], name)
    return names


def _shown(module: Any, library: str) -> set[str]:
    listed = {name for name in getattr(module, "__all__", ()) or () if hasattr(module, name)}
    made = {
        name: value
        for name, value in vars(module).items()
        if (inspect.isclass(value) or callable(value))
        and not inspect.ismodule(value)
        and str(getattr(value, "__module__", "")).partition(".")[0] == library
        and not name.startswith("__")
    }
    own = {name for name, value in made.items() if value.__module__ == module.__name__}
    return listed | {name for name in own or made if not name.startswith("_") or inspect.isclass(made[name])}


def ask(python: str) -> None:
    from . import records

    code = "import json, tools.parity.modules as m; print('\\n' + json.dumps(m.walk()))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    records.write(RECORD, json.loads(done.stdout.splitlines()[-1]))


def absent() -> dict[str, str]:
    return {name: reason for names, reason in ABSENT.items() for name in names.split() if reason}


def is_absent(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in absent())


def served(record: dict[str, list[str]]) -> dict[str, list[str]]:
    """The modules of a record that Sampan has."""
    return {m: names for m, names in record.items() if m and not is_absent(m) and not NOT_ASKED.match(m)}


@functools.cache
def places() -> dict[str, str]:
    """Full name -> where it is, of what is found in a file of `names`."""
    found = {f"..{name}": f"{module}.{name}" for module, names in TOP.items() for name in names.split()}
    for file, modules in SHOWN.items():
        names = importlib.import_module(f"sampan.{file}").__all__
        found |= {f"{module}.{name}": f"{file}.{name}" for module in modules.split() for name in names}
    for module, given in UNRECORDED.items():
        found |= {
            f"{module}.{name}": f"{place}{name}" for place, names in given.items() for name in names.split()
        }
    return found


def listed(record: dict[str, list[str]]) -> dict[str, list[str]]:
    """The modules of the table with their names."""
    modules = {**{name: [] for name in [*STAND_INS.split(), *MOVED, *UNRECORDED]}, **served(record)}
    for module, names in ALSO.items():
        modules[module] = [*dict.fromkeys([*modules[module], *names])]
    for full in places():
        module, _, name = full.rpartition(".")
        modules[module] = [*dict.fromkeys([*modules.get(module, ()), name])]
    return modules


def table(record: dict[str, list[str]]) -> str:
    """The library's table of a record: see lib/sampan/lazy.py."""
    from sampan.names import inner

    lines = ["# Made by tools/parity/modules.py from PaddlePaddle's modules: see lib/sampan/lazy.py."]
    lines += [f"!{name}: {reason}" for name, reason in sorted(absent().items())]
    modules, here = listed(record), inner.table()
    here.files.update(MOVED)
    here.places.clear()  # the table that is rebuilt must not be used for lookups
    here.absent.clear()
    here.absent.update(absent())
    for full, place in places().items():
        module, _, name = full.rpartition(".")
        here.places.setdefault(module, {})[name] = place
    for module in modules:
        here.modules.setdefault(module, [])
    for module in sorted(modules):
        if _is_file(module) or inner.file_name(f"sampan.{module}"):  # not made elsewhere: search it first
            importlib.import_module(f"sampan.{module}")
    for module, names in sorted(modules.items()):
        head = f"{module}={MOVED[module]}:" if module in MOVED else f"{module}:"
        lines.append(" ".join([head, *(_entry(module, name) for name in names)]))
    return "\n".join(lines) + "\n"


def _is_file(module: str) -> bool:
    """Whether a module of Paddle's name is a file of Sampan's."""
    folder = LIBRARY / module.replace(".", "/").strip("/")
    return module != "." and ((folder / "__init__.py").is_file() or folder.with_suffix(".py").is_file())


def _entry(module: str, name: str) -> str:
    from sampan.names import inner

    full = f"{module}.{name}"
    if full in places():
        return f"{name}={places()[full]}"
    held = sys.modules.get(f"sampan.{module}")
    alone = _is_file(module) or (isinstance(held, types.ModuleType) and not isinstance(held, inner.Inner))
    if alone and module not in inner._SHARED:  # no table is asked there
        return _mark(getattr(held, name, None), name) or (name if hasattr(held, name) else f"-{name}")
    known = [PLACES[p] for p in (full, f"{module.rpartition('.')[0]}.{name}") if p in PLACES]
    known += [f"{file}.{name}" for file, modules in FILES.items() if module in modules.split()]
    around = _from_around(module, name)
    if not known and around == name:
        return name
    for place in [*known, *(f"{file}.{name}" for file in ANYWHERE)]:
        with contextlib.suppress(AttributeError, ImportError):
            inner.at(place)
            return f"{name}={place}"
    return around or (f"~{name}" if STATIC.match(full) else f"-{name}")


def _from_around(module: str, name: str) -> str:
    """The entry of a name that is found in the rooms around a module: itself, a stand-in, or nothing."""
    from sampan.names import inner

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = inner._around(module.split("."), name)
    return _mark(getattr(place, name, None), name)


def _mark(value: Any, name: str) -> str:
    """The entry of a value that was found."""
    if value is None or (inspect.ismodule(value) and not callable(value)):
        return ""
    return f"~{name}" if type(value).__name__ == "_Absent" else name


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.parity.modules", description=__doc__)
    parser.add_argument("--paddle", help="PaddlePaddle's Python: record its modules again")
    options = parser.parse_args()
    if options.paddle:
        ask(options.paddle)
    from . import records

    TABLE.write_text(table(records.read(RECORD)))


if __name__ == "__main__":
    main()
