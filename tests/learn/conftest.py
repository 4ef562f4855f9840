import sys
from types import ModuleType, SimpleNamespace

import pytest

from sampan.learn import slots, visible


@pytest.fixture
def practice(monkeypatch):
    """A module of the library for the time of one test: `sampan.practice`, with a function and an operator."""
    module = ModuleType("sampan.practice")
    exec(
        "def double(x):\n    return 2 * x\n"
        "def quadruple(x):\n    return double(double(x))\n"
        "def negate(x):\n    return operator.body(x)[0]\n",
        module.__dict__,
    )
    module.operator = SimpleNamespace(body=lambda x: (-x, lambda g: -g))
    module.operator.adopt = lambda body, value: setattr(module.operator, "body", body)
    module.negate.operator = module.operator
    monkeypatch.setitem(sys.modules, "sampan.practice", module)
    monkeypatch.setattr(slots, "_slots", {})
    monkeypatch.setattr(visible, "_hints_given", {})
    return module
