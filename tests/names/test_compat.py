"""`import paddle` gives Sampan after install(), and what was there before after uninstall()."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

import sampan
from sampan import compat


@pytest.fixture
def installed():
    compat.install()
    yield
    compat.uninstall()


def test_every_way_to_import(installed):
    import paddle
    import paddle.nn.functional as F
    from paddle import nn
    from paddle.nn import Linear
    from paddle.optimizer.lr import StepDecay

    assert paddle is sampan
    assert F is sampan.nn.functional
    assert nn is sampan.nn
    assert Linear is sampan.nn.Linear
    assert StepDecay is sampan.optimizer.lr.StepDecay
    assert importlib.import_module("paddle.device") is sampan.device
    for absent in ("no_such_room", "fluid"):  # `fluid` is absent in Paddle 3 too
        with pytest.raises(ModuleNotFoundError, match=rf"paddle\.{absent}"):
            importlib.import_module(f"paddle.{absent}")
    with pytest.raises(ModuleNotFoundError, match="copies between handles"):
        importlib.import_module("paddle.inference.contrib")


def test_modules_keep_their_own_names(installed):
    importlib.import_module("paddle.nn.functional")
    assert sampan.nn.functional.__spec__.name == "sampan.nn.functional"
    assert importlib.reload(sampan.linalg).__name__ == "sampan.linalg"


def test_inner_modules_of_old_programs(installed):
    import paddle
    from paddle.base import core
    from paddle.base.dygraph import guard, to_variable
    from paddle.base.framework import in_dygraph_mode
    from paddle.device.cuda import device_count
    from paddle.tensor import add
    from paddle.utils import unique_name
    from paddle.utils.dlpack import to_dlpack

    with guard():
        assert in_dygraph_mode()
        assert to_variable([1.0]).tolist() == [1]
    assert core.VarDesc.VarType.FP32 is sampan.float32
    assert core.is_compiled_with_cuda() is sampan.is_compiled_with_cuda()
    assert not core.is_compiled_with_xpu()
    assert isinstance(device_count(), int)
    assert paddle.base.CPUPlace is sampan.CPUPlace
    assert add is sampan.add
    assert to_dlpack is sampan.to_dlpack
    assert unique_name.generate("layer") != unique_name.generate("layer")


def test_static_graphs_and_what_is_absent_of_them(installed):
    import paddle

    spec = paddle.static.InputSpec([None, 3], "float32", "x")
    assert repr(spec) == "InputSpec(shape=(-1, 3), dtype=paddle.float32, name=x, stop_gradient=False)"
    assert spec.batch(4).shape == (4, -1, 3)
    assert spec.unbatch() == paddle.static.InputSpec([-1, 3], name="x")
    assert paddle.static.InputSpec.from_tensor(paddle.ones([2]), name="y").shape == (2,)
    from paddle.base import Program, program_guard
    from paddle.jit.dy2static import convert_ifelse
    from paddle.static import CompiledProgram, Executor

    assert program_guard is paddle.static.program_guard and Program().ops == []
    assert Executor(paddle.CPUPlace()).run(CompiledProgram(Program())) == []
    with pytest.raises(NotImplementedError, match=r"static\.IpuCompiledProgram"):
        paddle.static.IpuCompiledProgram(Program())
    with pytest.raises(NotImplementedError, match=r"static\.nn\.sequence_pool"):
        paddle.static.nn.sequence_pool(1)
    with pytest.raises(NotImplementedError, match=r"static\.convert_ifelse"):
        convert_ifelse()
    with pytest.raises(AttributeError):
        paddle.static.__wrapped__  # noqa: B018
    assert not isinstance(paddle.ones([1]), Program)


def test_inner_modules_hold_what_is_around_them(installed):
    import paddle
    import paddle.tensor.math
    from paddle import _C_ops
    from paddle.autograd.py_layer import PyLayer
    from paddle.base.data_feeder import check_type, convert_dtype
    from paddle.base.framework import EagerParamBase, Variable, _current_expected_place, in_pir_mode
    from paddle.framework import core
    from paddle.incubate.autograd.functional import jvp
    from paddle.io.dataloader.collate import default_collate_fn
    from paddle.nn.functional.loss import ctc_loss
    from paddle.nn.layer.norm import BatchNorm2D
    from paddle.optimizer.lr import NoamDecay

    assert paddle.tensor.math.multiplex is paddle.multiplex
    assert paddle.tensor.linalg.svd is paddle.linalg.svd
    assert (BatchNorm2D, ctc_loss) == (paddle.nn.BatchNorm2D, paddle.nn.functional.ctc_loss)
    assert (PyLayer, jvp) == (paddle.autograd.PyLayer, paddle.incubate.autograd.jvp)
    assert NoamDecay is paddle.optimizer.lr.NoamDecay
    assert default_collate_fn([1.0, 2.0]) is not None
    assert isinstance(paddle.nn.Linear(1, 1).weight, EagerParamBase)
    assert isinstance(paddle.ones([1]), Variable)
    assert not core.is_float16_supported(_current_expected_place())
    assert not in_pir_mode()
    assert convert_dtype(paddle.float32) == "float32"
    assert check_type(1, "x", int, "op") is None
    assert _C_ops.relu(paddle.to_tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert paddle.framework.random.get_rng_state is paddle.get_rng_state
    with pytest.raises(ImportError):
        from paddle.tensor.math import no_such_name  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("paddle.tensor.no_such_module")


def test_to_static_runs_at_once(installed):
    import paddle

    @paddle.jit.to_static
    def double(x):
        return x * 2

    @paddle.jit.to_static(full_graph=True)
    def triple(x):
        return x * 3

    paddle.jit.enable_to_static(True)
    assert double(paddle.ones([1])).item() == 2
    assert paddle.jit.not_to_static(triple)(paddle.ones([1])).item() == 3


def test_names_begin_anew_under_a_guard(installed):
    import paddle
    from paddle.utils import unique_name

    with unique_name.guard():
        assert paddle.nn.Linear(1, 1).full_name() == "linear_0"
        with unique_name.guard("inner_"):
            assert unique_name.generate("fc") == "inner_fc_0"
        assert paddle.nn.Linear(1, 1).full_name() == "linear_1"
        before = unique_name.switch()
        assert unique_name.generate("linear") == "linear_0"
        unique_name.switch(before)
        assert unique_name.generate("linear") == "linear_2"


def test_uninstall_leaves_nothing():
    compat.install()
    importlib.import_module("paddle.nn")
    compat.uninstall()
    assert not [name for name in sys.modules if name.split(".")[0] == "paddle"]
    assert not any(
        f.find_spec("paddle") for f in sys.meta_path if type(f).__module__ == "sampan.names.compat"
    )
    compat.uninstall()


def test_a_name_set_by_hand_gives_the_same_modules():
    program = """
