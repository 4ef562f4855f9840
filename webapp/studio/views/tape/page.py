"""The page "Tape": a few lines or a small network, run once, and shown forward and backward step by step.

`TapePage` only connects: the expression (expression.py), the walk (walk.py), the picture (common/widgets.py). The
library takes seconds to load, so it is loaded in a thread after the page is shown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from studio.i18n import t
from studio.paths import STATIC

from ..common import figures, visitor
from ..common.widgets import TapeWalk, put_up
from .expression import ExpressionError, evaluate
from .numbers import drawn_again
from .walk import Walk

EXAMPLES = {
    "layer": "x = randn([4, 3])\nw = randn([3, 2])\nb = zeros([2])\nrelu(x @ w + b).sum()",
    "shared": "x = randn([2, 2])\ny = x * x\n(y + exp(x)).mean()",
    "softmax": "scores = randn([2, 5])\n-log_softmax(scores)[:, 0].mean()",
    "convolution": "image = randn([1, 1, 6, 6])\nfilters = randn([2, 1, 3, 3])\nrelu(conv2d(image, filters)).mean()",
}
SEED = 7
DIGITS = 4  # images in the batch of a network
SENTENCE = "a sampan is a small boat"

LARGEST_EDIT = 64  # numbers of a parameter that a visitor can write
Made = tuple[Any, Mapping[str, Any]]
Given = Mapping[str, Any]  # other numbers for some of the parameters, as arrays


def mlp(given: Given) -> Made:
    """A network with one hidden layer and its loss, on real digits."""
    import sampan

    return _on_digits(sampan.models.MLP(64, hidden=(16,), num_classes=10), given)


def lenet(given: Given) -> Made:
    import sampan

    return _on_digits(sampan.models.LeNet(image_size=8), given)


def gpt(given: Given) -> Made:
    """One block of a small GPT and its loss: which letter comes next?"""
    import sampan

    letters = sorted(set(SENTENCE))
    ids = sampan.to_tensor([[letters.index(letter) for letter in SENTENCE]])
    network = sampan.models.GPT(
        vocab_size=len(letters), context=32, num_layers=1, num_heads=2, width=16, dropout=0.0
    )
    parameters = _with(network, given)
    return network.loss(ids[:, :-1], ids[:, 1:]), parameters


def _with(network: Any, given: Given) -> dict[str, Any]:
    """Its parameters, after some got other numbers."""
    parameters = dict(network.named_parameters())
    for name, numbers in given.items():
        parameters[name].set_value(numbers)
    return parameters


def _on_digits(network: Any, given: Given) -> Made:
    import sampan

    digits = sampan.datasets.load("digits").test
    pictures, labels = zip(*(digits[i] for i in range(DIGITS)), strict=True)
    parameters = _with(network, given)
    outputs = network(sampan.to_tensor(list(pictures)))
    return sampan.nn.functional.cross_entropy(outputs, sampan.to_tensor(list(labels))), parameters


MODELS: dict[str, Callable[[Given], Made]] = {"mlp": mlp, "lenet": lenet, "gpt": gpt}


class TapePage:
    """`root` is the whole page as one widget; `load_library()` enables it."""

    def __init__(self, lang: str = "en") -> None:
        self.lang = lang
        self.ready = threading.Event()
        programs = [(self._t(f"example.{name}"), name) for name in EXAMPLES]
        programs += [(self._t(f"model.{name}"), name) for name in MODELS]
        self.program = widgets.Dropdown(options=programs, description=self._t("field.program"))
        self.text = widgets.Textarea(
            EXAMPLES["layer"], description=self._t("field.text"), continuous_update=False, rows=5
        )
        self.hint = widgets.HTML(f'<p class="sp-muted sp-small">{self._t("hint")}</p>')
        self.run = widgets.Button(description=self._t("run"), button_style="primary", disabled=True)
        self.status = widgets.HTML(figures.notice(self._t("loading")))
        self.walk = TapeWalk(words={word: self._t(f"walk.{word}") for word in WORDS})
        self._ran = ("", "")  # the program of the walk that is shown, and its text
        self._given: dict[str, Any] = {}  # the visitor's numbers for its parameters
        self._draws = 0
        self.made: Walk | None = None
        self.program.observe(self._chosen, "value")
        self.run.on_click(lambda _: self.start())
        self.walk.on_msg(lambda _, content, __: self.change(content))
        for field, name in ((self.program, "program"), (self.text, "text")):
            field.add_class("tp-field")
            field.add_class(f"tp-field-{name}")
        chosen = widgets.VBox([self.program, self.text])
        side = widgets.VBox([self.hint, self.run, self.status])
        side.add_class("tp-side")
        form = widgets.Box([chosen, side])
        form.add_class("sp-card")
        form.add_class("tp-form")
        opening = widgets.HTML(
            f"<style>{(STATIC / 'tape.css').read_text('utf-8')}</style>"
            f'<p class="sp-lead">{self._t("lead")}</p>'
        )
        self.root = widgets.VBox([opening, form, self.walk])
        self.root.add_class("tp-page")

    def start(self) -> None:
        """Runs the chosen program with its own numbers and shows its walk, or its error."""
        if self.ready.is_set():
            self._show((self.program.value, self.text.value), {})

    def change(self, content: dict[str, Any]) -> None:
        """Runs the program of the walk again with other numbers of a parameter: {"name", "numbers": [...]} in row-major
        order, null for one that stays, {"name", "random": true} or {"name", "own": true}, the program's own."""
        tensor = self.made.leaves.get(content.get("name", "")) if self.made is not None else None
        if tensor is None:
            return
        name, given = content["name"], dict(self._given)
        if content.get("own"):
            given.pop(name, None)
        elif content.get("random"):
            self._draws += 1
            given[name] = drawn_again(tensor.numpy(), self._draws)
        else:
            numbers = written(content.get("numbers"), tensor.numpy())
            if numbers is None:
                self.status.value = figures.notice(self._t("error.numbers", name=name), bad=True)
                return
            given[name] = numbers
        self._show(self._ran, given)

    def _show(self, program: tuple[str, str], given: dict[str, Any]) -> None:
        import sampan

        name, text = program
        sampan.seed(SEED)
        try:
            made = Walk(
                lambda: MODELS[name](given) if name in MODELS else self._evaluated(text, given), self.lang
            )
        except ExpressionError as error:
            self._explain(error)
        except Exception as error:  # show it on the page: the visitor does not see the kernel's log
            detail = f"{type(error).__name__}: {error}"
            self.status.value = figures.notice(
                self._t("error.unexpected"), bad=True, detail=detail, lang=self.lang
            )
        else:
            keep = program == self._ran
            self._ran, self._given, self.made = program, given, made
            self.status.value = figures.notice(self._summary(made))
            self.walk.data = {
                "boxes": made.boxes,
                "lines": made.lines,
                "steps": made.steps,
                "sources": made.sources,
                "changed": sorted(given),
                "keep": keep,
                "most": LARGEST_EDIT,
            }

    def load_library(self) -> None:
        """Imports the library, then shows the first walk. Runs in a thread after the page is shown."""
        import sampan  # noqa: F401  loads it while the page waits

        self.run.disabled = False
        self.ready.set()
        self.start()

    def show(self) -> None:
        """Displays the page, then loads the library."""
        put_up(self.root, self.open)

    def open(self) -> None:
        """`load_library`, with its error on the page, because the visitor does not see the kernel's log."""
        try:
            self.load_library()
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            self.status.value = figures.notice(
                self._t("error.library"), bad=True, detail=detail, lang=self.lang
            )
            raise

    def _evaluated(self, text: str, given: Given) -> Made:
        import sampan

        result, parameters = evaluate(text, given)
        if not isinstance(result, sampan.Tensor):
            raise ExpressionError("not_a_result", came=type(result).__name__)
        if result.node is None:
            raise ExpressionError("nothing_recorded")
        return result, parameters

    def _explain(self, error: ExpressionError) -> None:
        text = self._t(f"error.{error.key}", **error.values)
        if error.line:
            text = self._t("error.line", line=error.line) + text
        self.status.value = figures.notice(text, bad=True, detail=error.detail, lang=self.lang)

    def _summary(self, made: Walk) -> str:
        forward, backward = made.totals["forward"], made.totals["backward"]
        return self._t(
            "summary",
            forward=forward["steps"],
            backward=backward["steps"],
            bytes=f"{int(forward['bytes'] + backward['bytes']):,}",
            flops=f"{int(forward['flops'] + backward['flops']):,}",
            time=figures.duration_short(forward["seconds"] + backward["seconds"]),
        )

    def _chosen(self, change: dict[str, Any]) -> None:
        name = change["new"]
        model = name in MODELS
        self.text.disabled = model
        self.text.value = self._t(f"about.{name}") if model else EXAMPLES[name]
        self.start()

    def _t(self, key: str, **values: object) -> str:
        return t(f"tape.{key}", self.lang, **values)


