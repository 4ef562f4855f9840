"""The program that `save` runs in a fresh process."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from sampan import nn
from sampan.jit import InputSpec, save
from sampan.jit.check_file import main

pytestmark = pytest.mark.servers


def test_it_writes_what_the_file_answers(tmp_path: Path) -> None:
    net: Any = nn.Linear(3, 2)
    save(net, tmp_path / "net", [InputSpec([None, 3])])
    x = torch.randn(4, 3)
    save_file({"0.forward.0": x}, tmp_path / "in")
    main(str(tmp_path / "net"), str(tmp_path / "in"), str(tmp_path / "out"))
    wanted = torch.addmm(net.bias.data, x, net.weight.data)
    assert torch.allclose(load_file(tmp_path / "out")["0.forward.0"], wanted)
