"""The pictures that move in the notebooks. Oracles: NumPy's stable sort, an OrderedDict, torch's Adam and autograd."""

from __future__ import annotations

import json
from collections import OrderedDict
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from sampan import learn
from studio import i18n
from studio.lessons import pictures, steps
from studio.lessons.pictures import Picture

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SHOWN = {
    "01_tensors_and_the_tape": "broadcast_back",
    "02_training": "adam_averages",
    "05_sparse": "counting_sort",
    "06b_embeddings_training": "lru_queue",
}


def row(picture: Picture, step: int, name: str) -> list[str]:
    (found,) = (row for row in picture.steps[step].rows if row.name == name)
    return list(found.cells)


def test_the_counting_sort_is_the_stable_sort() -> None:
    made = steps.counting_sort()
    keys = np.array(steps.KEYS)
    assert row(made, -1, "order") == [str(e) for e in np.argsort(keys, kind="stable")]
    assert row(made, -1, "starts") == [str(n) for n in np.concatenate([[0], np.cumsum(np.bincount(keys))])]
    assert len(made.steps) == 2 + 2 * keys.size


def test_the_queue_is_that_of_an_ordered_dict() -> None:
    made, cache = steps.lru_queue(), OrderedDict[int, None]()
    for at, number in enumerate(steps.ROWS_READ, 1):
        if number in cache:
            cache.move_to_end(number)
        elif len(cache) == steps.PLACES:
            cache.popitem(last=False)
        cache[number] = None
        shown = [cell for cell in row(made, at, "queue") if cell != "·"]
        assert shown == [str(one) for one in reversed(cache)]


def test_the_averages_are_adam_s() -> None:
    made = steps.adam_averages()
    parameter = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([parameter], lr=1.0, betas=(steps.BETA1, steps.BETA2), eps=0.0)
    for at, turning in enumerate(steps.GRADIENTS):
        before = parameter.detach().clone()
        parameter.grad = torch.tensor([1.0, turning], dtype=torch.float64)
        adam.step()
        state = adam.state[parameter]
        assert row(made, at, "m") == [f"{m:.2f}" for m in state["exp_avg"].tolist()]
        assert row(made, at, "v") == [f"{v:.4f}" for v in state["exp_avg_sq"].tolist()]
        assert row(made, at, "m̂ / √v̂") == [f"{step:.2f}" for step in (before - parameter.detach()).tolist()]


def test_the_gradient_of_a_broadcast_is_autograd_s() -> None:
    bias = torch.zeros(3, requires_grad=True)
    (torch.zeros(2, 3) + bias).backward(torch.tensor(steps.ARRIVES, dtype=torch.float32))
    assert bias.grad is not None
    assert row(steps.broadcast_back(), -1, "gradient [3]") == [f"{n:.0f}" for n in bias.grad.tolist()]


class Tags(HTMLParser):
    """The tags of a text, and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "input":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("name", steps.PICTURES)
def test_a_picture_has_a_button_for_each_step_and_no_script(name: str, lang: str) -> None:
    learn.language(lang)
    try:
        made = pictures.show(name)
        text = made._repr_html_()
    finally:
        learn.language("en")
    tags = Tags(text)
    assert not tags.open and "script" not in {tag for tag, _ in tags.found}
    radios = [about["value"] for tag, about in tags.found if tag == "input" and about["type"] == "radio"]
    assert radios == [*(str(k) for k in range(1, len(made.steps) + 1)), "play"]
    assert not any(attribute.startswith("on") for _, about in tags.found for attribute in about)
    assert "prefers-reduced-motion" in text and {"en": "Play", "zh": "播放"}[lang] in text
    assert made.steps[0].said[i18n.LANGUAGES.index(lang)] in text


@pytest.mark.parametrize(("notebook", "name"), SHOWN.items())
def test_a_notebook_shows_its_picture_before_the_exercise(notebook: str, name: str) -> None:
    cells = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text("utf-8"))["cells"]
    (at,) = (k for k, cell in enumerate(cells) if f'pictures.show("{name}")' in "".join(cell["source"]))
    assert cells[at + 1]["metadata"]["nbgrader"]["solution"]
    assert "".join(cells[at]["outputs"][0]["data"]["text/html"]) == pictures.show(name)._repr_html_()


def test_an_unknown_picture_names_the_others() -> None:
    with pytest.raises(ValueError, match="there is no picture 'queue'; there are adam_averages"):
        pictures.show("queue")
