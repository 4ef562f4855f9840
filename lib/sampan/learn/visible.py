"""What a learner asks for in a notebook: hints, visible checks that teach, and prediction questions."""

import math
from typing import Any

from . import drivers, lessons
from .cases import Case, Difference, Holds, describe, difference
from .plain import plain

_hints_given: dict[str, int] = {}


class CheckFailed(AssertionError):
    """A visible check that did not pass. A notebook shows only its text: the traceback would be the
    library's."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def hint(name: str) -> None:
    """Prints the next of three hints for an exercise; after the third it stays at the third."""
    lesson = lessons.exercise(name)
    step = min(_hints_given.get(name, 0) + 1, len(lesson.hints))
    _hints_given[name] = step
    print(f"{name}, hint {step} of {len(lesson.hints)}: {lesson.hints[step - 1]}")


def check(name: str) -> None:
    """Runs the visible cases of an exercise on the learner's function and prints which are right.

    Raises `CheckFailed` at the first that is not: which case, the actual and expected values, and how to
    read them.
    """
    lesson = lessons.exercise(name)
    lines = []
    for case in lesson.cases():
        _run(name, case)
        lines.append(f"  right: {case.name[0]}")
    print(f"{name}: {len(lines)} of {len(lines)} cases", *lines, sep="\n")


def _run(name: str, case: Case) -> None:
    try:
        came = drivers.run(name, case.driver, case.args)
    except drivers.Missing as error:
        raise CheckFailed(str(error)) from None
    except NotImplementedError as error:
        raise CheckFailed(str(error) or f"{name} is not written yet") from error
    except Exception as error:
        end = f"{type(error).__name__}: {error}\n{case.hint[0]}"
        raise CheckFailed(f"{name}, case '{case.name[0]}': your function stopped with {end}") from error
    expected = case.expected if isinstance(case.expected, Holds) else plain(case.expected)
    names = drivers.answer_names(name, case.driver, case.args)
    found = difference(came, expected, case.rtol, case.atol, case.dtype, names=names)
    if found is not None:
        raise CheckFailed(_explain(name, case, found))


def _explain(name: str, case: Case, found: Difference) -> str:
    where = f" ({found.where[0]})" if found.where[0] else ""
    lines = [f"{name}, case '{case.name[0]}'{where}:", f"  came      {_indented(found.came)}"]
    lines.append(f"  expected  {_indented(found.expected)}")
    if found.kind == "fault":
        lines.append(f"  but       {found.fault[0]}")
    return "\n".join([*lines, case.hint[0]])


def _indented(value: Any) -> str:
    return describe(value).replace("\n", "\n            ")


def predict(name: str, value: Any) -> None:
    """Compares a prediction with the answer and prints the explanation. Not graded.

    `value` is a number; the notebook's own `...` prints the question again.
    """
    question = lessons.prediction(name)
    if value is ...:
        print(f"{question.question} Put your number in place of the dots before you look.")
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"predict: value must be a number, got {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"predict: value must be a finite number, got {value}")
    answer = question.answer() if callable(question.answer) else question.answer
    near = abs(value - answer) <= question.tolerance * abs(answer)
    verdict = "Right" if near else "Not quite"
    said, true = f"{value:,.6g}{question.unit}", f"{answer:,.6g}{question.unit}"
    print(f"{verdict}: you said {said}, it is {true}. {question.why}")
