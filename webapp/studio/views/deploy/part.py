"""What all parts of the page "Deploy" have in common: the shared bench, and long work with progress and a stop button."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import ipywidgets as widgets

from studio.i18n import catalog, t

from ..common.figures import bar, duration, notice
from ..common.pieces import button
from ..common.work import Work, one_core_less
from .bench import Bench
from .networks import KEPT
from .subject import Subject, Task

Step = tuple[str, float]  # the key of a sentence that says what is done now, and the share that is done


class StepWork(Work):
    """Does the steps of a generator; `doing` is the key of the present one's sentence."""

    def __init__(
        self, name: str, steps: Iterable[Step], on_change: Callable[[Any], None] = lambda _: None
    ) -> None:
        super().__init__(name, on_change)
        self._steps, self._share, self.doing = steps, 0.0, "begun"

    @property
    def progress(self) -> float:
        return self._share

    def _work(self) -> None:
        one_core_less()
        for doing, share in self._steps:
            self.doing, self._share = doing, share
            if not self._began:
                self._running()
            if self._cancel.is_set():
                return
            self._tell(every=0.2)


class DeployPart:
    """`root` is the widget. `begin()` shows the chosen network; call it in a thread after the page is shown. `fresh()` is
    called again for each other network, from then on."""

    def __init__(self, lang: str, bench: Bench) -> None:
        self.lang, self.bench = lang, bench
        self.status = widgets.HTML(notice(words("waiting", lang)))
        self.work: StepWork | None = None
        self._begun = False
        self._lock = threading.RLock()
        self._done: Callable[[], None] = lambda: None
        bench.on_subject.append(self._shown)

    def begin(self) -> None:
        self._begun = True
        if self.bench.subject is not None:
            self._shown()

    def fresh(self, subject: Subject) -> None:
        """Show what there is to see of this network at once, and enable the rest."""
        raise NotImplementedError

    def _shown(self) -> None:
        """The network of the bench is another one."""
        subject = self.bench.subject
        if not self._begun:
            return
        with self._lock:
            self._leave_work()
            if subject is None:
                self.status.value = notice(self._t("waiting"))
                return
            try:
                self.status.value = ""
                self.fresh(subject)
            except Exception as error:  # the visitor does not see the kernel's log
                self._failed(f"{type(error).__name__}: {error}")

    # ---- long work

    def _buttons(self, label: str, start: Callable[[], None]) -> widgets.HBox:
        """A button that starts the work, and one that stops it."""
        self.start = button(label, start, "primary", disabled=True)
        self.stop = button(self._t("cancel"), self.cancel, "danger", disabled=True)
        return widgets.HBox([self.start, self.stop])

    def cancel(self) -> None:
        """Stops after the present step."""
        if self.work is not None:
            self.work.cancel()
            self.stop.disabled = True

    def _do(self, steps: Iterable[Step], done: Callable[[], None]) -> None:
        """Does the steps in a thread; `done` shows the result, also that of work that was stopped."""
        with self._lock:
            if self.work is not None and self.work.alive:
                return
            self._done = done
            self.start.disabled, self.stop.disabled = True, False
            self.work = StepWork(type(self).__name__, steps, self._follow)
            self.work.start()

    def _follow(self, work: Work) -> None:
        with self._lock:
            if not isinstance(work, StepWork) or work is not self.work:
                return  # of the network before
            if work.alive:
                self.status.value = bar(
                    work.state, self._t(f"doing.{work.doing}"), work.fraction, self._t("progress")
                )
                return
            self.start.disabled, self.stop.disabled = False, True
            if work.state == "failed":
                self._failed(work.error)
                return
            said = self._t(f"ended.{work.state}", time=duration(work.seconds, self.lang))
            self.status.value = (
                f'<p class="sp-muted sp-small" role="status" data-state="{work.state}">{escape(said)}</p>'
            )
            try:
                self._done()
            except Exception as error:
                self._failed(f"{type(error).__name__}: {error}")

    def _leave_work(self) -> None:
        if self.work is not None:
            self.work.cancel()
            self.work = None
            self.start.disabled, self.stop.disabled = False, True

    def wait(self, timeout: float = 240.0) -> None:
        """Waits until the work has ended (for tests)."""
        if self.work is not None:
            self.work.join(timeout)

    # ---- words

    def _failed(self, detail: str) -> None:
        self.status.value = notice(self._t("error.part"), bad=True, detail=detail, lang=self.lang)

    def _t(self, key: str, **values: object) -> str:
        return words(key, self.lang, **values)


def words(key: str, lang: str, **values: object) -> str:
    return t(f"deploy.{key}", lang, **values)


def sentences(lang: str, *texts: str) -> str:
    """Sentences after each other, as the language writes them."""
    return ("" if lang == "zh" else " ").join(text for text in texts if text)


def known(key: str, lang: str, otherwise: str) -> str:
    """A sentence, or another text where there is none: of a pass or a kind of call that is new."""
    return catalog(lang).get(f"deploy.{key}", otherwise)


def named(subject: Subject, lang: str) -> str:
    """What the network is called on the page."""
    if subject.kind == KEPT:
        return words("network.kept", lang, number=subject.number)
    return words(f"network.{subject.kind}", lang)


def needs_task(part: DeployPart, subject: Subject) -> Task | None:
    """What the network was trained for. None for random weights, which have nothing to be right about: the part says so."""
    if subject.task is None:
        part.status.value = notice(part._t("needs_task", name=named(subject, part.lang)))
    return subject.task


def stats(figures: Iterable[tuple[str, str, str]]) -> str:
    """Figures (key, name, value) beside each other."""
    return (
        '<div class="sp-stats">'
        + "".join(
            f'<div class="sp-stat" data-figure="{key}"><span class="sp-label">{escape(name)}</span>'
            f'<span class="sp-value">{escape(text)}</span></div>'
            for key, name, text in figures
        )
        + "</div>"
    )


def table(head: Iterable[str], rows: Iterable[tuple[str, Iterable[str]]], caption: str) -> str:
    """A table: the first cell of a row is its heading. Cells are HTML, the rest is text."""
    columns = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, cells in rows
    )
    return (
        f'<div class="sp-scroll"><table class="sp-table sx-table"><caption class="sp-hidden">{escape(caption)}</caption>'
        f"<thead><tr>{columns}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def signed(value: float) -> str:
    """+0.3, −1.2 with a minus sign."""
    return f"{value:+.1f}".replace("-", "\u2212")


def measured(value: float, most: float, text: str, kind: str = "sparse") -> str:
    """A number with a bar below it, as long as its share of the most."""
    width = max(100 * value / most, 0.5) if most > 0 else 0.5
    return f'<span class="sp-number">{escape(text)}</span><span class="sx-bar is-{kind}" style="width:{width:.1f}%"></span>'
