"""How a visitor asks the networks of the part "Try": by a drawing, or by a sentence."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from ..common.figures import percent
from ..common.widgets import DigitPad
from ..train import drawing
from . import made_reviews
from .part import table, words
from .subject import Task
from .texts import Reviews

MOST_LISTED = 8  # inputs of the list
MOST_WORDS = 24  # that are translated one by one


class Asking:
    """`root` is the widget. `ask` is called with one input [1, ...] as the network takes it, or None where there is none any
    more; `task` is that of the present network."""

    root: widgets.Widget

    def __init__(self, lang: str, ask: Callable[[NDArray[Any] | None], None]) -> None:
        self.lang, self._ask = lang, ask
        self.task: Task | None = None

    def fresh(self, task: Task) -> None:
        """The network is another one."""
        self.task = task

    def show(self, number: int) -> None:
        """Puts an input of the test part into the widget, and asks."""
        raise NotImplementedError

    def answers(self) -> list[str]:
        """What the classes are called."""
        raise NotImplementedError

    def listed(self, numbers: NDArray[np.int64], both: NDArray[np.float32]) -> str:
        """HTML of inputs of the test part; both: probabilities [2, n, classes] of all of it. Empty where a list says nothing."""
        return ""


class Drawing(Asking):
    """A pad for the finger or the mouse."""

    def __init__(self, lang: str, ask: Callable[[NDArray[Any] | None], None]) -> None:
        super().__init__(lang, ask)
        self.pad = DigitPad(
            label=words("try.pad", lang),
            hint=words("try.hint", lang),
            clear_label=words("try.clear", lang),
        )
        self.pad.observe(self._drawn, "pixels")
        self.pad.on_msg(self._told)
        self.root = self.pad

    def show(self, number: int) -> None:
        assert self.task is not None
        picture = self.task.test[number]
        self.pad.picture = (255 * np.clip(picture[0], 0, 1)).astype(np.uint8).tobytes()
        self._ask(picture[None])

    def answers(self) -> list[str]:
        return [str(digit) for digit in range(10)]

    def _drawn(self, _: Any) -> None:
        pixels = self.pad.pixels
        if self.task is None or not pixels or not np.frombuffer(pixels, np.uint8).any():
            return
        size = self.task.test.shape[-1]
        self._ask(drawing.as_input(drawing.from_bytes(pixels, self.pad.side), size)[None, None])

    def _told(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content.get("clear"):
            self._ask(None)


class Sentence(Asking):
    """A field for a text. Both networks answer while it is typed; an English page translates its words."""

    task: Reviews | None

    def __init__(self, lang: str, ask: Callable[[NDArray[Any] | None], None]) -> None:
        super().__init__(lang, ask)
        self.field = widgets.Textarea(
            description=words("try.sentence", lang), placeholder=words("try.sentence.hint", lang), rows=4
        )
        self.field.style.description_width = "initial"
        self.field.add_class("sx-field")
        self.field.add_class("de-sentence")
        self.about = widgets.HTML()
        self.field.observe(lambda _: self._typed(), "value")
        self.root = widgets.VBox([self.field, self.about])

    def fresh(self, task: Task) -> None:
        super().fresh(task)
        self.field.value = ""

    def show(self, number: int) -> None:
        assert self.task is not None
        self.field.value = ""  # the same text again asks again
        self.field.value = self.task.texts[number]

    def answers(self) -> list[str]:
        return [words(f"try.verdict.{verdict}", self.lang) for verdict in ("bad", "good")]

    def listed(self, numbers: NDArray[np.int64], both: NDArray[np.float32]) -> str:
        assert self.task is not None
        head = [words(f"column.{key}", self.lang) for key in ("review", "label", "original", "small")]
        names, rows = self.answers(), []
        for number in numbers[:MOST_LISTED].tolist():
            label = int(self.task.test_labels[number])
            cells = [escape(names[label])]
            for odds in both[:, number]:
                answer = int(odds.argmax())
                mark = "✓" if answer == label else "✗"
                cells.append(
                    f'<span class="de-answer is-{"right" if answer == label else "wrong"}">{mark} {escape(names[answer])}</span> '
                    f'<span class="sp-number">{percent(float(odds[answer]))}</span>'
                )
            rows.append(
                (self.task.texts[number][: self.task.letters.longest], [*self._english(number), *cells])
            )
        if self.lang == "en":
            head.insert(1, words("column.english", self.lang))
        return table(head, rows, words("try.list.caption", self.lang))

    def _english(self, number: int) -> list[str]:
        """A cell with the English of a review of the test part, on a page in English."""
        assert self.task is not None
        if self.lang != "en":
            return []
        known = self.task.english
        text = known[number] if known else glossed(self.task.texts[number])
        return [f'<span class="de-english">{escape(text)}</span>']

    def _typed(self) -> None:
        text = self.field.value.strip()
        if self.task is None or not text:
            self.about.value = ""
            self._ask(None)
            return
        self.about.value = self._notes(text)
        self._ask(self.task.letters.ids([text]))

    def _notes(self, text: str) -> str:
        """The English of the text, the characters that the network does not know, and whether it is read to its end."""
        assert self.task is not None
        said, longest = list[str](), self.task.letters.longest
        if self.lang == "en":
            known = dict(zip(self.task.texts, self.task.english, strict=False))
            said.append(known[text] if text in known else words("try.gloss", self.lang, words=glossed(text)))
        if unknown := self.task.letters.unknown(text[:longest]):
            said.append(words("try.unknown", self.lang, characters="".join(unknown)))
        if len(text) > longest:
            said.append(words("try.cut", self.lang, count=longest))
        return "".join(f'<p class="sp-muted sp-small">{escape(line)}</p>' for line in said)


def glossed(text: str) -> str:
    """The known words of a text with their English; a dash where there is none."""
    found = made_reviews.gloss(text)
    more = " …" if len(found) > MOST_WORDS else ""
    return " · ".join(f"{word} {english}" for word, english in found[:MOST_WORDS]) + more or "–"
