"""Paddle's inner modules by name: what a program takes from `paddle.nn.layer.norm` or `paddle.tensor.math`.

Sampan's files are cut in another way. A name asked of an inner module is looked for in the rooms around it: first in
the module itself, then in `nn.layer`, in `nn`, at the top. Of `pir`, `jit` and the like, which are static graphs, what
is not there is a stand-in that can be imported and says so when it is used.
"""

import importlib.abc
import importlib.util
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from inspect import isfunction
from types import ModuleType
from typing import Any

from .static import absent

# fmt: off
_NAMES = {
    "": "_C_ops _legacy_C_ops jit pir pir_utils decomposition",
    "amp": "auto_cast amp_lists grad_scaler", "autograd": "autograd backward_mode backward_utils ir_backward py_layer",
    "base": "backward compiler data_feeder executor initializer layer_helper layers param_attr reader",
    "base.dygraph": "base math_op_patch tracer", "base.layers": "math_op_patch",
    "distribution": "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet "
    "exponential exponential_family gamma geometric gumbel independent kl laplace lkj_cholesky lognormal multinomial "
    "multivariate_normal normal poisson student_t transformed_distribution uniform",
    "framework": "core dtype io random", "hapi": "callbacks dynamic_flops model_summary progressbar",
    "incubate.autograd": "functional primapi utils", "incubate.optimizer": "functional lbfgs lookahead modelaverage",
    "io": "dataloader reader", "io.dataloader": "batch_sampler collate dataloader_iter dataset sampler worker",
    "jit": "api dy2static sot", "metric": "metrics", "nn": "layer", "pir": "core",
    "nn.functional": "conv distance extension input norm sparse_attention transformer",
    "nn.initializer": "assign bilinear constant dirac initializer kaiming normal orthogonal uniform xavier",
    "nn.layer": "activation common container conv distance layers loss norm pooling rnn transformer vision",
    "optimizer": "adadelta adagrad adamax adamw asgd lamb momentum nadam radam rmsprop rprop", "sparse.nn": "layer",
    "tensor": "array attribute creation einsum linalg logic manipulation math ops random search stat tensor to_string",
    "sparse": "binary creation multiary unary", "utils": "decorator_utils download environments inplace_utils",
    "vision.models": "mobilenetv1 mobilenetv2 mobilenetv3",
}
_INNER = {room: set(names.split()) for room, names in _NAMES.items()}
_STATIC = {"jit", "pir", "pir_utils", "decomposition", "_legacy_C_ops"}
# Where else to look, by room.
_ALSO = {
    "_C_ops": ["nn.functional", "linalg"], "framework": ["base"], "io": ["io.collate"], "jit": ["static"],
    "pir_utils": ["static"], "tensor": ["linalg", "nn.functional"],
}
# Modules of ours that bear a name of Paddle's and hold something else.
_SHARED = (
    "framework", "nn.functional.activation", "nn.functional.common", "nn.functional.loss",
    "nn.functional.pooling", "nn.initializer", "nn.layer", "tensor",
)
# fmt: on


class Inner(ModuleType):
    """A module of Paddle's that is no file here."""

    def __getattr__(self, name: str) -> Any:
        return _found(self.__name__, name)


def _found(module: str, name: str) -> Any:
    inside = module.removeprefix("sampan.")
    if name in _INNER.get(inside, ()):
        return importlib.import_module(f"{module}.{name}")
    parts = inside.split(".")
    static = parts[0] in _STATIC
    rooms = (
        [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
        + [""] * (not static)
        + _ALSO.get(parts[0], [])
    )
    for room in () if name.startswith("__") else rooms:
        place = importlib.import_module(f"sampan.{room}".strip("."))
        if not isinstance(place, Inner) and (
            name in vars(place) or (isfunction(vars(place).get("__getattr__")) and hasattr(place, name))
        ):
            return getattr(place, name)
    if static and not name.startswith("__"):
        return absent(f"{inside}.{name}")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes inner modules, after all other ways to find one have failed."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top, _, inside = fullname.partition(".")
        room, _, last = inside.rpartition(".")
        if top != "sampan" or last not in _INNER.get(room, ()):
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Inner(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def install() -> None:
    """From now on `import sampan.tensor.math` and its like work."""
    sys.meta_path.append(_Finder())
    for name in _SHARED:
        module: Any = sys.modules[f"sampan.{name}"]
        module.__getattr__ = partial(_found, module.__name__)
        vars(module).setdefault("__path__", [])
