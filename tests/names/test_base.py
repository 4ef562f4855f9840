"""`paddle.base`: what programs of Paddle 2 take from it."""

import sampan as paddle
from sampan.names import base


def test_names_of_dynamic_programs():
    x = base.dygraph.to_variable([1.0, 2.0])
    assert x.tolist() == [1, 2] and base.dygraph.base.to_variable(x) is not None
    with base.dygraph.guard():
        assert paddle.in_dynamic_mode()
