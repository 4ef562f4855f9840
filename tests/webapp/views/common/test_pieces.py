"""Pieces of forms: what a page receives, and when."""

from typing import Any

import ipywidgets as widgets

from studio.views.common.pieces import offer


class Recorded(widgets.Dropdown):
    """Keeps what would be sent to the page."""

    def send_state(self, key: Any = None) -> None:
        state = self.get_state(key=key)
        sent.append({name: state[name] for name in ("_options_labels", "index") if name in state})


sent: list[Any] = []


def test_choices_and_the_chosen_one_reach_the_page_together_and_last() -> None:
    field = Recorded(options=[("loading", "")], value="")
    field.observe(lambda change: sent.append(change["new"]), "value")
    sent.clear()
    offer(field, [("A", "a"), ("B", "b"), ("C", "c")], "b")
    assert sent == ["a", "b", {"_options_labels": ("A", "B", "C"), "index": 1}]


def test_the_first_is_offered_too() -> None:
    field = Recorded(options=[("loading", "")], value="")
    field.observe(lambda change: sent.append(change["new"]), "value")
    sent.clear()
    offer(field, [("A", "a"), ("B", "b")], "a")
    assert sent == ["a", {"_options_labels": ("A", "B"), "index": 0}]
