"""Paddle's modules: each contains what the real one contains, or says at import what is missing."""

import importlib
import re
import subprocess
import sys
from types import ModuleType

import pytest

import sampan
from sampan.names import inner
from tools.parity import modules, records

RECORD = records.read(modules.RECORD)
SERVED = modules.served(RECORD)


def split(module):
    """The entries of the table for a module: here, stand-ins, missing."""
    found = {"": set(), "~": set(), "-": set()}
    for entry in inner.table().modules[module]:
        mark = entry[0] if entry[0] in "~-" else ""
        found[mark].add(bare(entry))
    return found


def bare(entry):
    return entry.lstrip("~-").partition("=")[0]


def test_the_table_is_made_from_the_record():
    assert {module: set(map(bare, names)) for module, names in inner.table().modules.items()} == {
        module: set(names) for module, names in modules.listed(RECORD).items()
    }
    assert inner.table().files == modules.MOVED
    assert inner.table().absent == modules.absent()
    assert not set(SERVED) & set(inner.table().absent)


@pytest.mark.parametrize("module", sorted(SERVED))
def test_a_module_contains_what_paddles_contains(module):
    parts = split(module)
    assert parts[""] | parts["~"] | parts["-"] == set(modules.listed(RECORD)[module])
    here = importlib.import_module(f"sampan.{module}")
    for name in parts[""]:
        assert type(getattr(here, name)).__name__ != "_Absent", name
    for name in parts["~"]:
        with pytest.raises((NotImplementedError, TypeError)):
            getattr(here, name)()
    for name in parts["-"]:
        found = getattr(here, name, None)  # a file of ours with that name is there once it was imported
        assert found is None or isinstance(found, ModuleType), (
            f"{name} exists now: run `python -m tools.parity.modules`"
        )
    if isinstance(here, inner.Inner):  # what programs read as `module.__dict__` or by `*`
        assert parts[""] | parts["~"] <= set(vars(here))


@pytest.mark.parametrize("module", ["amp.accuracy_compare", "inference.contrib", "utils.cpp_extension"])
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


@pytest.mark.parametrize(("module", "count"), [("nn", 179), ("optimizer", 15), ("text", 9)])
def test_what_a_module_lists(module, count):
    """As many names as real Paddle 3.3.1 lists; programs look up layers and optimizers in it."""
    here = importlib.import_module(f"sampan.{module}")
    assert len(set(here.__all__)) == count
    assert set(here.__all__) <= set(RECORD[module])
    assert all(hasattr(here, name) for name in here.__all__)


def test_a_row_that_is_too_long_is_shortened_in_place():
    """`embedding_renorm_`: rows that are named are shortened to max_norm, the others stay. By hand: |(3, 4)| is 5."""
    functional = importlib.import_module("sampan.nn.functional.input")
    weight = sampan.to_tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    assert functional.embedding_renorm_(sampan.to_tensor([[0, 1], [0, 1]]), weight, 1.0) is weight
    for row, expected in zip(weight.tolist(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], strict=True):
        assert row == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ValueError, match="x"):
        functional.embedding_renorm_(sampan.to_tensor([3]), weight, 1.0)


def test_helpers_of_hapi(capsys):
    """Answers of real Paddle 3.3.1, without the times."""
    from sampan.hapi.callbacks import config_callbacks
    from sampan.hapi.progressbar import ProgressBar

    from sampan.hapi.model import extract_args, flatten_list, restore_flatten_list, to_list

    assert (to_list(None), to_list(3), to_list((1, 2))) == (None, [3], [1, 2])
    assert flatten_list([[1], [2, 3]]) == ([1, 2, 3], [1, 2])
    assert restore_flatten_list([1, 2, 3], [1, 2]) == [[1], [2, 3]]
    assert extract_args(lambda a, b=1: a) == ["a", "b"]
    for function, given in ((flatten_list, [1]), (flatten_list, (1,))):
        with pytest.raises(AssertionError):
            function(given)
    bar = ProgressBar(num=12, verbose=2, file=sys.stdout)
    bar.update(3, [("loss", [0.5]), ("acc", 0.00001)])
    assert re.fullmatch(
        r"step  3/12 - loss: 0\.5000 - acc: 1\.0000e-05 - \S+/step\n", capsys.readouterr().out
    )
    with pytest.raises(TypeError):
        ProgressBar(num=0)
    made = config_callbacks(None, model="model", epochs=2, steps=3, verbose=1, metrics=["loss"])
    assert [type(c).__name__ for c in made] == ["ProgBarLogger", "ModelCheckpoint", "LRScheduler"]
    assert all(c.model == "model" and c.params["steps"] == 3 for c in made)


def test_files_from_the_network_come_from_the_cache(tmp_path):
    from sampan.utils.download import get_path_from_url, is_url

    url = "https://example.org/models/net.pdparams"
    assert is_url(url) and not is_url("/tmp/net")
    with pytest.raises(RuntimeError, match=r"nothing is downloaded here, and .*net\.pdparams is not there"):
        get_path_from_url(url, str(tmp_path))
    (tmp_path / "net.pdparams").write_bytes(b"abc")
    assert get_path_from_url(url, str(tmp_path)) == str(tmp_path / "net.pdparams")
    assert get_path_from_url(url, str(tmp_path), "900150983cd24fb0d6963f7d28e17f72")  # RFC 1321: MD5 of "abc"
    with pytest.raises(RuntimeError, match="another MD5 sum"):
        get_path_from_url(url, str(tmp_path), "0" * 32)


def test_states_of_a_recurrent_network_taken_apart():
    from sampan.nn.layer.rnn import birnn, concat_states, rnn, split_states

    states = sampan.arange(8).reshape([4, 1, 2])  # 2 layers in 2 directions
    parts = split_states(states, bidirectional=True)
    assert [[s.tolist() for s in pair] for pair in parts] == [[[[0, 1]], [[2, 3]]], [[[4, 5]], [[6, 7]]]]
    assert concat_states(parts, bidirectional=True).tolist() == states.tolist()
    both = split_states((states, states), state_components=2)
    assert [s.tolist() for s in concat_states(both, state_components=2)] == [states.tolist()] * 2
    cell = sampan.nn.GRUCell(2, 3)
    x = sampan.ones([1, 4, 2])
    assert rnn(cell, x)[0].tolist() == sampan.nn.RNN(cell)(x)[0].tolist()
    assert birnn(cell, cell, x)[0].shape == [1, 4, 6]


def test_arrays_of_tensors():
    from sampan.tensor.array import array_length, array_read, array_write, create_array

    zero, one = sampan.to_tensor([0]), sampan.to_tensor([1])
    held = array_write(sampan.ones([2]), zero)
    array_write(sampan.zeros([2]), one, held)
    assert (array_length(held), array_read(held, one).tolist()) == (2, [0, 0])
    with pytest.raises(AssertionError):
        array_write(sampan.ones([2]), sampan.to_tensor([5]), held)
    with pytest.raises(TypeError):
        create_array("float32", [1])
    from sampan.tensor.creation import fill_constant

    assert fill_constant([2], "int64", 3).tolist() == [3, 3]
    assert sampan.tensor.fill_constant([1], "float32", 0.5).item() == 0.5