def written(numbers: Any, before: NDArray[Any]) -> NDArray[Any] | None:
    """A parameter's numbers with those that a visitor wrote, None where one stays; None for too many, too few, or one
    that is not finite."""
    if not isinstance(numbers, list) or len(numbers) != before.size or before.size > LARGEST_EDIT:
        return None
    if not all(number is None or isinstance(number, (int, float)) for number in numbers):
        return None
    mixed = [old if new is None else new for new, old in zip(numbers, before.ravel().tolist(), strict=True)]
    with np.errstate(over="ignore"):  # it becomes infinite, which is refused
        made = np.array(mixed, np.float64).astype(before.dtype).reshape(before.shape)
    return made if np.isfinite(made).all() else None


WORDS = (
    *("picture", "steps", "first", "previous", "play", "pause", "next", "last", "forward", "backward"),
    *("position", "details", "source", "nothing", "keys", "rest", "legend_parameter", "legend_now", "legend_value", "legend_gradient"),
    *("numbers", "this_step", "value", "gradient", "later", "unknown", "scale", "sample", "number_keys", "change", "set", "keep"),
    *("random", "own", "changed"),
)  # fmt: skip


def visitor_page() -> TapePage:
    """The page in the visitor's language, as created by the notebook."""
    return TapePage(visitor.language())
