"""Operators in int8 with what follows them."""

import pytest
import torch

from sampan.engine.operator import operators
from sampan.jit.passes import PASSES, Rewriting
from sampan.jit.program import Call, Program, Ref
from sampan.quantization import int8  # which declares the operators

from .beside import answer, passed

CONV, LINEAR = (vars(one)["operator"] for one in (int8.int8_conv2d, int8.int8_linear))
X, MADE = Ref("x", 0), [Ref("v", i) for i in range(6)]


def conv(x, result, scale, names):
    settings = (1, 1), (1, 1, 1, 1), (1, 1), 1
    return Call(
        CONV.body,
        CONV.name,
        (x, names["w"], names["b"], names[scale], names["s"], *settings),
        {},
        result,
        CONV,
    )


def relu(x, result):
    operator = operators["relu"]
    return Call(operator.body, "relu", (x,), {}, result, operator)


def rewriting(calls, result):
    generator = torch.Generator().manual_seed(0)
    held = {
        "w": torch.randint(-127, 128, (4, 4, 3, 3), dtype=torch.int8, generator=generator),
        "b": torch.randn(4, generator=generator), "s": torch.rand(4, generator=generator) / 20,
        "one": torch.tensor(2.0), "other": torch.tensor(3.0), "same": torch.tensor(3.0),
    }  # fmt: skip  # a table
    names = {name: Ref("k", i) for i, name in enumerate(held)}
    return Rewriting(Program(calls(names), result), dict(zip(names.values(), held.values(), strict=True)))


@pytest.fixture
def x():
    return torch.randn(2, 4, 6, 5, generator=torch.Generator().manual_seed(1))


def test_values_stay_in_8_bits_between_two(x):
    def calls(names):
        return [
            conv(X, MADE[0], "one", names),
            relu(MADE[0], MADE[1]),
            conv(MADE[1], MADE[2], "other", names),
        ]

    program = rewriting(calls, MADE[2])
    assert passed(program, "fuse_int8", x, exact=False) == ["int8_conv2d", "int8_conv2d"]
    first = program.calls[0]
    assert first.settings == {"activation": "relu", "out_scale": program.calls[1].args[3]}
    middle = first.function(
        x, *(program.frozen.get(a, a) for a in first.args[1:]), activation="relu", out_scale=torch.tensor(3.0)
    )
    assert middle.dtype is torch.uint8 and middle.min() >= 128


def test_two_readers_of_one_scale_share_the_integers(x):
    def calls(names, second="same"):
        total = operators["add"]
        both = [conv(MADE[0], MADE[1], "other", names), conv(MADE[0], MADE[2], second, names)]
        return [
            conv(X, MADE[0], "one", names),
            *both,
            Call(total.body, "add", (MADE[1], MADE[2]), {}, MADE[3], total),
        ]

    program = rewriting(calls, MADE[3])
    passed(program, "fuse_int8", x, exact=False)
    assert "out_scale" in program.calls[0].settings
    program = rewriting(lambda names: calls(names, "one"), MADE[3])
    passed(program, "fuse_int8", x)
    assert not program.calls[0].settings


def test_what_others_read_stays_a_float(x):
    def calls(names):
        return [
            conv(X, MADE[0], "one", names),
            relu(MADE[0], MADE[1]),
            conv(MADE[1], MADE[2], "other", names),
        ]

    program = rewriting(calls, (MADE[1], MADE[2]))
    PASSES["fuse_int8"](program)
    assert program.calls[0].settings == {"activation": "relu"}
    program = rewriting(calls, (MADE[0], MADE[2]))
    PASSES["fuse_int8"](program)
    assert [c.name for c in program.calls] == ["int8_conv2d", "relu", "int8_conv2d"] and not program.calls[
        0
    ].settings


def test_a_value_that_is_its_own_bias_stays_a_float():
    weight, scale = Ref("k", 0), Ref("k", 1)

    def product(x, bias, result):
        return Call(LINEAR.body, LINEAR.name, (x, weight, bias, scale, scale), {}, result, LINEAR)

    held = {weight: torch.eye(3, dtype=torch.int8) * 127, scale: torch.tensor(1.0)}
    program = Rewriting(
        Program([product(X, None, MADE[0]), product(MADE[0], MADE[0], MADE[1])], MADE[1]), held
    )
    given = torch.tensor([0.5, -1.0, 0.25])
    before = answer(program, given)
    passed(program, "fuse_int8", given)
    assert not program.calls[0].settings and torch.equal(before, answer(program, given))
