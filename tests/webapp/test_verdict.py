"""What a learner reads after a check, in every case and both languages."""

from __future__ import annotations

from functools import partial
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import pytest

from studio import figures, i18n
from studio.attempts import Attempt
from studio.course import Lesson
from studio.grading.client import GradingError, Step
from studio.grading.desk import Job
from studio.grading.model_answer import ModelAnswer
from studio.grading.verdict import Compared, JudgedCase, Result, StoppedCell, Verdict, VerdictKind
from studio.model_answers import Opened, Record, Rule
from studio.server.base import environment
from studio.server.courses import CoursePage

LESSON = Lesson(
    "01_x", Path("x"), Path("y"), {"en": "X", "zh": "某"}, {"en": "", "zh": ""}, 3, 1.0, "en", 2, 4.0
)
KINDS = get_args(get_type_hints(GradingError.__init__)["kind"])


def translate(lang: str, key: str, **values: object) -> str:
    return i18n.t(key, lang, **values)


def show(
    lang: str,
    job: Job | None = None,
    last: Verdict | None = None,
    when: float = 2.0,
    answers: Record | None = None,
    rule: Rule | None = None,
) -> str:
    values: dict[str, Any] = {"t": partial(translate, lang), "lang": lang, "lesson": LESSON, "check": job}
    values |= {"next": None, "brief": figures.brief, "in_class": False}
    values |= {"answers": answers or Record(), "rule": rule or Rule(), "now": 9.0}
    values["last"] = last and Attempt(3, when, last)
    template = environment().get_template("verdict.html")
    return template.render(**values, xsrf="x", address=lambda *parts: "/studio/" + "/".join(parts))


def exercise(passed: bool, message: str = "case 'zero': expected 1, got <b>2</b>") -> Result:
    return verdict("passed" if passed else "failed", message)


def verdict(kind: VerdictKind, message: str = "", **more: Any) -> Result:
    passed = kind == "passed"
    marks = (2, 2 if passed else 0, passed)
    return Result("ops.f", "Write f", "写 f", *marks, message, "用例“零”", verdict=kind, **more)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_before_the_first_check_there_is_nothing(lang: str) -> None:
    assert show(lang, None).strip() == ""


@pytest.mark.parametrize(
    ("lang", "says"), [("en", "Starting your notebook, 0 s"), ("zh", "正在启动你的笔记本，0 秒")]
)
def test_while_it_runs(lang: str, says: str) -> None:
    job = Job()
    job.state = "running"
    html = show(lang, job)
    assert says in html and "/studio/courses/01_x/check/cancel" in html and "data-active" in html


@pytest.mark.parametrize(
    ("step", "en", "zh"),
    [
        (Step("cell", 3, 14), "Running cell 3 of 14", "第 3 / 14 个单元格"),
        (Step("exercise", 1, 2), "Checking exercise 1 of 2", "第 1 / 2 道练习"),
    ],
)
def test_how_far_it_is(step: Step, en: str, zh: str) -> None:
    job = Job()
    job.state = "running"
    job.moved(step)
    assert en in show("en", job) and zh in show("zh", job)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_hint_is_shown_as_text_and_only_where_it_is_needed(lang: str) -> None:
    html = show(lang, last=Verdict((exercise(True), exercise(False))))
    hint = {"en": "case &#39;zero&#39;: expected 1, got &lt;b&gt;2&lt;/b&gt;", "zh": "用例“零”"}[lang]
    assert html.count(hint) == 1
    assert i18n.t("verdict.partial", lang) in html
    assert i18n.t("verdict.score", lang, passed=1, count=2, earned="2", points="4") in html


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_all_done(lang: str) -> None:
    html = show(lang, last=Verdict((exercise(True),)))
    assert i18n.t("verdict.complete", lang) in html and "is-good" in html
    assert i18n.t("verdict.failed", lang) not in html


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_cell_that_never_ended_is_named(lang: str) -> None:
    html = show(lang, last=Verdict((exercise(False),), (StoppedCell(7, "while x < 1:"),)))
    assert i18n.t("verdict.stopped", lang, number=7) in html and "while x &lt; 1:" in html


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("kind", get_args(VerdictKind))
def test_each_kind_of_verdict_has_its_word_and_its_mark(lang: str, kind: VerdictKind) -> None:
    html = show(lang, last=Verdict((verdict(kind),)))
    word = i18n.t(f"verdict.{kind}", lang)
    assert f'aria-label="{word}"' in html and f'data-kind="{kind}"' in html
    assert (f'<p class="sp-kind">{word}' in html) == (kind != "passed")


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_case_the_hint_and_the_learners_own_lines(lang: str) -> None:
    case, hint = {"en": "zero", "zh": "零"}, {"en": "Think of <0>.", "zh": "想想 <0>。"}
    told = {"case": case["en"], "case_zh": case["zh"], "hint": hint["en"], "hint_zh": hint["zh"]}
    shown = verdict("error", "it stopped", **told, traceback="cell 7, line 2\n  1 / x<0>")
    html = unescape(show(lang, last=Verdict((shown,))))
    assert i18n.t("verdict.case", lang, case=case[lang]) in html and hint[lang] in html
    assert "cell 7, line 2\n  1 / x<0></pre>" in html


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_model_answer_and_when_it_may_be_opened(lang: str) -> None:
    last = Verdict((verdict("failed"), verdict("passed")))
    button = i18n.t("answers.open", lang)
    assert button not in show(lang, last=last)
    early = show(lang, last=last, answers=Record({"ops.f": 2}))
    assert button not in early and i18n.t("answers.after_failures", lang, count=3, failed=2) in early
    html = show(lang, last=last, answers=Record({"ops.f": 3}))
    assert (
        html.count(button) == 1 and 'action="/studio/courses/01_x/answer"' in html and 'value="ops.f"' in html
    )
    waits = show(lang, last=last, rule=Rule("deadline", 1, 10.0))
    assert button not in waits and i18n.t("answers.after_deadline", lang) in waits
    assert button in show(lang, last=last, rule=Rule("deadline", 1, 8.0))
    opened = Opened(5.0, ModelAnswer("x < 1", "Because <1>.", "因为 <1>。"))
    shown = unescape(show(lang, last=last, answers=Record({}, {"ops.f": opened})))
    assert "x < 1" in shown and opened.answer.explained(lang) in shown and button not in shown


