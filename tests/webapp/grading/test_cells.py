"""Which cells grading runs: what fills slots and what that needs, not what only shows."""

import ast
import gc
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from studio.grading.cells import IPYTHONS_OWN, Code, look, needed, parse
from studio.grading.grader import _code_cells
from studio.grading.release import read, release, slots_of

ROOT = Path(__file__).parents[3]
SLOT = '@learn.exercise("ops.relu")\ndef relu(x):\n    return helper(x), lambda g: g * factor'


def run(*cells: Code | str) -> list[bool]:
    """Whether each of these runs; a text is a cell of the learner's own."""
    codes = [
        cell if isinstance(cell, Code) else Code(cell, given=False, slots=tuple(slots_of(cell)))
        for cell in cells
    ]
    return needed(codes, [look(code.source) for code in codes], "ops.relu")


def shown(source: str) -> Code:
    return Code(source, given=True)


def test_helpers_before_and_after_a_slot_are_needed_and_what_they_need():
    assert run("base = 2", "def helper(x): return x * base", SLOT, "factor = 1", "print('done')") == [
        *(True, True, True, True),
        False,
    ]


def test_what_was_handed_out_is_left_out_unless_a_name_of_it_is_used():
    training = shown("model = train(epochs=50)\nhelper.cache = {}\nregister(helper)")
    assert run("def helper(x): return x", training, SLOT) == [True, False, True]
    assert run(shown("def helper(x): return model(x)"), training, SLOT) == [True, True, True]
    assert run(Code("import torch", given=True, root=True), SLOT) == [True, True]


@pytest.mark.parametrize(
    "change",
    [
        "helper.table = [1]",
        "table[0] = 1",
        "del table[0]",
        "table.append(1)",
        "table += [1]",
        "fill(table)",
        "fill(*table)",
        "fill(into=table)",
        "def other():\n    global table\n    table = [2]",
        "for table in ([1], [2]): pass",
        "with open('x') as table: pass",
        "(table := [1])",
        "from elsewhere import table",
        "import table",
        "class table: pass",
        "paddle.relu = 3",
    ],
)
def test_a_learners_own_cell_that_changes_what_is_needed_runs(change):
    slot = "table = [0]\nimport paddle\ndef helper(x): return paddle.relu(x, table)\n" + SLOT
    assert run(slot, change) == [True, True]


@pytest.mark.parametrize(
    "unforeseen",
    [
        *("exec('helper = None')", "globals()['helper'] = None", "setattr(a, 'b', 1)", "from x import *"),
        *(
            "%run helpers.py",
            "!pip list",
            "%%time\nhelper = 1",
            "def broken(:",
            "x = '\0'",
            "learn.exercise('a')(f)",
        ),
        "y = " + "(" * 5000,
    ],
)
def test_a_learners_own_cell_that_cannot_be_foreseen_runs(unforeseen):
    assert run(unforeseen, SLOT)[0]


@pytest.mark.parametrize(
    "harmless",
    [
        "",
        "# helper",
        "print('helper')",
        "other = helper(1)",
        "def shadow(helper):\n    helper = 2\n    return helper",
        "[helper for helper in range(3)]",
        "paddle.seed(3)\nlosses = [paddle.mean(x) for x in data]",
        "lambda factor: factor",
    ],
)
def test_a_learners_own_cell_that_only_looks_is_left_out(harmless):
    slot = "import paddle\nhelper = paddle.relu\nfactor = 1\n" + SLOT
    assert run(slot, harmless) == [True, False]


def test_names_respect_scopes():
    found = look(
        "a = b\ndef f(c, d=e):\n    g = c + h\n    return lambda i: i + j\nfrom k import l as m"
    ).names
    assert found.binds == {"a", "f", "m"} and found.imported == {"m"}
    assert found.uses == {"b", "e", "h", "j"} and not found.unforeseen


@pytest.mark.parametrize(
    "comprehension",
    [
        "[i * b for i in a]",
        "{i * b for i in a if i}",
        "{i: b for i in a}",
        "[[i for i in k] * b for k in a]",
        "[(lambda: i + b) for i in a]",
        "(i * b for i in a)",
    ],
)
def test_variables_of_a_comprehension_are_its_own(comprehension):
    """Whatever Python runs: from 3.12 on, symbol tables show them beside the names of the code around."""
    for source in (
        f"x = {comprehension}",
        f"def x(k): return {comprehension}",
        f"class x: y = {comprehension}",
    ):
        found = look(source).names
        assert found.uses == {"a", "b"} and found.binds == {"x"} and not found.unforeseen
    assert look("x = [w := i for i in a]").names.binds == {"x", "w"}
    assert look("x = [a for a in a]").names.uses == {"a"}


@pytest.mark.parametrize(
    "before", ["", "  ", "\n", "%", "!", "/", ",", ";", "x = %", ">>> ", "In [1]: ", "...: ", "(\n/"]
)
def test_what_is_left_as_it_is_is_nothing_to_ipython(before):
    source = f"{before}name\n    # more"
    transformed = TransformerManager().transform_cell(source)
    assert IPYTHONS_OWN.search(source) or transformed.strip() == source.strip()
    assert bool(IPYTHONS_OWN.search(source)) == bool(before)


def test_a_parse_is_right_whatever_the_garbage_collector_runs_meanwhile():
    """Some collections log an exception that was never retrieved, and its traceback is parsed for its carets."""
    source, left = "\n".join(f"x{n} = [{n}, (a, b), {{'c': d}}]" for n in range(200)), [1]
    expected = ast.dump(ast.parse(source))

    def collected(phase, info):
        if left and left.pop():
            for depth in range(20):
                ast.parse("(" * depth + "1" + ")" * depth)

    before = gc.get_threshold()
    gc.callbacks.append(collected)
    try:
        gc.set_threshold(50)
        assert ast.dump(parse(source)) == expected
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
    assert not left


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")), ids=lambda path: path.stem
)
def test_of_the_course_only_set_up_slots_and_checks_run(path):
    """So no notebook takes longer to grade than its exercises do, for the solution as for the untouched copy."""
    notebook = read(path)
    released = release(notebook)
    for learner in (notebook, released):
        _, codes = _code_cells(learner, released)
        looks = [look(code.source) for code in codes]
        slots = {slot for code in codes for slot in code.slots}
        assert slots
        for slot in slots:
            kept = [code for code, use in zip(codes, needed(codes, looks, slot), strict=True) if use]
            sets_up = [code for code in kept if code.root and not code.slots]
            # What sets up, at most the imports and one cell of helpers; what fills the slot; its check.
            assert len(sets_up) in (1, 2) and len(kept) == len(sets_up) + 2 < len(codes)
