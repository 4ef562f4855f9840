"""The card at the top of the page "Deploy": which network, what it is, and its training where it has none yet."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

import ipywidgets as widgets

from studio.i18n import t

from ..common.figures import notice, percent, size
from ..common.pieces import card, choice, offer
from . import networks, texts
from .bench import Bench
from .networks import DIGITS, ENCODER, KEPT, RECIPES, RESNET, REVIEWS
from .part import DeployPart, Step, named, sentences
from .subject import Subject


class Chooser(DeployPart):
    """`ready` holds the networks that have been made, by the option of the field. workspace: where Train's runs are."""

    def __init__(self, lang: str, bench: Bench, workspace: Path) -> None:
        super().__init__(lang, bench)
        self.ready: dict[str, Subject] = {}
        self._workspace = workspace
        self.field = choice(self._t("field.network"), [(self._t("waiting"), "")], "")
        self.about = widgets.HTML()
        buttons = self._buttons(self._t("train"), self.train)
        self.field.observe(lambda _: self.chosen(), "value")
        row = widgets.Box([self.field, buttons])
        row.add_class("de-chooser")
        self.root = card([row, self.about, self.status], "de-network")

    def begin(self) -> None:
        """Offers the networks and makes the first one: it is trained at once, which takes seconds."""
        for subject in networks.kept(self._workspace):
            self.ready[f"{KEPT}-{subject.number}"] = subject
        kept = [(named(subject, self.lang), key) for key, subject in self.ready.items()]
        made = [(self._t(f"network.{kind}"), kind) for kind in (*RECIPES, RESNET, ENCODER)]
        self._begun = True
        offer(self.field, [*made[:1], *kept, *made[1:]], DIGITS)
        self.chosen()

    def chosen(self) -> None:
        """Uses the network of the field, or makes it."""
        kind = self.field.value
        if not self._begun or not kind or (self.work is not None and self.work.alive):
            return
        if kind in RECIPES and kind not in self.ready:
            self.train()
        elif kind not in self.ready or self.bench.subject is not self.ready[kind]:
            self._use(kind)

    def _use(self, kind: str) -> None:
        """Makes the network if there is none yet, and shows it in the parts, which record and run it."""

        def steps() -> Iterator[Step]:
            yield "making", 0.0
            if kind not in self.ready:
                self.ready[kind] = networks.random_network(kind)
            yield "recording", 0.3
            self.bench.choose(self.ready[kind])

        def stopped() -> None:
            self.field.disabled = False
            self._show_present()

        self.field.disabled = True
        self._do(steps(), stopped)

    def _show_present(self) -> None:
        """The field names the network of the bench again."""
        shown = (key for key, subject in self.ready.items() if subject is self.bench.subject)
        self.field.value = next(shown, self.field.value)
        self.start.disabled = self.field.value not in RECIPES

    def _absent(self, kind: str, detail: str) -> str:
        more = self._t("absent.more", name=self._t(f"network.{REVIEWS}"), set=texts.HOTEL)
        return notice(
            self._t("absent", name=self._t(f"network.{kind}")), more=more, detail=detail, lang=self.lang
        )

    def train(self) -> None:
        """Trains the network of the field anew. Where its data are not on this machine, the card says how to get them."""
        kind = self.field.value
        recipe, made, absent = RECIPES[kind], Subject(kind, None, ()), list[str]()
        self.field.disabled = True

        def steps() -> Iterator[Step]:
            yield "reading", 0.0
            try:
                task = made.task = recipe.task()
            except FileNotFoundError as error:
                absent.append(str(error))
                return
            made.shape, made.network = task.test.shape[1:], recipe.network(task)
            for share in networks.train(made.network, task, recipe.epochs):
                yield "training", share

        def done() -> None:
            self.field.disabled = False
            if made.network is None:  # stopped before it began, or without data
                self._show_present()
                if absent:
                    self.status.value = self._absent(kind, absent[0])
                return
            made.network.eval()
            self.ready[kind] = made
            self.field.value = kind
            self.bench.choose(made)

        self._do(steps(), done)

    def _failed(self, detail: str) -> None:
        self.field.disabled = False
        super()._failed(detail)

    def fresh(self, subject: Subject) -> None:
        from sampan import slim

        self.field.disabled = False
        self.start.disabled = subject.kind not in RECIPES
        task = subject.task
        real = task is not None and task.origin == "real"
        tag = t(f"train.origin.{task.origin}", self.lang) if task is not None else self._t("network.random")
        facts = self._t(
            "network.facts",
            parameters=f"{slim.model_size(subject.network):,}",
            bytes=size(slim.file_bytes(subject.network)),
        )
        read = ""
        if task is not None:
            share = percent(task.accuracy(subject.network))
            read = self._t(f"accuracy.{task.name}", share=share, count=len(task.test))
        self.about.value = (
            f'<div class="sx-about" data-network="{escape(subject.kind, quote=True)}"><p><span class="sp-tag{" is-good" if real else ""}">'
            f"{escape(tag)}</span> {escape(sentences(self.lang, facts, read))}</p><p>{escape(self._t(f'network.about.{subject.kind}'))}</p></div>"
        )
