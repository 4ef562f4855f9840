"""The part "Try" of the page "Deploy": the network and its small form answer for the same drawing."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from ..common.figures import percent
from ..common.pieces import beside, button, card
from ..common.widgets import DigitPad
from ..train import drawing
from . import networks
from .bench import Bench
from .networks import Subject
from .part import DeployPart, measured, needs_digits, signed, table


class ComparePart(DeployPart):
    """`answers`: probabilities [2, 10] of the network and of its small form for the present picture."""

    def __init__(self, lang: str, bench: Bench) -> None:
        super().__init__(lang, bench)
        self.answers: NDArray[np.float32] | None = None
        self._picture: NDArray[np.float32] | None = None  # as the network takes it
        self._next = 0
        self.pad = DigitPad(
            label=self._t("try.pad"), hint=self._t("try.hint"), clear_label=self._t("try.clear")
        )
        self.differ = button(self._t("try.differ"), self.show_difference, disabled=True)
        self.other = button(self._t("try.any"), self.show_any, disabled=True)
        self.answer = widgets.HTML(self._empty())
        self.pad.observe(self._drawn, "pixels")
        self.pad.on_msg(self._told)
        bench.on_small.append(self._again)
        form = card([self.pad, self.differ, self.other, self.status], "sx-form")
        self.root = beside(form, [card([self.answer], "de-card")])

    def fresh(self, subject: Subject) -> None:
        self.answers, self._picture, self._next = None, None, 0
        self.answer.value = self._empty()
        self.differ.disabled = self.other.disabled = subject.digits is None
        needs_digits(self, subject)

    # ---- what the visitor does

    def show_any(self) -> None:
        """The next test picture."""
        subject = self.bench.subject
        if subject is not None and subject.digits is not None:
            self._next = (self._next + 1) % len(subject.digits.test)
            self._take(self._next)

    def show_difference(self) -> None:
        """The next test picture that the two networks read as different digits."""
        subject = self.bench.subject
        if subject is None or subject.digits is None:
            return
        both = [networks.probabilities(n, subject.digits.test) for n in (subject.network, self.bench.small)]
        where = np.flatnonzero(both[0].argmax(1) != both[1].argmax(1))
        if not len(where):
            self.status.value = self._note("try.same" if self.bench.changed else "try.unchanged")
            return
        later = where[where > self._next]
        self._next = int(later[0] if len(later) else where[0])
        self._take(self._next)
        self.status.value = self._note("try.different", count=len(where), all=len(subject.digits.test))

    def ask(self, picture: NDArray[np.float32]) -> None:
        """Both networks answer for a picture [size, size]."""
        self._picture = picture
        self._again()

    # ---- what is shown

    def _take(self, number: int) -> None:
        assert self.bench.subject is not None and self.bench.subject.digits is not None
        picture = self.bench.subject.digits.test[number, 0]
        self.status.value = ""
        self.pad.picture = (255 * np.clip(picture, 0, 1)).astype(np.uint8).tobytes()
        self.ask(picture)

    def _drawn(self, _: Any) -> None:
        subject, pixels = self.bench.subject, self.pad.pixels
        if (
            subject is None
            or subject.digits is None
            or not pixels
            or not np.frombuffer(pixels, np.uint8).any()
        ):
            return
        self.status.value = ""
        self.ask(drawing.as_input(drawing.from_bytes(pixels, self.pad.side), subject.shape[-1]))

    def _told(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content.get("clear"):
            self._picture, self.answers, self.answer.value = None, None, self._empty()

    def _again(self) -> None:
        """The picture as it is, by the networks as they are."""
        subject, picture = self.bench.subject, self._picture
        if subject is None or picture is None:
            return
        both = [networks.probabilities(n, picture[None, None]) for n in (subject.network, self.bench.small)]
        self.answers = np.concatenate(both)
        self.answer.value = self._said(self.answers)

    def _said(self, answers: NDArray[np.float32]) -> str:
        first, second = (int(one.argmax()) for one in answers)
        away = answers[1] - answers[0]
        most = int(np.abs(away).argmax())
        key = "try.both" if first == second else "try.disagree"
        verdict = self._t(key, first=first, second=second, digit=most, points=signed(100 * float(away[most])))
        head = [self._t(f"column.{key}") for key in ("digit", "original", "small", "difference")]
        rows = [
            (
                str(digit),
                [
                    measured(float(one), 1.0, percent(float(one)), "dense"),
                    measured(float(two), 1.0, percent(float(two))),
                    _difference(float(two - one)),
                ],
            )
            for digit, (one, two) in enumerate(answers.T)
        ]
        note = (
            ""
            if self.bench.changed
            else f'<p class="sp-muted sp-small">{escape(self._t("try.unchanged"))}</p>'
        )
        return (
            f'<div class="de-both" data-answers="{first} {second}"><p class="sx-verdict" role="status">{escape(verdict)}</p>'
            f"{table(head, rows, self._t('try.caption'))}{note}</div>"
        )

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
