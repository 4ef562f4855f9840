"""Forbidden names are found however they are spelled, and nothing else is."""

import pytest

from sampan.learn.forbid import uses


@pytest.mark.parametrize(
    "source",
    [
        "torch.matmul(a, b)",
        "import torch as t\nt.matmul(a, b)",
        "from torch import matmul\nmatmul(a, b)",
        "from torch import matmul as mm\nmm(a, b)",
        "mm = torch.matmul\nmm(a, b)",
        "def f(a, b):\n    return [torch.matmul(x, b) for x in a]",
        "    torch.matmul(a, b)",
        "%time\ntorch.matmul(a, b)",
    ],
)
def test_a_dotted_name_in_any_spelling(source):
    assert uses(source, ["torch.matmul"])


@pytest.mark.parametrize(
    "source",
    [
        "# torch.matmul",
        "'torch.matmul'",
        "mytorch.matmul(a)",
        "torch.mm(a, b)",
        "matmul(a, b)",
        "def broken(",
    ],
)
def test_what_only_looks_like_it(source):
    assert not uses(source, ["torch.matmul"])


def test_methods_and_signs():
    assert uses("y = (a + b).matmul(c)", [".matmul"]) == [(".matmul", 1)]
    assert uses("x = 1\ny = a @ b", ["@"]) == [("@", 2)]
    assert uses("a @= b", ["@"])
    assert not uses("@decorated\ndef f(): ...", ["@"])
