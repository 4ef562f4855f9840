"""The part "Try" of the page "Deploy": the network and its small form answer for the same input."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from ..common.figures import percent
from ..common.pieces import beside, button, card, choice
from . import files
from .asking import MOST_LISTED, Asking, Drawing, Sentence
from .bench import Bench
from .part import DeployPart, measured, needs_task, signed, table
from .subject import Subject, Task, probabilities

FORMS = ("small", "int8")


class ComparePart(DeployPart):
    """`answers`: probabilities [2, classes] of the network and of its small form for the present input. `ways`: how the visitor
    asks, by the name of a task."""

    def __init__(self, lang: str, bench: Bench) -> None:
        super().__init__(lang, bench)
        self.answers: NDArray[np.float32] | None = None
        self.ways: dict[str, Asking] = {
            "digits": Drawing(lang, self.ask),
            "reviews": Sentence(lang, self.ask),
        }
        self._input: NDArray[Any] | None = None  # as the network takes it
        self._next = 0
        self._int8: Any = None
        self._tested: NDArray[np.float32] | None = None  # probabilities [2, n, classes] of the test part
        self.place = widgets.VBox([self.ways["digits"].root])
        self.form = choice(
            self._t("try.form"), [(self._t(f"take.form.{form}"), form) for form in FORMS], FORMS[0]
        )
        self.differ = button(self._t("try.differ"), self.show_difference, disabled=True)
        self.other = button(self._t("try.any"), self.show_any, disabled=True)
        self.answer = widgets.HTML(self._empty())
        self.list = widgets.HTML()
        self.form.observe(lambda _: self._changed(), "value")
        bench.on_small.append(self._changed)
        form = card([self.place, self.form, self.differ, self.other, self.status], "sx-form")
        self.root = beside(form, [card([self.answer, self.list], "de-card")])

    def fresh(self, subject: Subject) -> None:
        self._next, self._int8, self._tested, self.list.value = 0, None, None, ""
        self.ask(None)
        task = needs_task(self, subject)
        self.differ.disabled = self.other.disabled = self.form.disabled = task is None
        if task is not None:
            self.way.fresh(task)
            self.place.children = (self.way.root,)

    @property
    def task(self) -> Task | None:
        """What the present network was trained for."""
        return None if self.bench.subject is None else self.bench.subject.task

    @property
    def way(self) -> Asking:
        """How the present network is asked."""
        assert self.task is not None
        return self.ways[self.task.name]

    # ---- what the visitor does

    def show_any(self) -> None:
        """The next input of the test part."""
        if self.task is not None:
            self._next = (self._next + 1) % len(self.task.test)
            self._show(self._next)

    def show_difference(self) -> None:
        """The next input of the test part for which the two networks give different answers, and a list of such inputs."""
        if self.task is None:
            return
        both = self._test()
        where = np.flatnonzero(both[0].argmax(1) != both[1].argmax(1))
        if not len(where):
            self.list.value = ""
            self.status.value = self._note("try.same" if self._changed_at_all else "try.unchanged")
            return
        later = where[where > self._next]
        self._next = int(later[0] if len(later) else where[0])
        self._show(self._next)
        self.status.value = self._note("try.different", count=len(where), all=len(self.task.test))
        self.list.value = self._listed(where, both)

    def ask(self, given: NDArray[Any] | None) -> None:
        """Both networks answer for an input [1, ...]; None shows no answer."""
        self._input, self.status.value = given, ""
        if given is None:
            self.answers, self.answer.value = None, self._empty()
        else:
            self._again()

    # ---- what is shown

    def _show(self, number: int) -> None:
        self.way.show(number)
        label = self.way.answers()[int(self.task.test_labels[number])] if self.task is not None else ""
        self.status.value = self._note("try.label", label=label)

    def _changed(self) -> None:
        """The small form is another one."""
        self._int8, self._tested, self.list.value = None, None, ""
        self._again()

    @property
    def _changed_at_all(self) -> bool:
        return self.bench.changed or self.form.value == "int8"

    def _networks(self) -> tuple[Any, Any]:
        """The network, and the form that it is compared with."""
        subject, small = self.bench.subject, self.bench.small
        assert subject is not None
        if self.form.value == "int8":
            small = self._int8 = self._int8 or files.int8(subject, small)
        return subject.network, small

    def _test(self) -> NDArray[np.float32]:
        assert self.task is not None
        if self._tested is None:
            self._tested = np.stack([probabilities(one, self.task.test) for one in self._networks()])
        return self._tested

    def _again(self) -> None:
        """The input as it is, by the networks as they are."""
        if self.task is None or self._input is None:
            return
        self.answers = np.concatenate([probabilities(one, self._input) for one in self._networks()])
        self.answer.value = self._said(self.answers)

    def _said(self, answers: NDArray[np.float32]) -> str:
        first, second = (int(one.argmax()) for one in answers)
        away, names = answers[1] - answers[0], self.way.answers()
        most = int(np.abs(away).argmax())
        key = "try.both" if first == second else "try.disagree"
        verdict = self._t(
            key,
            first=names[first],
            second=names[second],
            answer=names[most],
            points=signed(100 * float(away[most])),
        )
        head = [self._t(f"column.{key}") for key in ("answer", "original", "small", "difference")]
        rows = [
            (
                name,
                [
                    measured(float(one), 1.0, percent(float(one)), "dense"),
                    measured(float(two), 1.0, percent(float(two))),
                    _difference(float(two - one)),
                ],
            )
            for name, (one, two) in zip(names, answers.T, strict=True)
        ]
        note = (
            ""
            if self._changed_at_all
            else f'<p class="sp-muted sp-small">{escape(self._t("try.unchanged"))}</p>'
        )
        return (
            f'<div class="de-both" data-answers="{first} {second}"><p class="sx-verdict" role="status">{escape(verdict)}</p>'
            f"{table(head, rows, self._t('try.caption'))}{note}</div>"
        )

    def _listed(self, where: NDArray[np.int64], both: NDArray[np.float32]) -> str:
        made = self.way.listed(where, both)
        said = self._t("try.list", count=min(len(where), MOST_LISTED), all=len(where))
        heading = f"<h3>{escape(said)}</h3>"
        return f'<div class="de-listed" data-differ="{len(where)}">{heading}{made}</div>' if made else ""

    def _note(self, key: str, **values: object) -> str:
        return f'<p class="sp-muted" role="status">{escape(self._t(key, **values))}</p>'

    def _empty(self) -> str:
        return f'<p class="sp-muted">{escape(self._t("try.empty"))}</p>'


def _difference(value: float) -> str:
    """A bar from the middle to the right for more, to the left for less."""
    width, side = 50 * abs(value), "left" if value >= 0 else "right"
    return (
        f'<span class="sp-number">{signed(100 * value)}</span>'
        f'<span class="de-away"><span class="is-{side}" style="width:{width:.1f}%"></span></span>'
    )
