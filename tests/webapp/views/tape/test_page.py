"""The Tape page without a browser: what an expression may say, and what a walk tells. Oracles: NumPy, counts by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan
from sampan import learn
from sampan.engine.operator import operators
from studio import i18n
from studio.views.tape import page as tape
from studio.views.tape import walk
from studio.views.tape.expression import ExpressionError, evaluate, vocabulary
from studio.views.tape.page import EXAMPLES, MODELS, TapePage
from studio.views.tape.walk import Walk, source

W = "w = to_tensor([[1.0, 2.0], [3.0, 4.0]])\n"
A = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(w * w - 3 / w).sum()", (A * A - 3 / A).sum()),
        ("w @ w.T", A @ A.T),
        ("-w[:, 0]", -A[:, 0]),
        ("w[..., ::1][1]", A[1]),
        ("einsum('ij->j', w)", A.sum(0)),
        ("mean(w, axis=0, keepdim=True)", A.mean(0, keepdims=True)),
        ("w.exp().log()", A),
        ("where(w > 2, w, 0 * w)", np.where(A > 2, A, 0)),
        ("a = 2 ** 3\nconcat([w, w * a], axis=1)", np.concatenate([A, A * 8], 1)),
        ("w + pi", A + np.pi),
    ],
)
def test_arithmetic(text: str, expected: Any) -> None:
    value, parameters = evaluate(W + text)
    assert np.allclose(value.numpy(), expected, rtol=1e-6)
    assert list(parameters) == ["w"] and not parameters["w"].stop_gradient


def test_only_a_named_tensor_of_floats_that_was_made_is_a_parameter() -> None:
    _, parameters = evaluate("x = ones([2])\ny = x * 2\ni = arange(3)\nn = 3\ny.sum()")
    assert list(parameters) == ["x"]


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        (" \n", "empty", 0),
        ("x = ", "syntax", 1),
        ("x" * 3000, "too_long", 0),
        ("-" * 1900 + "1", "too_long", 0),
        ("x = ones([2])", "no_value", 1),
        ("import os\n1", "not_allowed", 1),
        ("import os", "not_allowed", 1),
        ("x = y = 1\nx", "not_allowed", 1),
        ("(lambda: 1)()", "not_allowed", 1),
        ("[x for x in ones([2])]", "not_allowed", 1),
        ("f'{1}'", "not_allowed", 1),
        ("ones([2]).__class__", "not_allowed", 1),
        ("ones([2]).data", "not_allowed", 1),
        ("ones(*[2])", "not_allowed", 1),
        ("'a' * 9", "not_allowed", 1),
        ("[0] * 9", "not_allowed", 1),
        ("__import__('os')", "unknown", 1),
        ("ones([2])\\\n.numpy()", "unknown", 1),
        ("x = ones([2])\nrelu(x).sun()", "unknown_near", 2),
        ("ones([2]).save('f')", "unknown_near", 1),
        ("x = ones([2])\nx()", "not_a_function", 2),
        ("(3).exp()", "not_a_tensor", 1),
        ("ones([2000, 2000])", "too_large", 1),
        ("arange(10000000)", "too_large", 1),
        ("9 ** 9 ** 9", "too_large", 1),
        ("x = ones([1000])\nx.reshape([-1, 1]) * ones([2000])", "too_large", 2),
        ("x = ones([2, 3])\nx @ x", "refused", 2),
        ("ones([2])[5]", "refused", 1),
    ],
)
def test_what_an_expression_may_not_say(text: str, key: str, line: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text)
    assert (caught.value.key, caught.value.line) == (key, line)
    for lang in i18n.LANGUAGES:
        assert "{" not in i18n.t(f"tape.error.{key}", lang, **caught.value.values)


def test_the_vocabulary_reaches_nothing_but_operators() -> None:
    words = vocabulary()
    assert {"relu", "matmul", "conv2d", "softmax", "randn", "concat"} <= set(words)
    assert not {"save", "load", "open", "eval", "numpy", "set_device", "seed", "relu_", "grad"} & set(words)


def walked(text: str) -> Walk:
    return Walk(lambda: evaluate(text), "en")


def test_a_walk_goes_forward_in_order_and_backward_in_the_other() -> None:
    made = walked("x = ones([4, 3])\nw = ones([3, 2])\nb = zeros([2])\nrelu(x @ w + b).sum()")
    names = [(step["phase"], step["title"]) for step in made.steps]
    forward = ["mm", "add", "relu", "sum"]
    assert names == [("forward", n) for n in forward] + [("backward", n) for n in reversed(forward)]
    product = dict(made.steps[0]["rows"])
    assert product["input shapes"] == "[4, 3] [3, 2]" and product["output"] == "[4, 2]"
    assert product["operations"] == str(2 * 4 * 3 * 2)
    assert product["bytes moved"] == str(4 * (12 + 6 + 8)) and product["dtype"] == "float32"
    back = dict(made.steps[-1]["rows"])
    assert back["incoming gradient"] == "[4, 2]"
    assert sorted(value for name, value in back.items() if name.startswith("to ")) == [
        "[3, 2] → w",
        "[4, 3] → x",
    ]
    assert made.totals["forward"]["steps"] == made.totals["backward"]["steps"] == 4
    assert made.totals["forward"]["flops"] == 48 + 8 + 8 + 8


def test_boxes_know_when_they_have_a_value_and_a_gradient() -> None:
    made = walked("x = ones([2])\ny = x * x\n(y + exp(x)).sum()")
    boxes = {box["title"]: box for box in made.boxes}
    order = [step["title"] for step in made.steps]
    assert boxes["x"]["forward"] == -1 and boxes["x"]["kind"] == "parameter"
    users = [len(order) // 2 + order[len(order) // 2 :].index(name) for name in ("multiply", "exp")]
    assert boxes["x"]["backward"] == max(users)  # only both together make x's gradient
    assert boxes["add"]["backward"] == order.index("sum", 4)
    assert boxes["sum"]["kind"] == "result" and boxes["sum"]["backward"] == 4
    joined = {(line[0], line[1]) for line in made.lines}
    assert (boxes["x"]["id"], boxes["exp"]["id"]) in joined and (
        boxes["add"]["id"],
        boxes["sum"]["id"],
    ) in joined
    assert all(len(points) >= 4 and len(points) % 2 == 0 for _, _, points in made.lines)


def of_kind(parts: dict[str, Any], kind: str) -> str:
    return "".join(text for text, its in parts["parts"] if its == kind)


def test_a_source_is_the_function_and_its_derivatives() -> None:
    parts = source(sampan.mm.operator)
    value, derivative = of_kind(parts, "value"), of_kind(parts, "derivative")
    assert value.startswith("def mm(input, mat2") and value.endswith("return torch.mm(input, mat2)")
    assert "def _mm_by_left(" in derivative and "lambda g, input: input.t().mm(g)" in derivative
    assert parts["file"].startswith("sampan/ops/linalg.py:")  # also in a clone that is a folder named sampan
    whole = "".join(text for text, _ in parts["parts"])
    assert "@operator(" in whole and whole.count("lambda g, input:") == 1  # as in the file, nothing twice


def test_every_operator_of_the_library_shows_its_derivatives() -> None:
    for name, operator in operators.items():
        parts = source(operator)
        assert parts["file"].startswith("sampan/"), name
        assert of_kind(parts, "value") and bool(of_kind(parts, "derivative")) >= operator.differentiable, name


def test_a_learners_function_shows_the_closures_that_it_returns() -> None:
    def multiply(x: Any, y: Any) -> Any:
        return x * y, (lambda g: g * y, lambda g: g * x)

    learn.exercise("ops.multiply")(multiply)
    try:
        shown = source(sampan.multiply.operator)
    finally:
        learn.reference("ops.multiply")
    ((text, kind),) = shown["parts"]
    assert text.startswith("def multiply(") and "lambda g: g * y" in text and kind == ""
    assert shown["file"].startswith("test_page.py:")
    assert of_kind(source(sampan.multiply.operator), "value")


def test_a_path_begins_at_the_library_whatever_the_folders_above_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "sampan" / "lib" / "sampan"
    monkeypatch.setattr(sampan, "__file__", str(library / "__init__.py"))
    assert walk._inside(str(library / "ops" / "linalg.py")) == "sampan/ops/linalg.py"
    assert walk._inside(str(tmp_path / "sampan" / "mine.py")) == "mine.py"


def test_an_operator_from_a_table_shows_what_was_generated_from_its_row() -> None:
    parts = source(sampan.tanh.operator)
    assert parts["file"] == "sampan/ops/elementwise.py"
    assert "def tanh(" in of_kind(parts, "value") and "g * (1 - out * out)" in of_kind(parts, "derivative")
    assert "Hyperbolic tangent." in of_kind(parts, "")
    # the formula is in the table, as a function that the generated one calls
    assert "alpha * x.clip(max=0.0).exp()" in of_kind(source(sampan.nn.functional.elu.operator), "derivative")


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_every_program_of_the_menu_walks(lang: str) -> None:
    page = TapePage(lang)
    page.load_library()
    for name in (*EXAMPLES, *MODELS):
        page.program.value = name
        assert "is-bad" not in page.status.value, (name, page.status.value)
        steps = page.walk.data["steps"]
        assert {step["phase"] for step in steps} == {"forward", "backward"}
        ids = {box["id"] for box in page.walk.data["boxes"]}
        assert all(step["box"] in ids and step["source"] in page.walk.data["sources"] for step in steps)


def test_an_error_is_on_the_page_in_its_language_with_the_original_folded_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = TapePage("zh")
    page.load_library()
    before = page.walk.data
    page.text.value = "x = ones([2, 3])\nx @ x"
    page.start()
    assert i18n.t("tape.error.refused", "zh") in page.status.value
    assert "<details>" in page.status.value and "mm" in page.status.value
    page.text.value = "randn([2]).sum()"
    page.start()
    assert i18n.t("tape.error.nothing_recorded", "zh") in page.status.value
    page.text.value = "3"
    page.start()
    assert i18n.t("tape.error.not_a_result", "zh", came="int") in page.status.value
    assert page.walk.data is before

    monkeypatch.setitem(tape.MODELS, "mlp", lambda given: 1 / 0)
    page.program.value = "mlp"
    assert "ZeroDivisionError" in page.status.value and "<details>" in page.status.value
