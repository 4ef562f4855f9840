"""Paddle's modules: each contains what the real one contains, or says at import what is missing."""

import importlib
import re
import subprocess
import sys

import pytest

import sampan
from tools.parity import modules, records

inner = importlib.import_module("sampan.inner")
RECORD = records.read(modules.RECORD)
SERVED = modules.served(RECORD)


def split(module):
    """The entries of the table for a module: here, stand-ins, missing."""
    found = {"": set(), "~": set(), "-": set()}
    for entry in inner.table().modules[module]:
        mark = entry[0] if entry[0] in "~-" else ""
        found[mark].add(entry.lstrip("~-").partition("=")[0])
    return found


def test_the_table_is_made_from_the_record():
    extra = set(modules.STAND_INS.split())
    assert set(inner.table().modules) == set(SERVED) | extra
    assert inner.table().absent == modules.absent()
    assert not set(SERVED) & set(inner.table().absent)


@pytest.mark.parametrize("module", sorted(SERVED))
def test_a_module_contains_what_paddles_contains(module):
    parts = split(module)
    assert parts[""] | parts["~"] | parts["-"] == set(SERVED[module]) | set(modules.ALSO.get(module, ()))
    here = importlib.import_module(f"sampan.{module}")
    for name in parts[""]:
        assert type(getattr(here, name)).__name__ != "_Absent", name
    for name in parts["~"]:
        with pytest.raises((NotImplementedError, TypeError)):
            getattr(here, name)()
    for name in parts["-"]:
        assert not hasattr(here, name), f"{name} exists now: run `python -m tools.parity.modules`"
    if isinstance(here, inner.Inner):  # what programs read as `module.__dict__` or by `*`
        assert parts[""] | parts["~"] <= set(vars(here))


@pytest.mark.parametrize(
    "module", ["amp.accuracy_compare", "audio.features", "inference", "utils.cpp_extension"]
)
def test_an_absent_module_says_why(module):
    with pytest.raises(ModuleNotFoundError, match=re.escape(inner.why_absent(module))):
        importlib.import_module(f"sampan.{module}")


def test_a_module_that_lacks_a_name_raises_at_import(monkeypatch):
    monkeypatch.setitem(inner.table().modules, "tensor.made_up", ["add", "no_such_function"])
    with pytest.raises(ImportError, match=r"tensor\.made_up: Sampan does not have no_such_function"):
        importlib.import_module("sampan.tensor.made_up")


def test_a_missing_name_fails_where_it_is_imported():
    with pytest.raises(ImportError, match="plan_einsum"):
        from sampan.tensor.einsum import plan_einsum  # noqa: F401


@pytest.mark.parametrize("library", ["sampan", "paddle"])
def test_a_function_stays_where_a_module_has_its_name(library):
    """`paddle.tensor.einsum` is a function, and a module for `import`."""
    program = (
        "import sampan; sampan.compat.install(); import LIBRARY as paddle\n"
        "before = paddle.amp.auto_cast\n"
        "import LIBRARY.amp.auto_cast, LIBRARY.tensor.einsum, LIBRARY.batch, LIBRARY.utils.deprecated\n"
        "from LIBRARY.utils.deprecated import deprecated, VisibleDeprecationWarning\n"
        "from LIBRARY.tensor.einsum import einsum\n"
        "assert paddle.amp.auto_cast is before and paddle.utils.deprecated is deprecated\n"
        "assert paddle.tensor.einsum is einsum is paddle.einsum\n"
        "assert list(paddle.batch(lambda: iter(range(3)), 2)()) == [[0, 1], [2]]\n"
        "assert type(paddle) is type(paddle.amp) is type(sampan.nn)\n"
        "import LIBRARY.nn.layer.conv as conv; assert conv is paddle.nn.layer.conv\n"
    ).replace("LIBRARY", library)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_base_classes_of_layers():
    from sampan.nn.layer.conv import _ConvNd
    from sampan.nn.layer.norm import _BatchNormBase, _InstanceNormBase
    from sampan.nn.layer.rnn import RNNBase

    assert isinstance(sampan.nn.Conv2D(1, 1, 1), _ConvNd)
    assert isinstance(sampan.nn.Conv1DTranspose(1, 1, 1), _ConvNd)
    assert isinstance(sampan.nn.SyncBatchNorm(2), _BatchNormBase)
    assert isinstance(sampan.nn.InstanceNorm3D(2), _InstanceNormBase)
    assert isinstance(sampan.nn.LSTM(2, 2), RNNBase)

    class Mine(_ConvNd):
        def __init__(self):
            super().__init__(4, 6, 3, False, 2, padding=1, groups=2, bias_attr=False)

        def forward(self, x):
            return sampan.nn.functional.conv2d(x, self.weight, padding=self.padding, groups=self.groups)

    layer = Mine()
    assert layer.weight.shape == [6, 2, 3, 3]
    assert layer.bias is None
    assert layer(sampan.ones([1, 4, 5, 5])).shape == [1, 6, 5, 5]
    turned = _ConvNd(4, 6, 3, True, 1, groups=2, data_format="NCL")
    assert turned.weight.shape == [4, 3, 3]  # as Paddle's of the same arguments
