"""Names that are imported when a program first names them, under all the names that Paddle's programs use."""

import importlib
import pickle
import subprocess
import sys

import pytest

import sampan
from sampan.lazy import find, table
from tools.parity import modules

# What stays out of `import sampan`: all files of `names` but the two that find modules.
LOADED = {"sampan.names", "sampan.names.compat", "sampan.names.inner"}


# What names a file for the first time. `base` comes last: it imports others.
FIRST = """
decode: sampan.nn.BeamSearchDecoder
loss_layers: sampan.nn.HSigmoidLoss
functional: sampan.nn.functional.temporal_shift
flash_attention: sampan.nn.functional.flash_attention.flash_attn_unpadded
vision_datasets: sampan.vision.MNIST
vision_ops: sampan.vision.ops.nms
text_datasets: sampan.text.Imdb
lbfgs: sampan.optimizer.LBFGS
framework: sampan.get_flags
distribution: sampan.distribution.Normal
static: sampan.static.InputSpec
incubate: sampan.incubate.LookAhead
device: sampan.cuda.Stream
utils: sampan.utils.run_check
hub: sampan.hub.load
base: sampan.core.VarDesc
"""


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_file_is_imported_when_it_is_first_named():
    program = f"""
import sys, sampan, sampan.vision, sampan.text, sampan.linalg, sampan.models, sampan.datasets
loaded = {{m for m in sys.modules if m.startswith("sampan.names")}}
assert loaded == {LOADED}, loaded
for line in '''{FIRST.strip()}'''.splitlines():
    file, _, name = line.partition(": ")
    assert f"sampan.names.{{file}}" not in sys.modules, file
    eval(name)
    assert f"sampan.names.{{file}}" in sys.modules, file
"""
    run(program)


@pytest.mark.parametrize("module", sorted(modules.MOVED))
def test_a_module_has_two_names_and_is_one(module):
    real = importlib.import_module(f"sampan.{modules.MOVED[module]}")
    assert importlib.import_module(f"sampan.{module}") is real
    assert real.__spec__.name == real.__name__ == f"sampan.{modules.MOVED[module]}"


def test_what_is_inside_a_module_with_two_names_is_one():
    program = """
import sampan
import sampan.distribution.transform as first, sampan.names.distribution.transform as second
import sampan.incubate.optimizer.lookahead
from sampan.vision.datasets.cifar import Cifar10
from sampan.distribution.normal import Normal
assert first is second and first is sampan.distribution.transform
assert Normal is sampan.distribution.Normal is sampan.names.distribution.continuous.Normal
assert Cifar10 is sampan.vision.Cifar10 is sampan.vision.datasets.Cifar10
assert sampan.incubate.optimizer.lookahead.LookAhead is sampan.names.incubate.LookAhead
from sampan.distribution import gamma
assert gamma is sampan.distribution.gamma and gamma.__name__ == "sampan.distribution.gamma"
import sampan.device.cuda, sampan.static.nn, sampan.utils.unique_name
assert sampan.device.cuda is sampan.device and sampan.static.nn.cond
"""
    run(program)


def test_a_star_takes_them_too():
    program = """
stars = {
    "sampan": "get_flags FloatTensor LazyGuard to_tensor",
    "sampan.nn": "BeamSearchDecoder HSigmoidLoss Linear",
    "sampan.nn.functional": "margin_ranking_loss sparse_attention relu",
    "sampan.vision": "MNIST ImageFolder resnet18",
    "sampan.text": "Imdb ViterbiDecoder",
    "sampan.optimizer": "LBFGS SGD",
}
for package, names in stars.items():
    exec(f"from {package} import *", taken := {})
    assert not set(names.split()) - set(taken), package
"""
    run(program)


def test_they_are_listed():
    assert {"get_flags", "norm", "to_tensor"} <= set(dir(sampan))
    assert {"margin_ranking_loss", "relu"} <= set(dir(sampan.nn.functional))
    assert {"MNIST", "resnet18"} <= set(dir(sampan.vision))


@pytest.mark.parametrize(
    "path",
    [
        "distribution.continuous.Normal", "distribution.transform.ExpTransform", "incubate.optimizer.LookAhead",
        "nn.decode.BeamSearchDecoder", "nn.decode.OutputWrapper", "nn.functional.ranking.margin_ranking_loss",
        "nn.loss.HSigmoidLoss", "optimizer.lbfgs.LBFGS", "vision.ops.DeformConv2D", "vision.datasets.ImageFolder",
        "text.datasets.Imdb", "static.InputSpec", "framework.DataParallel",
    ],
)  # fmt: skip
def test_a_pickle_of_an_older_version_is_read(path):
    """Pickles name a class by the module that it was written in."""
    module, _, name = path.rpartition(".")
    found = pickle.loads(f"csampan.{module}\n{name}\n.".encode())
    assert found.__name__ == name and found.__module__.startswith(
        ("sampan.names.", "sampan.jit.", "sampan.distributed.")
    )


def test_a_name_is_kept_once_it_was_found():
    sampan.vision.MNIST  # noqa: B018
    assert vars(sampan.vision)["MNIST"] is sampan.vision.datasets.MNIST


def test_a_name_that_the_table_lacks():
    for module in ("sampan", "sampan.vision", "sampan.nn", "sampan.nn.functional"):
        with pytest.raises(AttributeError, match="no_such_name"):
            find(module, "no_such_name")
        with pytest.raises(AttributeError, match="no_such_name"):
            getattr(importlib.import_module(module), "no_such_name")  # noqa: B009


def test_every_place_of_the_table_is_there():
    for module, places in table().places.items():
        for name in places:
            getattr(importlib.import_module(f"sampan.{module}".rstrip(".")), name)
