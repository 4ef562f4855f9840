import sys
from types import ModuleType

import pytest

from sampan.engine.operator import Operator
from sampan.learn import slots, visible


@pytest.fixture
def practice(monkeypatch):
    """A module of the library for the time of one test: `sampan.practice`, with a function and an operator."""
    module = ModuleType("sampan.practice")
    exec(
        "def double(x):\n    return 2 * x\n"
        "def quadruple(x):\n    return double(double(x))\n"
        "def negate(x):\n    made = operator.body(x)\n    return made[0] if operator.saves else made\n",
        module.__dict__,
    )
    module.operator = Operator(lambda x: -x, [lambda g: -g])
    module.negate.operator = module.operator
    monkeypatch.setitem(sys.modules, "sampan.practice", module)
    monkeypatch.setattr(slots, "_slots", {})
    monkeypatch.setattr(visible, "_hints_given", {})
    return module
