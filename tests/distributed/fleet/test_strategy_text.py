"""A DistributedStrategy in a file, as PaddlePaddle writes it."""

from pathlib import Path
from typing import Any

import pytest

from sampan import static
from sampan.distributed import fleet
from sampan.engine.errors import InvalidArgument, InvalidType

# What PaddlePaddle 3.3.1 writes for the settings of `changed`.
PADDLES = """\
amp: true
recompute: true
dgc: true
nccl_comm_num: 2
fuse_grad_size_in_MB: 16
recompute_configs {
  checkpoints: "x"
  checkpoints: "y\\"z"
}
amp_configs {
  init_loss_scaling: 1024
  custom_white_list: "conv2d"
}
dgc_configs {
  rampup_begin_step: 5
  sparsity: 0.99
  sparsity: 0.999
}
lars_configs {
  lars_coeff: 0.0001
  epsilon: 1e-07
  exclude_from_weight_decay: "bn"
}
hybrid_configs {
  dp_degree: 1
  mp_degree: 2
  pp_configs {
    enable_timer: true
  }
}
"""


def changed() -> Any:
    strategy = fleet.DistributedStrategy()
    strategy.amp = strategy.recompute = strategy.dgc = True
    strategy.nccl_comm_num, strategy.fuse_grad_size_in_MB = 2, 16
    strategy.recompute_configs = {"checkpoints": ["x", 'y"z']}
    strategy.amp_configs = {"init_loss_scaling": 1024.0, "custom_white_list": ["conv2d"]}
    strategy.dgc_configs = {"rampup_begin_step": 5, "sparsity": [0.99, 0.999]}
    strategy.lars_configs = {"lars_coeff": 0.0001, "epsilon": 1e-7, "exclude_from_weight_decay": ["bn"]}
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 2, "pp_configs": {"enable_timer": True}}
    return strategy


def test_what_is_written_has_the_lines_of_paddlepaddle_and_can_be_read(tmp_path: Path) -> None:
    file = str(tmp_path / "strategy.prototxt")
    changed().save_to_prototxt(file)
    assert sorted(Path(file).read_text().splitlines()) == sorted(PADDLES.splitlines())
    found = fleet.DistributedStrategy()
    found.load_from_prototxt(file)
    assert repr(found) == repr(changed())
    (tmp_path / "paddles").write_text("# a comment\n" + PADDLES)
    other = fleet.DistributedStrategy()
    other.load_from_prototxt(str(tmp_path / "paddles"))
    assert repr(other) == repr(found)
    assert type(other.amp_configs["init_loss_scaling"]) is float


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("amp true", "line 1: expected ':', got 'true'"),
        ("amp: true\ndgc: yes", "line 2: expected true, false, a number or a text in quotes, got 'yes'"),
        ("amp: 1", "line 1: expected a value of type bool, got '1'"),
        ("nope: 1", "line 1: expected a setting, got 'nope: 1'"),
        ("amp_configs { x: 1 }", "line 1: expected a setting or a brace, got 'x: 1 }'"),
        ("amp_configs {", "line 1: expected a setting or a brace, got ''"),
        ("hybrid_configs: 3", "line 1: expected '{', got '3'"),
        ("}", "line 1: expected a setting, got '}'"),
        ('recompute_configs { checkpoints: "x', "expected a name or a value"),
        ("amp:", "expected true, false"),
    ],
)
def test_another_text_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "wrong"
    file.write_text(text)
    strategy = fleet.DistributedStrategy()
    with pytest.raises(InvalidArgument, match="load_from_prototxt: ") as error:
        strategy.load_from_prototxt(str(file))
    assert said in str(error.value)
    assert repr(strategy) == "DistributedStrategy()"


def test_the_build_strategy_is_kept_with_the_strategy() -> None:
    strategy = fleet.DistributedStrategy()
    assert not strategy.build_strategy.fuse_gemm_epilogue
    strategy.build_strategy.fuse_gemm_epilogue = True
    assert strategy.build_strategy.fuse_gemm_epilogue
    strategy.build_strategy = static.BuildStrategy()
    assert not strategy.build_strategy.fuse_gemm_epilogue and repr(strategy) == "DistributedStrategy()"
    with pytest.raises(AttributeError, match="nonsense"):
        strategy.build_strategy.nonsense = 1
    with pytest.raises(InvalidType, match=r"BuildStrategy.enable_inplace: expected True or False, got 2"):
        strategy.build_strategy.enable_inplace = 2
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = strategy.nonsense
