"""The part "Take away" of the page "Deploy": the network as files in `models/` of the workspace, from where the page Models
gives them to the visitor as a zip."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from ..common.figures import notice, percent, size
from ..common.pieces import beside, card, choice, text_field
from . import files
from .bench import Bench
from .files import Files
from .part import DeployPart, Step, named, table
from .subject import Subject

FORMS = ("small", "original", "int8")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")


class TakePart(DeployPart):
    """`folder` is where the files are, once they are made."""

    def __init__(self, lang: str, bench: Bench, workspace: Path) -> None:
        super().__init__(lang, bench)
        self.folder: Path | None = None
        self._models = workspace / "models"
        self.form = choice(
            self._t("take.form"), [(self._t(f"take.form.{form}"), form) for form in FORMS], "small"
        )
        self.name = text_field(self._t("take.name"), "my_network")
        buttons = self._buttons(self._t("take.start"), self.save)
        self.result = widgets.HTML(self._empty())
        about = widgets.HTML(f'<p class="sp-muted sp-small">{escape(self._t("take.about"))}</p>')
        column = card([self.form, self.name, about, buttons, self.status], "sx-form")
        self.root = beside(column, [card([self.result], "de-card")])

    def fresh(self, subject: Subject) -> None:
        self.start.disabled = False
        self.result.value, self.folder = self._empty(), None

    def save(self) -> None:
        """Writes the files, which are checked, and shows them."""
        subject, name = self.bench.subject, self.name.value.strip()
        if subject is None:
            return
        if not NAME.fullmatch(name):
            self._refuse("take.bad_name")
            return
        if (self._models / name).exists():
            self._refuse("take.exists", name=name)
            return
        made: list[Files] = []
        form = self.form.value
        network = subject.network if form == "original" else self.bench.small

        def done() -> None:
            if made:
                self.folder = made[0].folder
                self.result.value = self._said(made[0])

        self._do(written(subject, network, form, self._models, name, made, self.lang), done)

    def _refuse(self, key: str, **values: object) -> None:
        self.status.value = f'<p class="sp-muted" role="alert">{escape(self._t(key, **values))}</p>'

    def _said(self, made: Files) -> str:
        rows = [(path.name, [size(path.stat().st_size)]) for path in sorted(made.folder.iterdir())]
        head = [self._t("column.file"), self._t("column.bytes")]
        checks = [self._t("take.checked.program")]
        if made.onnx is not None:
            checks.append(self._t("take.checked.onnx"))
        said = "".join(f"<p>✓ {escape(check)}</p>" for check in checks)
        if made.onnx is None:
            said += notice(self._t("take.no_onnx"), detail=made.refused, lang=self.lang)
        # Of the page Models, from /studio/page/deploy.
        address = f"../models/saved/{made.folder.name}"
        return (
            f'<div class="de-files" data-name="{escape(made.folder.name, quote=True)}"><p class="sx-verdict" role="status">{escape(self._t("take.said"))}</p>'
            f"{table(head, rows, self._t('take.caption'))}"
            f'{said}<p><a class="sp-button" href="{address}/download" download>{escape(self._t("take.download"))}</a> '
            f'<a href="{address}">{escape(self._t("take.card"))}</a></p></div>'
        )

    def _empty(self) -> str:
        return f'<p class="sp-muted">{escape(self._t("take.empty"))}</p>'


def written(
    subject: Subject, network: Any, form: str, models: Path, name: str, made: list[Files], lang: str
) -> Iterator[Step]:
    """Writes a network to a folder of `models`, which appears when all its files are there."""
    models.mkdir(parents=True, exist_ok=True)
    if form == "int8":
        yield "quantising", 0.0
        network = files.int8(subject, network)
    with tempfile.TemporaryDirectory(prefix=".deploy-", dir=models) as folder:
        draft = Path(folder) / name
        found: list[Files] = []
        for doing, share in files.save(subject, network, draft, name, found):
            yield doing, 0.95 * share
        beside = subject.task.beside() if subject.task is not None else {}
        for file, text in beside.items():
            (draft / file).write_text(text, "utf-8")
        (draft / "README.md").write_text(card_of(subject, network, name, lang), "utf-8")
        shutil.move(draft, models / name)
    files_ = found[0]
    made.append(
        Files(models / name, name, files_.refused, [models / name / path.name for path in files_.made])
    )
    yield "saving", 1.0


def card_of(subject: Subject, network: Any, name: str, lang: str) -> str:
    """The card of a saved network."""
    from sampan import slim

    from .part import words

    lines = [f"# {name}: {named(subject, lang)}", ""]
    lines.append(words("take.readme.size", lang, parameters=f"{slim.model_size(network):,}"))
    if (task := subject.task) is not None:
        share = percent(task.accuracy(network))
        lines.append(words(f"accuracy.{task.name}", lang, share=share, count=len(task.test)))
    lines += [
        "",
        words("take.readme.use", lang),
        "",
        "    import sampan as paddle",
        "",
        f'    network = paddle.jit.load("models/{name}/{name}")',
    ]
    return "\n".join([*lines, *(f"    {line}" for line in subject.usage(f"models/{name}")), ""])
