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
    assert importlib.import_module("paddle.device").__name__ == "sampan.device"
    with pytest.raises(ModuleNotFoundError, match=r"paddle\.no_such_room"):
        importlib.import_module("paddle.no_such_room")


def test_modules_keep_their_own_names(installed):
    importlib.import_module("paddle.nn.functional")
    assert sampan.nn.functional.__spec__.name == "sampan.nn.functional"
    assert importlib.reload(sampan.regularizer).__name__ == "sampan.regularizer"


def test_inner_modules_of_old_programs(installed):
    import paddle
    from paddle.base import core
    from paddle.base.framework import in_dygraph_mode
    from paddle.device.cuda import device_count
    from paddle.fluid.dygraph import guard, to_variable
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


def test_static_graphs_are_absent_with_a_sentence(installed):
    import paddle

    spec = paddle.static.InputSpec([None, 3], "float32", "x")
    assert repr(spec) == "InputSpec(shape=(-1, 3), dtype=paddle.float32, name=x, stop_gradient=False)"
    assert spec.batch(4).shape == (4, -1, 3)
    assert spec.unbatch() == paddle.static.InputSpec([-1, 3], name="x")
    assert paddle.static.InputSpec.from_tensor(paddle.ones([2]), name="y").shape == (2,)
    assert not hasattr(paddle.static, "Program")
    with pytest.raises(NotImplementedError, match=r"static\.program_guard"):
        _ = paddle.static.program_guard
    with pytest.raises(NotImplementedError, match=r"base\.Program"):
        _ = paddle.base.Program


def test_uninstall_leaves_nothing():
    compat.install()
    importlib.import_module("paddle.nn")
    compat.uninstall()
    assert not [name for name in sys.modules if name.split(".")[0] == "paddle"]
    assert not [finder for finder in sys.meta_path if type(finder).__module__ == "sampan.compat"]
    compat.uninstall()


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