def test_a_hint_that_the_message_tells_is_not_told_twice() -> None:
    html = show("en", last=Verdict((verdict("failed", "got 2. Think.", hint="Think."),)))
    assert html.count("Think.") == 1


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_which_cases_are_right(lang: str) -> None:
    cases = (JudgedCase("one row", "一行", True), JudgedCase("an empty row", "空行", False))
    html = show(lang, last=Verdict((verdict("failed", "it is 0", cases=cases),)))
    assert i18n.t("verdict.cases", lang, right=1, count=2) in html
    assert all((case.name if lang == "en" else case.name_zh) in html for case in cases)
    assert html.count('data-right="true"') == html.count('data-right="false"') == 1


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_library_is_shown_beside_what_is_passed(lang: str) -> None:
    compared = Compared("def f(x):\n    return x < 1\n", "many rows", "许多行", 0.0012, 4.15e-5)
    html = unescape(show(lang, last=Verdict((verdict("passed", compared=compared),))))
    assert compared.source in html
    case = compared.case if lang == "en" else compared.case_zh
    assert i18n.t("verdict.speed", lang, case=case, own="1.2 ms", library="41.5 µs") in html


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("when", [0.5, 2.0])
def test_which_attempt_and_whether_the_copy_was_saved_since(lang: str, when: float) -> None:
    html = show(lang, last=Verdict((exercise(True),)), when=when)
    assert i18n.t("verdict.attempt", lang, number=3, when=Attempt(3, when, Verdict(())).when_text) in html
    assert (i18n.t("verdict.saved_since", lang) in html) == (when < 1.0)  # the copy was saved at 1.0


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_verdict_without_a_sandbox_says_so(lang: str, sandboxed: bool) -> None:
    html = show(lang, last=Verdict((exercise(True),), sandboxed=sandboxed))
    assert (i18n.t("verdict.unsandboxed", lang) in html) == (not sandboxed)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_verdict(lang: str, kind: Any) -> None:
    job = Job()
    job.state, job.error = "failed", GradingError(kind, "/home/somebody/secret: details for the log")
    html = unescape(show(lang, job))
    assert i18n.t(f"verdict.{kind}", lang) in html
    assert ("details for the log" in html) == (
        kind in ("broken", "refused")
    )  # only those are written for the learner


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_cancelled(lang: str) -> None:
    job = Job()
    job.state = "cancelled"
    assert i18n.t("verdict.cancelled", lang) in show(lang, job)


def test_a_check_that_ends_while_its_card_is_made_is_shown_as_running() -> None:
    job = Job()
    job.state = "running"

    class History:
        last = best = None

    def history(_id: str) -> History:
        job.state = "done"  # after this history was read
        return History()

    page: Any = SimpleNamespace(
        desk=SimpleNamespace(job=lambda _id: job),
        attempts=SimpleNamespace(history=history),
        course=SimpleNamespace(lessons=list),
        model_answers=SimpleNamespace(of=lambda _assignment: None),
        handing_in=None,
    )
    lesson: Any = SimpleNamespace(id="00", assignment="", checked_as="")
    assert CoursePage.standing(page, lesson)["check"].active
    assert not CoursePage.standing(page, lesson)["check"].active
