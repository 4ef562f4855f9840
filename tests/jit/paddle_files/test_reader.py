"""Damaged and hostile pairs of files: an error that says what is wrong, and nothing is allocated for it."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sampan.jit import load
from sampan.jit.paddle_files.reader import _setting

from .files import unpacked


@pytest.fixture
def base(tmp_path: Path) -> Path:
    unpacked(tmp_path)
    return tmp_path / "picture"


def ops_of(content: Any) -> list[Any]:
    ops: list[Any] = content["program"]["regions"][0]["blocks"][0]["ops"]
    return ops


def changed(base: Path, change: Callable[[Any], None]) -> Path:
    file = Path(f"{base}.json")
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    return base


def reads_later(content: Any) -> None:
    ops_of(content)[-1]["I"][0]["%"] = 4000


def makes_again(content: Any) -> None:
    ops_of(content)[-2]["O"][0]["%"] = ops_of(content)[0]["O"]["%"]


def unknown(content: Any) -> None:
    for op in ops_of(content)[-6:-4]:
        op["#"] = "1.no_such_operator"
    ops_of(content)[-7]["#"] = "3.mine"


def other_shape(content: Any) -> None:
    ops_of(content)[0]["O"]["TT"]["D"][1] = [2**40, 2**40]


def negative(content: Any) -> None:
    ops_of(content)[0]["O"]["TT"]["D"][1] = [-3]


def strange_dtype(content: Any) -> None:
    ops_of(content)[0]["O"]["TT"]["D"][0]["#"] = "0.t_f8"


def two_regions(content: Any) -> None:
    content["program"]["regions"] *= 2


def other_magic(content: Any) -> None:
    content["base_code"]["magic"] = "pickle"


def no_ops(content: Any) -> None:
    del content["program"]["regions"][0]["blocks"][0]["ops"]


def no_inputs(content: Any) -> None:
    ops_of(content)[:] = [op for op in ops_of(content) if op["#"] != "1.fetch"]


def not_a_number(content: Any) -> None:
    ops_of(content)[-1]["I"][0]["%"] = "1"


def wrong_setting(content: Any) -> None:
    op = next(op for op in ops_of(content) if op["#"] == "1.conv2d")
    op["A"] = [one for one in op["A"] if one["N"] != "strides"]


def nameless(content: Any) -> None:
    del ops_of(content)[0]["A"][2:]


def huge_padding(content: Any) -> None:
    op = next(op for op in ops_of(content) if op["#"] == "1.conv2d")
    for one in op["A"]:
        if one["N"] == "paddings":
            one["AT"]["D"] = [{"#": "0.a_i32", "D": 2**40}] * 2


def huge_input(content: Any) -> None:
    op = next(op for op in ops_of(content) if op["#"] == "1.data")
    op["A"][1]["AT"]["D"] = [-1, 2, 2**20, 2**20]


def huge_constant(content: Any) -> None:
    for op in ops_of(content):
        if op["#"] == "1.full":
            op["A"][0]["AT"]["D"] = [2**40]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (nameless, "damaged: IndexError"),
        (huge_padding, r"operator \d+ \(pd_op.conv2d\)"),
        (huge_input, r"the input 'image' has shape \[-1, 2, 1048576, 1048576\], above \d+ entries"),
        (
            huge_constant,
            r"operator \d+ \(pd_op.full\): a Tensor of shape \[1099511627776\], above .* is not read",
        ),
        (reads_later, r"reads %4000 before it is made"),
        (makes_again, r"makes %\d+ again"),
        (unknown, r"3 operators that are not read: custom_op.mine \(1\), pd_op.no_such_operator \(2\)"),
        (other_shape, r"picture.pdiparams: cut off: \d+ bytes, and the parameters alone have"),
        (negative, r"in the Program torch.float32 \[-3\]"),
        (strange_dtype, "dtype '0.t_f8' is not read"),
        (two_regions, "expected one block of operators, got 2 regions"),
        (other_magic, "not a Program of PaddlePaddle 3"),
        (no_ops, "damaged: KeyError: 'ops'"),
        (no_inputs, "no input or no output"),
        (not_a_number, "expected a whole number, got '1'"),
        (wrong_setting, r"operator \d+ \(pd_op.conv2d\)"),
    ],
)
def test_a_changed_program_is_refused(change: Any, message: str, base: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load(changed(base, change))


def test_damaged_parameters_are_refused(base: Path) -> None:
    file = Path(f"{base}.pdiparams")
    whole = file.read_bytes()

    def refused(content: bytes, message: str) -> None:
        file.write_bytes(content)
        with pytest.raises(ValueError, match=f"load: picture.json: picture.pdiparams: .*{message}"):
            load(base)

    for length in range(0, len(whole), 97):
        refused(whole[:length], "cut off|damaged")
    refused(whole + b"\0", "1 bytes after the last parameter")
    refused(b"\1" + whole[1:], "expected version 0")
    refused(whole[:16] + struct.pack("<i", -5) + whole[20:], "a description of -5 bytes")
    refused(whole[:16] + struct.pack("<i", 2**30) + whole[20:], "a description of 1073741824 bytes")
    refused(whole[:21] + b"\x7f" + whole[22:], "dtype 127")
    refused(whole[:20] + b"\x55" + whole[21:], "field 10 in its description")
    refused(whole[:20] + b"\xff" * 4 + whole[24:], "a number without an end")
    file.unlink()
    with pytest.raises(ValueError, match=r"no file picture\.pdiparams beside it"):
        load(base)


def test_settings_have_their_kinds() -> None:
    forms = [{"#": "0.a_i32", "D": 3}, {"#": "0.a_f64", "D": 0.5}, {"#": "1.a_place", "D": [0, 0, ""]}]
    assert _setting({"#": "0.a_array", "D": forms}) == [3, 0.5, None]
    with pytest.raises(ValueError, match="expected a whole number, got True"):
        _setting({"#": "0.a_i32", "D": True})
    assert torch.tensor(_setting({"#": "1.a_intarray", "D": [-1, 2]})).tolist() == [-1, 2]
