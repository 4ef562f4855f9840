"""The hint follows the kind of mistake; only wrong numbers get the hint of their case."""

import numpy as np
import pytest

from sampan.learn.cases import Case, Difference, difference
from sampan.learn.plain import Strided
from studio.grading import symptom

X = np.array([1.0, -2.0, 3.0], np.float32)
OUT = np.zeros(3, np.float32)
OWN = ("Three lengths.", "三个长度。")


def case(*args: object) -> Case:
    return Case(("a row", "一行"), "call", args or (X, OUT), X * 2, OWN)


def found(came: object, expected: object = X * 2, name: str = "", dtype: str | None = None) -> Difference:
    where = (f"`{name}`",) * 2 if name else ("", "")
    made = difference(came, expected, 1e-5, 1e-6, dtype, where=where)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("difference", "hint"),
    [
        (found(X * 3), OWN),
        (found(X), symptom.RETURNED),
        (found(OUT, name="out"), symptom.UNCHANGED),
        (found(None), symptom.NOTHING),
        (found(X[:2]), symptom.SHAPE),
        (found([X, X]), symptom.KIND),
        (found([X], [X, X]), symptom.KIND),
        (found((X * 2).astype(np.float64), dtype="float32"), symptom.DTYPE),
        (found(X.astype(np.float64)), OWN),  # equal numbers of another dtype are not the input
        (found(np.array([], np.float32), np.ones(0, np.int64), dtype="int64"), symptom.DTYPE),
    ],
)
def test_the_hint_of_a_difference(difference: Difference, hint: tuple[str, str]) -> None:
    assert symptom.hint(difference, case()) == hint


def test_inputs_in_lists_and_views_are_recognised() -> None:
    assert symptom.hint(found(X), case([np.ones(2), [X]])) == symptom.RETURNED
    assert symptom.hint(found(X), case(Strided(X))) == symptom.RETURNED
    assert symptom.hint(found(X), case("text", 3, None, np.ones(3))) == OWN