import sys, sampan
sys.modules["paddle"] = sampan
import paddle.sparse, sampan.sparse
import paddle.nn.functional as F
from paddle.distribution import gamma
from paddle.nn.layer.norm import BatchNorm1D
assert sys.modules["paddle.sparse"] is sampan.sparse and F is sampan.nn.functional
x = sampan.sparse.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], [2, 2])
assert isinstance(paddle.sparse.nn.BatchNorm(2)(x), sampan.sparse.SparseTensor)
assert sampan.__spec__.name == "sampan" and sampan.sparse.__name__ == "sampan.sparse"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_refused_when_paddlepaddle_is_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "paddle", type(sys)("paddle"))
    with pytest.raises(RuntimeError, match="imported already"):
        compat.install()


def test_a_program_written_for_paddle_runs(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sampan.compat\n"
        "sampan.compat.install()\n"
        "import paddle\n"
        "import paddle.nn.functional as F\n"
        "paddle.seed(1)\n"
        "model = paddle.nn.Sequential(paddle.nn.Linear(2, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 1))\n"
        "optimizer = paddle.optimizer.Adam(0.05, parameters=model.parameters())\n"
        "x = paddle.rand([64, 2])\n"
        "y = x.sum(axis=1, keepdim=True)\n"
        "for step in range(60):\n"
        "    loss = F.mse_loss(model(x), y)\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    optimizer.clear_grad()\n"
        "print('small' if float(loss) < 0.01 else 'large')\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "small\n", done.stderr


def test_guards_of_static_graphs_change_nothing_in_a_dynamic_program(installed):
    """As real Paddle's: each was entered there in a dynamic program."""
    import paddle
    from paddle.static.amp import fp16_guard
    from paddle.static.amp.bf16 import bf16_guard

    guards = (
        fp16_guard(), bf16_guard(), paddle.static.amp.fp16_guard(), paddle.static.device_guard("cpu"),
        paddle.static.name_scope("block"), paddle.base.framework.name_scope("block"), paddle.static.ipu_shard_guard(0),
    )  # fmt: skip
    for guard in guards:
        with guard:
            assert paddle.ones([1]).astype("float32").sum().item() == 1
    with pytest.raises(NotImplementedError, match=r"static\.amp\.decorate"):
        paddle.static.amp.decorate()


def test_an_initializer_is_called_as_public_programs_call_it(installed):
    import paddle

    layer = paddle.nn.Linear(2, 2)
    paddle.nn.initializer.Constant(3.0)(layer.weight, layer.weight.block)
    assert layer.weight.tolist() == [[3, 3], [3, 3]]
