"""The table of emitters."""

import inspect

import sampan.speech.nn  # with all operators that the emitters name
import sampan.vision.models  # noqa: F401  # as above
from sampan.engine.operator import operators
from sampan.onnx.emitters import FUNCTIONS, OPERATORS
from sampan.onnx.emitters.table import emits


def test_one_emitter_may_serve_several_names():
    table = {}
    made = emits("a", "b", table=table)(lambda g, x: x)
    assert table == {"a": made, "b": made}


def test_every_emitter_of_an_operator_takes_what_the_operator_takes():
    """An emitter is called with all the operator's positional arguments."""
    declared = operators
    unknown = set(OPERATORS) - set(declared)
    assert not unknown
    for name, emitter in OPERATORS.items():
        given = [p for p in declared[name].signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
        if not declared[name].variadic:
            inspect.signature(emitter).bind("graph", *given)
    assert FUNCTIONS["eq"] is OPERATORS["equal"]
