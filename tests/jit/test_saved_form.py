"""Programs as JSON."""

import json
from typing import Any

import pytest
import torch

from sampan.engine.operator import operators
from sampan.jit.program import Call, Program, Ref
from sampan.jit.saved_form import FUNCTIONS, decoded, encoded, program_from_json, program_to_json
from sampan.jit.symbolic import Axis, Length


@pytest.mark.parametrize(
    "value",
    [
        Ref("v", 3), "text", "%v3", "%%", None, True, 5, -2.5, float("inf"), 2 + 1j, torch.float16, torch.device("cpu"), ...,
        slice(1, None, Ref("x", 0)), (1, [2, (3,)]), {"a": (1, 2), "dtype": 1}, Length(2, 3, (Axis(0, 1),), -1),
        torch.contiguous_format,
    ],
    ids=str,
)  # fmt: skip  # a table
def test_a_value_survives(value: Any) -> None:
    read = decoded(json.loads(json.dumps(encoded(value))))
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize("value", [object(), {1: 2}, torch.ones(1), print], ids=lambda v: type(v).__name__)
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot be saved"):
        encoded(value)


@pytest.mark.parametrize(
    "value", ["%z1", "%v", {"eval": "1"}, {"a": 1, "b": 2}, {"length": [1, 0, [], 0]}, {"dtype": "nope"}]
)
def test_damaged_values_are_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        decoded(value)


def test_a_program_survives() -> None:
    affine, x, v, w = operators["affine"], Ref("x", 0), Ref("v", 0), Ref("v", 1)
    calls: list[Any] = [
        Call(affine.body, "affine", (x, Ref("p", 0), None), {}, v, affine, line="net.py:3"),
        Call(
            torch.zeros,
            "zeros",
            (Length(1, 1, (Axis(0, 0),), 0), 2),
            {"dtype": torch.float32},
            w,
            line="net.py:4",
        ),
    ]
    form = json.loads(json.dumps(program_to_json(Program(calls, [v, w]))))
    read = program_from_json(form)
    assert str(read) == str(Program(calls, [v, w])) and read.calls[0].operator is affine
    assert read.calls[1].function is torch.zeros


def test_a_file_calls_what_is_listed_only() -> None:
    assert not {"torch.load", "torch.save", "torch.compile", "Tensor.numpy", "Tensor.share_memory_"} & set(
        FUNCTIONS
    )
    for name in ("torch.load", "os.system", "torch.classes", "__import__"):
        with pytest.raises(ValueError, match="is not an operator"):
            program_from_json({"steps": [{"call": name, "args": [], "result": "%v0"}], "result": None})
    with pytest.raises(ValueError, match="reads v5 before it is made"):
        program_from_json({"steps": [{"call": "relu", "args": ["%v5"], "result": "%v0"}], "result": None})
    with pytest.raises(ValueError, match=r"a\.py:1: sort_of cannot be saved"):
        program_to_json(Program([Call(print, "sort_of", (), {}, None, line="a.py:1")]))


def test_an_operator_of_a_package_that_is_not_imported_is_found_by_its_module() -> None:
    entry = {"call": "int8_linear", "args": ["%x0", "%p0", None, None, "%p1"], "result": "%v0"}
    content = {"steps": [{**entry, "from": "quantization.int8"}], "result": "%v0"}
    program = program_from_json(content)
    assert program.calls[0].operator is operators["int8_linear"]
    assert program_to_json(program)["steps"][0]["from"] == "quantization.int8"
    for room in ("os; x", "..os", "no_such_room", ""):
        with pytest.raises(ValueError, match="'no_such' is not an operator of this version"):
            program_from_json({"steps": [{**entry, "call": "no_such", "from": room}], "result": "%v0"})
