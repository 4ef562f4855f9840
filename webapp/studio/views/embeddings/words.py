"""The part "Words" of the page "Embeddings": skip-gram on a text, the map of its words, neighbours, analogies."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, ClassVar

import ipywidgets as widgets

from ..common.figures import notice, origin
from ..common.pieces import button, card, text_field
from . import data
from . import figures as show
from .shipped import ShippedRun, shipped
from .training import Table, VectorRun, WordRun
from .vectors import NEAREST, VectorsPart, folded

# Tried in this order: the first one whose three words are all in the text is the default.
ANALOGIES = (
    ("干净", "脏", "大"), ("远", "近", "贵"), ("中国", "北京", "日本"), ("we", "our", "you"), ("he", "his", "she"),
)  # fmt: skip


class WordsPart(VectorsPart):
    kind = "words"
    epochs_offered = (1, 3, 10, 30, 100, 300, 1000)
    epochs_of: ClassVar[dict[str, int]] = {"coriolanus": 100, "tinyshakespeare": 30}
    charts = (("loss", "number"), ("speed", "number"))
    first_dim, first_epochs = 64, 10

    def __init__(self, lang: str) -> None:
        self.terms = [text_field(show.words(f"words.field.{name}", lang)) for name in "abc"]
        self.solve = button(show.words("words.solve", lang), self.analogy, disabled=True)
        self.solved = widgets.HTML()
        super().__init__(lang)
        for term in self.terms:
            term.observe(lambda _: self._clear(), "value")

    def analogy(self) -> None:
        """a is to b as c is to what?"""
        with self._lock:
            run = self.run
            if run is None or run.table is None:
                self._refuse(self._k("error.untrained"))
                return
            if not run.rests:
                self._refuse(self._t("error.wait"))
                return
            terms = [term.value.strip() for term in self.terms]
            if not all(terms):
                self._refuse(self._k("error.terms"))
                return
            table, numbers = run.table, []
            for place, term in enumerate(terms):
                known = _known(table, term)
                number = None if known is None else table.number(known)
                if known is None or number is None:
                    self._refuse(self._unknown(table, term))
                    return
                terms[place] = known
                numbers.append(number)
            found = table.analogy(*numbers, most=NEAREST)
            pairs = [(table.labels[number], cosine) for number, cosine in found]
            said = [show.own(term, self._language(), self.lang) for term in terms]
            best = f"<b>{show.own(pairs[0][0], self._language(), self.lang)}</b>"
            heading = f"{said[0]} : {said[1]} = {said[2]} : {best}"
            self.solved.value = show.ranked(pairs, heading, "analogy", self._language(), self.lang)
            self._mark(table, [*terms, *(label for label, _ in pairs[:3])])

    def _refuse(self, sentence: str) -> None:
        self.solved.value = notice(sentence, bad=True)

    def _clear(self) -> None:
        self.solved.value = ""

    def _sources(self) -> list[str]:
        return data.texts(self.lang)

    def begin(self) -> None:
        super().begin()
        with self._lock:
            if self.run is not None:
                return
            self.run = run = ShippedRun(shipped())
            self.status.value = notice(
                self._k("shipped"), more=self._k("shipped.how", words=f"{len(run.table.labels):,}")
            )
            self._looked(run)

    def _about(self, name: str) -> str:
        from sampan import datasets

        known = datasets.card(name)
        about = origin(known, self._k(f"about.{name}"), self._k(f"cut.{data.language(name)}"), self.lang)
        return f'<div class="sx-about" data-source="{escape(name, quote=True)}">{about}</div>'

    def _run_of(self, source: str, dim: int, epochs: int) -> VectorRun:
        return WordRun(source, dim, epochs, self._follow, self._looked)

    def _figures(self, run: WordRun) -> Sequence[tuple[str, str]]:
        return [
            ("loss", "–" if run.loss is None else f"{run.loss:.3f}"),
            ("speed", "–" if run.words_per_second is None else f"{run.words_per_second:,.0f}"),
            ("words", "–" if run.table is None else f"{len(run.table.labels):,}"),
        ]

    def _nearest(self, run: Any, label: str) -> tuple[str, list[tuple[str, float]]]:
        known = _known(run.table, label)
        if known is None:
            raise KeyError(label)
        found = run.table.nearest(run.table.number(known), NEAREST)
        return known, [(run.table.labels[number], cosine) for number, cosine in found]

    def _language(self) -> str:
        return data.language(self.run.source if self.run else self.source.value)

    def _fresh(self, run: Any) -> None:
        self.solve.disabled = False
        if not self.asked.value.strip():
            self.asked.placeholder = self._k(
                "hint.such", example=run.table.labels[len(run.table.labels) // 10]
            )
        if any(
            term.value.strip() and run.table.number(term.value.strip()) is not None for term in self.terms
        ):
            return
        known = (triple for triple in ANALOGIES if all(run.table.number(word) is not None for word in triple))
        for term, word in zip(self.terms, next(known, ("", "", "")), strict=True):
            term.value = word

    def _more(self) -> list[widgets.Widget]:
        heading = widgets.HTML(
            f"<h3>{self._k('heading.analogy')}</h3><p class='sp-muted sp-small'>{self._k('lead.analogy')}</p>"
        )
        signs = [widgets.HTML(f'<span aria-hidden="true">{sign}</span>') for sign in (":", "=", ": ?")]
        row: list[Any] = []
        for term, sign in zip(self.terms, signs, strict=True):
            sign.add_class("em-sign")
            row += [term, sign]
        asking = widgets.Box([*row, self.solve])
        asking.add_class("em-analogy")
        return [card([heading, asking, self.solved], "em-search")]


def _known(table: Table, word: str) -> str | None:
    """A word as in the table, also if it was typed in capitals or full-width letters."""
    return next((said for said in (word, folded(word)) if table.number(said) is not None), None)
