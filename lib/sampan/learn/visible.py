"""What a learner asks for in a notebook: hints, visible checks that teach, and prediction questions."""

import math
from typing import Any

from . import drivers, lessons
from .cases import Case, Difference, Holds, describe, difference
from .language import say
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
    count, words = len(lesson.hints), say(lesson.hints[step - 1])
    print(say((f"{name}, hint {step} of {count}: {words}", f"{name}，提示 {step}/{count}：{words}")))


def check(name: str) -> None:
    """Runs the visible cases of an exercise on the learner's function and prints which are right.

    Raises `CheckFailed` at the first that is not: which case, the actual and expected values, and how to
    read them.
    """
    lesson = lessons.exercise(name)
    lines = []
    for case in lesson.cases():
        _run(name, case)
        lines.append(say((f"  right: {case.name[0]}", f"  正确：{case.name[1]}")))
    count = len(lines)
    print(say((f"{name}: {count} of {count} cases", f"{name}：{count} 个用例全部正确")), *lines, sep="\n")


def _run(name: str, case: Case) -> None:
    try:
        came = drivers.run(name, case.driver, case.args)
    except drivers.Missing as error:
        raise CheckFailed(str(error)) from None
    except NotImplementedError as error:
        raise CheckFailed(str(error) or say((f"{name} is not written yet", f"{name} 还没有写"))) from error
    except Exception as error:
        where, end = _case(name, case), f"{type(error).__name__}: {error}\n{say(case.hint)}"
        stopped = (f"{where}: your function stopped with {end}", f"{where}：你的函数出错中断：{end}")
        raise CheckFailed(say(stopped)) from error
    expected = case.expected if isinstance(case.expected, Holds) else plain(case.expected)
    names = drivers.answer_names(name, case.driver, case.args)
    found = difference(came, expected, case.rtol, case.atol, case.dtype, names=names)
    if found is not None:
        raise CheckFailed(_explain(name, case, found))


def _explain(name: str, case: Case, found: Difference) -> str:
    part = say(found.where)
    where = _case(name, case) + say((f" ({part})", f"（{part}）")) * bool(part)
    lines = [say((f"{where}:", f"{where}："))]
    lines.append(say(("  came      ", "  给出  ")) + _indented(found.came))
    lines.append(say(("  expected  ", "  应为  ")) + _indented(found.expected))
    if found.kind == "fault":
        lines.append(say(("  but       ", "  问题  ")) + say(found.fault))
    return "\n".join([*lines, say(lessons.hint_for(found, case))])


def _case(name: str, case: Case) -> str:
    return say((f"{name}, case '{case.name[0]}'", f"{name}，用例“{case.name[1]}”"))


def _indented(value: Any) -> str:
    return say(describe(value)).replace("\n", "\n            ")


def predict(name: str, value: Any) -> None:
    """Compares a prediction with the answer and prints the explanation. Not graded.

    `value` is a number; the notebook's own `...` prints the question again.
    """
    question = lessons.prediction(name)
    if value is ...:
        dots = ("Put your number in place of the dots before you look.", "先用你的数字替换省略号，再看答案。")
        print(say(question.question), say(dots))
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"predict: value must be a number, got {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"predict: value must be a finite number, got {value}")
    answer = question.answer() if callable(question.answer) else question.answer
    near = abs(value - answer) <= question.tolerance * abs(answer)
    unit, why = say(question.unit), say(question.why)
    said, true = f"{value:,.6g}{unit}", f"{answer:,.6g}{unit}"
    verdict = ("Right", "正确") if near else ("Not quite", "还不对")
    print(
        say(
            (
                f"{verdict[0]}: you said {said}, it is {true}. {why}",
                f"{verdict[1]}：你说 {said}，答案是 {true}。{why}",
            )
        )
    )
